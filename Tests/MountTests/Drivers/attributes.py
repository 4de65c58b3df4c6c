"""Attributes: times, modes, owners, extended attributes. Cases of files.py."""

import ctypes
import errno
import os
import signal
import stat
import struct
import sys
import time
from collections.abc import Callable

from system_calls import LIBC, get, in_child, put, raises, status_of


def times_with_nanoseconds() -> None:
    put("f", b"x")
    os.utime("f", ns=(1_234_567_890_123_456_789, 1_500_000_000_987_654_321))
    result = os.stat("f")
    assert result.st_mtime_ns == 1_500_000_000_987_654_321
    assert result.st_atime_ns == 1_234_567_890_123_456_789
    before = result.st_ctime_ns
    time.sleep(0.02)
    os.chmod("f", 0o600)
    assert os.stat("f").st_ctime_ns > before
    with open("f", "ab") as file:
        file.write(b"y")
    assert os.stat("f").st_mtime_ns > 1_500_000_000_987_654_321
    os.symlink("f", "l")
    os.utime("l", ns=(1, 2), follow_symlinks=False)
    assert os.lstat("l").st_mtime_ns == 2
    os.mkdir("d")
    old = os.stat("d").st_mtime_ns
    time.sleep(0.02)
    put("d/x")
    assert os.stat("d").st_mtime_ns > old
    os.utime("d", ns=(5, -5))  # before 1970
    assert os.stat("d").st_mtime_ns == -5


def times_of_changes() -> None:
    for number in range(100):
        name = f"f{number % 7}"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT)
        first = os.fstat(descriptor)
        second = os.stat(name)
        assert (first.st_mtime_ns, first.st_ctime_ns) == (second.st_mtime_ns, second.st_ctime_ns), (first, second)
        if number < 7:
            assert first.st_mtime_ns == first.st_ctime_ns, first
        os.write(descriptor, b"x" * (number + 1))
        written = os.fstat(descriptor)
        assert written.st_mtime_ns >= first.st_mtime_ns, (first, written)
        assert written.st_mtime_ns == written.st_ctime_ns, written
        os.close(descriptor)
        closed = os.stat(name)
        assert (closed.st_mtime_ns, closed.st_ctime_ns) == (written.st_mtime_ns, written.st_ctime_ns), (written, closed)
        os.truncate(name, number)
        cut = os.stat(name)
        assert cut.st_mtime_ns == cut.st_ctime_ns >= closed.st_mtime_ns, (closed, cut)
        os.utime(name)
        touched = os.stat(name)
        assert touched.st_mtime_ns == touched.st_ctime_ns >= cut.st_ctime_ns, (cut, touched)


def times_go_forward() -> None:
    """An item of any kind is not older than one created before, although file times are finer than the clock tick."""
    make: dict[str, Callable[[str], object]] = {
        "fifo": os.mkfifo,
        "link": lambda name: os.symlink("file", name),
        "directory": os.mkdir,
        "hard": lambda name: os.link("fifo0", name),
    }
    put("file")
    newest = 0
    for number in range(300):
        for kind, create in make.items():
            with open("file", "wb") as file:
                file.write(b"x")
                file.flush()
                os.fstat(file.fileno())
                file.write(b"y")
            written = os.stat("file")
            newest = max(newest, written.st_mtime_ns, written.st_ctime_ns)
            create(f"{kind}{number}")
            created = os.lstat(f"{kind}{number}").st_ctime_ns
            assert created >= newest, f"{kind}{number} is {newest - created} ns older than a file before it"
            newest = created


def modes() -> None:
    put("f", b"x", 0o640)
    assert stat.S_IMODE(os.stat("f").st_mode) == 0o640
    os.chmod("f", 0o4755)
    assert stat.S_IMODE(os.stat("f").st_mode) == 0o4755
    os.chmod("f", 0o000)
    assert stat.S_IMODE(os.stat("f").st_mode) == 0
    old = os.umask(0o027)
    os.mkdir("d")
    os.close(os.open("g", os.O_CREAT | os.O_WRONLY, 0o666))
    os.umask(old)
    assert stat.S_IMODE(os.stat("d").st_mode) == 0o750
    assert stat.S_IMODE(os.stat("g").st_mode) == 0o640
    os.chmod("d", 0o1777)
    assert stat.S_IMODE(os.stat("d").st_mode) == 0o1777


def set_id_bits() -> None:
    os.mkdir("d")
    os.chmod("d", 0o777)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            put("d/f")
            # Requests only the mode, which the kernel may have cached. Related: statx(2), STATX_MODE.
            answer = ctypes.create_string_buffer(256)
            for _ in range(200):
                os.chmod("d/f", 0o4755)
                file = os.open("d/f", os.O_WRONLY)
                os.write(file, b"more")
                assert LIBC.statx(-100, b"d/f", 0, 2, answer) == 0
                mode = stat.S_IMODE(struct.unpack_from("H", answer, 28)[0])
                assert mode == 0o755, oct(mode)
                os.close(file)
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def changing_owners_clears_set_id() -> None:
    if os.geteuid() != 0:
        return
    for mode, left in ((0o6755, 0o755), (0o6745, 0o2745), (0o4644, 0o644)):
        for owner, group in ((1234, -1), (-1, 5678), (1234, 5678), (0, 0)):
            put("f")
            os.chmod("f", mode)
            os.chown("f", owner, group)
            assert stat.S_IMODE(os.stat("f").st_mode) == left, (oct(mode), owner, group, oct(os.stat("f").st_mode))
            os.chown("f", 0, 0)
    os.mkdir("d")
    os.chmod("d", 0o6755)
    os.chown("d", 1234, 5678)
    assert stat.S_IMODE(os.stat("d").st_mode) == 0o6755, "a directory lost its set-ID bits"


def set_group_directories() -> None:
    if os.geteuid() != 0:
        return
    os.mkdir("d")
    os.chown("d", -1, 5678)
    os.chmod("d", 0o2775)
    put("d/file")
    os.mknod("d/node", 0o644 | stat.S_IFREG)
    os.mkfifo("d/fifo")
    os.symlink("file", "d/link")
    os.mkdir("d/inner", 0o755)
    put("d/inner/file")
    for name in "file", "node", "fifo", "link", "inner", "inner/file":
        status = os.lstat("d/" + name)
        assert status.st_gid == 5678, (name, status.st_gid)
        assert bool(status.st_mode & stat.S_ISGID) == stat.S_ISDIR(status.st_mode), (name, oct(status.st_mode))
    put("outside")
    os.rename("outside", "d/outside")
    assert os.stat("d/outside").st_gid == os.getegid(), "a file that was moved in changed its group"


def sizes_while_others_close() -> None:
    """A close by a reader records the size; stat(2) must not return the old one meanwhile."""
    for number in range(200):
        name = f"f{number}"
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT)
        os.pwrite(descriptor, b"x" * 1000, 0)
        os.close(os.open(name, os.O_RDONLY))
        assert os.stat(name).st_size == 1000, f"{os.stat(name).st_size} after a reader's close"
        os.fsync(descriptor)
        assert os.stat(name).st_size == 1000, f"{os.stat(name).st_size} after fsync"
        os.close(descriptor)
        assert os.stat(name).st_size == 1000, f"{os.stat(name).st_size} after close"


def truncating_while_others_close() -> None:
    put("f", b"x")

    def close_and_close() -> None:
        while True:
            os.close(os.open("f", os.O_RDONLY))

    children = [in_child(close_and_close) for _ in range(6)]
    try:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            os.close(os.open("f", os.O_WRONLY | os.O_TRUNC | os.O_CREAT))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
    assert [status_of(child) for child in children] == [-signal.SIGKILL] * 6


def truncating_by_a_reader() -> None:
    put("f", b"x" * 5000)
    descriptor = os.open("f", os.O_RDONLY | os.O_TRUNC)
    assert os.stat("f").st_size == 0
    assert os.read(descriptor, 10) == b""
    os.close(descriptor)
    assert get("f") == b""


def owners() -> None:
    put("f")
    if os.geteuid() != 0:
        raises("EPERM", os.chown, "f", 1234, -1)
        raises("EPERM", os.chown, "f", -1, 5678)
        os.chown("f", os.geteuid(), os.getegid())
        return
    os.chown("f", 1234, 5678)
    result = os.stat("f")
    assert (result.st_uid, result.st_gid) == (1234, 5678)
    os.symlink("f", "l")
    os.lchown("l", 4321, -1)
    assert os.lstat("l").st_uid == 4321 and os.stat("f").st_uid == 1234


def times_at_the_ends() -> None:
    """The format keeps times from 1677 to 2262; others are refused, and change nothing."""
    put("f")
    first, last = -(1 << 63), (1 << 63) - 1
    for when in (first, -1, 0, last):
        os.utime("f", ns=(when, when))
        assert os.stat("f").st_mtime_ns == when, when
    for when in (first - 1, last + 1, (1 << 34) * 10**9):
        raises("EOVERFLOW", lambda when=when: os.utime("f", ns=(0, when)))
        raises("EOVERFLOW", lambda when=when: os.utime("f", ns=(when, 0)))
    assert os.stat("f").st_mtime_ns == last


def user_attributes() -> None:
    put("f")
    for call in (
        lambda: os.setxattr("f", "user.", b"x"),
        lambda: os.getxattr("f", "user."),
        lambda: os.removexattr("f", "user."),
    ):
        raises("EINVAL", call)
    os.mkdir("d")
    for path in ("f", "d"):
        os.setxattr(path, "user.colour", b"green\0\xff")
        assert os.getxattr(path, "user.colour") == b"green\0\xff"
        assert os.listxattr(path) == ["user.colour"]
        raises("EEXIST", os.setxattr, path, "user.colour", b"x", os.XATTR_CREATE)
        raises("ENODATA", os.setxattr, path, "user.none", b"x", os.XATTR_REPLACE)
        raises("ENODATA", os.getxattr, path, "user.none")
        os.setxattr(path, "user.empty", b"")
        assert os.getxattr(path, "user.empty") == b""
        os.removexattr(path, "user.colour")
        raises("ENODATA", os.removexattr, path, "user.colour")
        assert os.listxattr(path) == ["user.empty"]
    os.symlink("f", "l")
    try:
        os.setxattr("l", "user.colour", b"x", follow_symlinks=False)
    except OSError as error:
        assert error.errno == errno.EPERM, error


def statistics_of_the_disk() -> None:
    result = os.statvfs(".")
    assert 0 < result.f_bavail <= result.f_blocks and result.f_namemax == 255 and result.f_bsize > 0


def blocks_are_never_none() -> None:
    put("f", b"x")
    assert os.stat("f").st_blocks > 0
    put("empty")
    assert os.stat("empty").st_size == 0
