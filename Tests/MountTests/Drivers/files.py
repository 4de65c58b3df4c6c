"""The behaviour of a local file system, one case each: python3 files.py CASE DIRECTORY

Every case starts in an empty directory and passes on ext4 as on the mount, so `python3 files.py all /tmp/x` on a local
disk shows whether a case itself is correct. A failed case ends with a traceback.
"""

import ctypes
import errno
import faulthandler
import fcntl
import mmap
import os
import select
import signal
import socket
import stat
import struct
import sys
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16
MIB = 1 << 20


def raises(expected, call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        got = errno.errorcode[error.errno]
        assert got == expected, f"{call} {arguments}: {got} instead of {expected}"
        return
    raise AssertionError(f"{call} {arguments}: success instead of {expected}")


def libc(name, *arguments):
    result = getattr(LIBC, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def put(path, data=b"", mode=0o644):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def get(path):
    with open(path, "rb") as file:
        return file.read()


def renameat2(old, new, how):
    libc("renameat2", -100, os.fsencode(old), -100, os.fsencode(new), how)


def fallocate(descriptor, mode, offset, length):
    libc("fallocate", descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length))


def in_child(body):
    """Runs `body` in another process; its result is the exit status."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = body() or 0
        except BaseException as error:  # a child must never return into the parent's code
            print(f"child: {error!r}", file=sys.stderr)
        finally:
            os._exit(status)
    return pid


def status_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# Open files ----------------------------------------------------------------------------------------------------------


def unlinked_open_file_lives_on():
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"before")
    os.unlink("f")
    raises("ENOENT", os.stat, "f")
    os.write(descriptor, b" after")
    assert os.pread(descriptor, 100, 0) == b"before after"
    assert os.fstat(descriptor).st_nlink == 0
    os.ftruncate(descriptor, 3)
    assert os.fstat(descriptor).st_size == 3
    put("f", b"new")
    assert os.pread(descriptor, 100, 0) == b"bef"
    os.close(descriptor)
    assert get("f") == b"new"


def open_handle_survives_rename():
    put("a", b"one")
    descriptor = os.open("a", os.O_RDWR)
    os.rename("a", "b")
    os.pwrite(descriptor, b"two", 0)
    assert get("b") == b"two"
    put("c", b"replacing")
    os.rename("c", "b")
    assert os.pread(descriptor, 100, 0) == b"two"
    assert get("b") == b"replacing"
    os.close(descriptor)


def open_directory_survives_rename():
    os.mkdir("d")
    put("d/f", b"x")
    directory = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
    os.rename("d", "e")
    descriptor = os.open("f", os.O_RDONLY, dir_fd=directory)
    assert os.read(descriptor, 10) == b"x"
    os.close(descriptor)
    assert os.listdir(directory) == ["f"]
    os.close(directory)


def nameless_temporary_file():
    """O_TMPFILE works completely, or is refused with an errno for which programs have a fallback."""
    try:
        descriptor = os.open(".", os.O_RDWR | os.O_TMPFILE, 0o600)
    except OSError as error:
        assert error.errno in (errno.EOPNOTSUPP, errno.EISDIR), error
        print("O_TMPFILE is refused with", errno.errorcode[error.errno])
        return
    os.write(descriptor, b"x")
    libc("linkat", -100, f"/proc/self/fd/{descriptor}".encode(), -100, b"named", 0x400)  # AT_SYMLINK_FOLLOW
    os.close(descriptor)
    assert get("named") == b"x"


def many_open_files():
    count = 500
    descriptors = [os.open(f"f{n}", os.O_RDWR | os.O_CREAT) for n in range(count)]
    for n, descriptor in enumerate(descriptors):
        os.write(descriptor, str(n).encode())
    for n, descriptor in enumerate(descriptors):
        assert os.pread(descriptor, 10, 0) == str(n).encode()
        os.close(descriptor)


def open_flags():
    put("f", b"12345")
    raises("EEXIST", os.open, "f", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    raises("ENOTDIR", os.open, "f", os.O_DIRECTORY)
    raises("ENOTDIR", os.open, "f/x", os.O_RDONLY)
    raises("EISDIR", os.open, ".", os.O_WRONLY)
    raises("ENOENT", os.open, "none", os.O_RDONLY)
    os.symlink("f", "l")
    raises("ELOOP", os.open, "l", os.O_NOFOLLOW)
    descriptor = os.open("f", os.O_RDONLY)
    raises("EBADF", os.write, descriptor, b"x")
    os.close(descriptor)
    descriptor = os.open("f", os.O_WRONLY | os.O_APPEND)
    raises("EBADF", os.read, descriptor, 1)
    os.write(descriptor, b"6")
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, b"7")
    os.close(descriptor)
    assert get("f") == b"1234567"
    os.close(os.open("f", os.O_WRONLY | os.O_TRUNC))
    assert os.stat("f").st_size == 0


# Names ---------------------------------------------------------------------------------------------------------------


def hard_links():
    put("a", b"one")
    os.link("a", "b")
    first, second = os.stat("a"), os.stat("b")
    assert first.st_ino == second.st_ino and first.st_nlink == 2
    with open("b", "ab") as file:
        file.write(b" two")
    assert get("a") == b"one two"
    os.unlink("a")
    assert os.stat("b").st_nlink == 1 and get("b") == b"one two"
    os.mkdir("d")
    raises("EPERM", os.link, "d", "e")
    put("c")
    raises("EEXIST", os.link, "b", "c")
    os.link("b", "d/b")
    os.rename("b", "d/b")  # two names of one file: the rename does nothing
    assert os.path.exists("b") and os.path.exists("d/b")


def symbolic_links():
    os.symlink("nowhere", "dangling")
    assert os.readlink("dangling") == "nowhere"
    raises("ENOENT", os.stat, "dangling")
    assert os.lstat("dangling").st_size == len("nowhere")
    os.symlink("loop", "loop")
    raises("ELOOP", os.stat, "loop")
    target = "/" + "t" * 4000
    os.symlink(target, "long")
    assert os.readlink("long") == target
    os.symlink("../../../../etc/passwd", "outside")
    assert os.readlink("outside") == "../../../../etc/passwd"
    raises("EEXIST", os.symlink, "x", "long")
    raises("EINVAL", os.readlink, ".")


def rename_within_the_rules():
    os.makedirs("full/inner")
    os.mkdir("empty")
    os.mkdir("other")
    put("file", b"f")
    put("second", b"s")
    raises("ENOTEMPTY", os.rename, "empty", "full")
    raises("ENOTDIR", os.rename, "empty", "file")
    raises("EISDIR", os.rename, "file", "empty")
    raises("EINVAL", os.rename, "full", "full/inner/full")
    raises("ENOENT", os.rename, "none", "x")
    os.rename("other", "empty")
    os.rename("file", "file")
    os.rename("second", "file")
    assert get("file") == b"s" and sorted(os.listdir()) == ["empty", "file", "full"]


def rename_without_replacing():
    put("a", b"a")
    put("b", b"b")
    raises("EEXIST", renameat2, "a", "b", RENAME_NOREPLACE)
    assert get("a") == b"a" and get("b") == b"b"
    renameat2("a", "c", RENAME_NOREPLACE)
    assert get("c") == b"a"


def rename_exchanges():
    put("a", b"a")
    os.mkdir("d")
    put("d/x", b"x")
    renameat2("a", "d", RENAME_EXCHANGE)
    assert get("d") == b"a" and get("a/x") == b"x"
    raises("ENOENT", renameat2, "a", "none", RENAME_EXCHANGE)


def removing_names():
    os.makedirs("d/e")
    put("f")
    raises("ENOTEMPTY", os.rmdir, "d")
    raises("EISDIR", os.unlink, "d")
    raises("ENOTDIR", os.rmdir, "f")
    raises("ENOENT", os.unlink, "none")
    raises("EINVAL", os.rmdir, "d/.")
    os.removedirs("d/e")
    os.unlink("f")
    assert os.listdir() == []


def inode_numbers_stay():
    put("a", b"x")
    number = os.stat("a").st_ino
    os.rename("a", "b")
    assert os.stat("b").st_ino == number
    listed = {entry.name: entry.inode() for entry in os.scandir(".")}
    assert listed == {"b": number}, listed


def deep_directories():
    depth = 60
    for _ in range(depth):
        os.mkdir("level")
        os.chdir("level")
    put("f", b"deep")
    for _ in range(depth):
        os.chdir("..")
    assert get("level/" * depth + "f") == b"deep"


def listing_while_removing():
    count = 2000
    for n in range(count):
        put(f"file-{n:05}")
    seen = set()
    with os.scandir(".") as entries:
        for entry in entries:
            assert entry.name not in seen
            seen.add(entry.name)
            os.unlink(entry.name)
    assert len(seen) == count and os.listdir() == []


def names_that_differ_only_in_bytes():
    """Composed and decomposed letters, and upper and lower case, are different names, as on ext4."""
    names = [b"caf\xc3\xa9", b"cafe\xcc\x81", b"Cafe", b"cafe"]
    for name in names:
        put(name, name)
    assert sorted(os.listdir(b".")) == sorted(names)
    for name in names:
        assert get(name) == name


# Attributes ----------------------------------------------------------------------------------------------------------


def times_with_nanoseconds():
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


def times_of_changes():
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


def times_go_forward():
    """An item of any kind is not older than one created before, although file times are finer than the clock tick."""
    make = {
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


def modes():
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


def set_id_bits():
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


def changing_owners_clears_set_id():
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


def set_group_directories():
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


def sizes_while_others_close():
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


def truncating_while_others_close():
    put("f", b"x")

    def close_and_close():
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


def truncating_by_a_reader():
    put("f", b"x" * 5000)
    descriptor = os.open("f", os.O_RDONLY | os.O_TRUNC)
    assert os.stat("f").st_size == 0
    assert os.read(descriptor, 10) == b""
    os.close(descriptor)
    assert get("f") == b""


def owners():
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


def times_at_the_ends():
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


def user_attributes():
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


def statistics_of_the_disk():
    result = os.statvfs(".")
    assert 0 < result.f_bavail <= result.f_blocks and result.f_namemax == 255 and result.f_bsize > 0


def blocks_are_never_none():
    put("f", b"x")
    assert os.stat("f").st_blocks > 0
    put("empty")
    assert os.stat("empty").st_size == 0


# Bytes ---------------------------------------------------------------------------------------------------------------


def empty_and_tiny_files():
    put("0")
    put("1", b"x")
    assert get("0") == b"" and get("1") == b"x"
    descriptor = os.open("0", os.O_RDWR)
    assert os.pread(descriptor, 10, 1000) == b""
    os.close(descriptor)


def truncating():
    put("f", b"x" * 10_000)
    os.truncate("f", 5)
    os.truncate("f", 10_000)
    assert get("f") == b"x" * 5 + b"\0" * 9_995
    os.truncate("f", 0)
    assert get("f") == b""
    raises("EINVAL", os.truncate, "f", -1)
    os.mkdir("d")
    raises("EISDIR", os.truncate, "d", 1)


def writing_beyond_the_end():
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, b"end", 3 * MIB)
    assert os.fstat(descriptor).st_size == 3 * MIB + 3
    assert os.pread(descriptor, 4, 3 * MIB - 4) == b"\0" * 4
    os.close(descriptor)


def sparse_file_of_5_gib():
    size = 5 << 30
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.ftruncate(descriptor, size)
    os.pwrite(descriptor, b"middle", 3 << 30)
    os.pwrite(descriptor, b"end", size - 3)
    result = os.fstat(descriptor)
    assert result.st_size == size and result.st_blocks * 512 < 64 * MIB, result
    data = os.lseek(descriptor, 0, os.SEEK_DATA)
    assert 0 < data <= 3 << 30, data
    hole = os.lseek(descriptor, data, os.SEEK_HOLE)
    assert 3 << 30 < hole < size, hole
    assert os.lseek(descriptor, 0, os.SEEK_HOLE) == 0
    raises("ENXIO", os.lseek, descriptor, size, os.SEEK_DATA)
    assert os.pread(descriptor, 6, 3 << 30) == b"middle"
    os.close(descriptor)


def allocating_and_punching():
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    fallocate(descriptor, 0, 0, MIB)
    assert os.fstat(descriptor).st_size == MIB
    fallocate(descriptor, FALLOC_KEEP_SIZE, MIB, MIB)
    assert os.fstat(descriptor).st_size == MIB
    os.pwrite(descriptor, b"x" * MIB, 0)
    fallocate(descriptor, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, 4096, 8192)
    assert os.pread(descriptor, 8192, 4096) == b"\0" * 8192
    assert os.pread(descriptor, 1, 4095) == b"x" and os.pread(descriptor, 1, 12288) == b"x"
    fallocate(descriptor, FALLOC_ZERO_RANGE, 65536, 4096)
    assert os.pread(descriptor, 4096, 65536) == b"\0" * 4096
    raises("EINVAL", fallocate, descriptor, 0, 0, 0)
    os.close(descriptor)


def copying_a_range():
    data = os.urandom(3 * MIB + 17)
    put("a", data)
    source, target = os.open("a", os.O_RDONLY), os.open("b", os.O_RDWR | os.O_CREAT)
    done = 0
    while done < len(data):
        count = os.copy_file_range(source, target, len(data) - done)
        assert count > 0
        done += count
    assert os.copy_file_range(source, target, 10) == 0
    os.close(source)
    os.close(target)
    assert get("b") == data


def sending_a_file():
    data = os.urandom(MIB)
    put("a", data)
    source, target = os.open("a", os.O_RDONLY), os.open("b", os.O_RDWR | os.O_CREAT)
    done = 0
    while done < len(data):
        done += os.sendfile(target, source, done, len(data) - done)
    os.close(source)
    os.close(target)
    assert get("b") == data


def mapped_memory():
    put("f", b"a" * 16384)
    descriptor = os.open("f", os.O_RDWR)
    view = mmap.mmap(descriptor, 16384)
    view[5000:5005] = b"12345"
    view.flush()
    assert os.pread(descriptor, 5, 5000) == b"12345"
    os.pwrite(descriptor, b"678", 9000)
    assert view[9000:9003] == b"678"
    view.close()
    os.close(descriptor)
    assert get("f")[5000:5005] == b"12345" and get("f")[9000:9003] == b"678"


def writing_beside_a_map():
    """One process writes to pages of a file while another stores into a mapping of them; neither loses any bytes."""
    page, count, rounds = 4096, 64, 400
    for number in range(rounds):
        put("f", b"")
        os.truncate("f", page * count)
        start, go = os.pipe()
        child = os.fork()
        if child == 0:
            descriptor = os.open("f", os.O_RDWR)
            view = mmap.mmap(descriptor, page * count)
            os.read(start, 1)
            for at in range(0, page * count, page):
                view[at + 3000 : at + 3006] = b"stored"
            view.flush()
            os._exit(0)
        descriptor = os.open("f", os.O_RDWR)
        os.write(go, b"1")
        for at in range(0, page * count, page):
            os.pwrite(descriptor, b"written", at + 1000)
        os.fsync(descriptor)
        assert os.waitpid(child, 0)[1] == 0
        for end in (descriptor, start, go):
            os.close(end)
        data = get("f")
        for at in range(0, page * count, page):
            found = (data[at + 1000 : at + 1007], data[at + 3000 : at + 3006])
            assert found == (b"written", b"stored"), f"page {at // page} of round {number}: {found}"


def mapping_changes_the_time():
    put("f", b"a" * 4096)
    os.utime("f", (1, 1))
    descriptor = os.open("f", os.O_RDWR)
    view = mmap.mmap(descriptor, 4096)
    view[0:1] = b"b"
    view.flush()
    view.close()
    os.close(descriptor)
    assert os.stat("f").st_mtime > 1_000_000_000, os.stat("f").st_mtime


def a_store_changes_the_time_by_the_close():
    """The time changes even if the kernel returned the times a moment before."""
    put("f", b"a" * 4096)
    for _number in range(20):
        os.utime("f", (1, 1))
        descriptor = os.open("f", os.O_RDWR)
        view = mmap.mmap(descriptor, 4096)
        before = (os.stat("f"), os.fstat(descriptor))
        assert before[0].st_mtime == before[1].st_mtime == 1
        view[0:1] = b"b"
        view.close()
        os.close(descriptor)
        after = os.stat("f")
        assert after.st_mtime > 1_000_000_000, after.st_mtime
        assert after.st_ctime_ns >= before[0].st_ctime_ns
        # The last store is written to the disk, so that the next one is detected.
        descriptor = os.open("f", os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


def asynchronous_direct_writes_are_seen():
    """A read through the page cache after an asynchronous direct write returns its bytes, even if others read too."""
    size, seconds = 8 * 65536, 3
    io_setup, io_getevents, io_submit = {"x86_64": (206, 208, 209)}.get(os.uname().machine, (0, 4, 2))
    call = LIBC.syscall
    put("f", b"\0" * size)
    child = os.fork()
    if child == 0:
        reader = os.open("f", os.O_RDONLY)
        while os.getppid() != 1:
            os.pread(reader, size, 0)
    try:
        direct, reader = os.open("f", os.O_RDWR | os.O_DIRECT), os.open("f", os.O_RDONLY)
        context = ctypes.c_ulong(0)
        assert call(io_setup, 8, ctypes.byref(context)) == 0, os.strerror(ctypes.get_errno())
        bytes_of_write = mmap.mmap(-1, size)
        address = ctypes.addressof(ctypes.c_char.from_buffer(bytes_of_write))
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            number = number % 255 + 1
            bytes_of_write[:] = bytes([number]) * size
            blocks = [
                ctypes.create_string_buffer(
                    struct.pack("<QIiHhIQQqQII", at, 0, 0, 1, 0, direct, address + at, 65536, at, 0, 0, 0)
                )
                for at in range(0, size, 65536)
            ]
            pointers = (ctypes.c_void_p * len(blocks))(*map(ctypes.addressof, blocks))
            done = 0
            while done < len(blocks):
                submitted = call(io_submit, context, len(blocks) - done, ctypes.byref(pointers, done * 8))
                assert submitted > 0, os.strerror(ctypes.get_errno())
                done += submitted
            events = ctypes.create_string_buffer(32 * len(blocks))
            assert call(io_getevents, context, len(blocks), len(blocks), events, None) == len(blocks)
            for at in range(0, 32 * len(blocks), 32):
                assert struct.unpack_from("<q", events, at + 16)[0] == 65536
            found = os.pread(reader, size, 0)
            assert found == bytes(bytes_of_write), (
                f"{len(set(found))} kinds of bytes after write {number}: {set(found)}"
            )
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def vectors():
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    assert os.pwritev(descriptor, [b"one", b"two", b"three"], 2) == 11
    parts = [bytearray(5), bytearray(100)]
    assert os.preadv(descriptor, parts, 0) == 13
    assert bytes(parts[0]) == b"\0\0one" and bytes(parts[1][:8]) == b"twothree"
    os.close(descriptor)


def syncing():
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"x")
    os.fsync(descriptor)
    os.fdatasync(descriptor)
    libc("syncfs", descriptor)
    os.close(descriptor)
    directory = os.open(".", os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def growing_is_seen_by_a_reader():
    writer = os.open("f", os.O_WRONLY | os.O_CREAT)
    reader = os.open("f", os.O_RDONLY)
    for n in range(50):
        line = f"line {n}\n".encode()
        os.write(writer, line)
        assert os.read(reader, 100) == line
    os.close(writer)
    os.close(reader)


# Locks ---------------------------------------------------------------------------------------------------------------


def record_locks():
    put("f", b"x" * 100)
    descriptor = os.open("f", os.O_RDWR)
    fcntl.lockf(descriptor, fcntl.LOCK_EX, 10, 0)

    def other():
        theirs = os.open("f", os.O_RDWR)
        raises("EAGAIN", fcntl.lockf, theirs, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
        fcntl.lockf(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 10, 0)
        kind, _, start, length, pid = struct.unpack("hhqqi4x", fcntl.fcntl(theirs, fcntl.F_GETLK, asked))
        assert (kind, start, length, pid) == (fcntl.F_WRLCK, 0, 10, os.getppid()), (kind, start, length, pid)

    assert status_of(in_child(other)) == 0
    os.close(os.open("f", os.O_RDONLY))  # closing any descriptor of the file releases a process's record locks

    def free():
        fcntl.lockf(os.open("f", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)

    assert status_of(in_child(free)) == 0


def record_lock_waits_and_is_handed_on():
    put("f")
    descriptor = os.open("f", os.O_RDWR)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    ready, done = os.pipe()

    def waits():
        theirs = os.open("f", os.O_RDWR)
        os.write(done, b"r")
        fcntl.lockf(theirs, fcntl.LOCK_EX)
        os.write(done, b"g")

    child = in_child(waits)
    assert os.read(ready, 1) == b"r"
    assert select.select([ready], [], [], 0.3)[0] == []
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    assert select.select([ready], [], [], 5)[0] == [ready] and os.read(ready, 1) == b"g"
    assert status_of(child) == 0


def waiting_for_a_lock_can_be_interrupted():
    put("f")
    for lock in (lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX), lambda fd: fcntl.flock(fd, fcntl.LOCK_EX)):
        descriptor = os.open("f", os.O_RDWR)
        lock(descriptor)

        def waits(lock=lock):
            class Alarmed(Exception):
                pass

            def alarmed(*_):
                raise Alarmed

            signal.signal(signal.SIGALRM, alarmed)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            try:
                lock(os.open("f", os.O_RDWR))
            except Alarmed:
                assert time.monotonic() - start < 10
                return 0
            return 1

        child = in_child(waits)
        assert status_of(child) == 0

        def never(lock=lock):
            lock(os.open("f", os.O_RDWR))

        child = in_child(never)
        time.sleep(0.2)
        os.kill(child, signal.SIGKILL)
        start = time.monotonic()
        assert status_of(child) == -signal.SIGKILL and time.monotonic() - start < 10
        os.close(descriptor)


def whole_file_locks():
    put("f")
    first, second = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.flock(first, fcntl.LOCK_SH)
    fcntl.flock(second, fcntl.LOCK_SH)
    raises("EAGAIN", fcntl.flock, first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(second)
    fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def shares_the_description():
        fcntl.flock(first, fcntl.LOCK_UN)

    assert status_of(in_child(shares_the_description)) == 0
    fcntl.flock(os.open("f", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)


def locks_of_an_open_file_description():
    put("f")
    first, second = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    fcntl.fcntl(first, 37, whole)  # F_OFD_SETLK
    raises("EAGAIN", fcntl.fcntl, second, 37, whole)
    os.close(os.open("f", os.O_RDONLY))
    raises("EAGAIN", fcntl.fcntl, second, 37, whole)
    os.close(first)
    fcntl.fcntl(second, 37, whole)


# Special files, notifications and threads -----------------------------------------------------------------------------


def fifos():
    os.mkfifo("p", 0o600)
    assert stat.S_ISFIFO(os.stat("p").st_mode)

    def writes():
        with open("p", "wb") as pipe:
            pipe.write(b"through")

    child = in_child(writes)
    assert get("p") == b"through" and status_of(child) == 0
    os.rename("p", "q")
    os.unlink("q")


def sockets():
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        listener.listen()
        assert stat.S_ISSOCK(os.stat("s").st_mode)
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect("s")
            listener.accept()[0].close()
    os.unlink("s")


def notifications():
    """inotify reports the operations of programs on the mount."""
    descriptor = libc("inotify_init1", 0o4000)
    libc("inotify_add_watch", descriptor, b".", 0x100 | 0x40 | 0x80 | 0x200)
    put("a")
    os.rename("a", "b")
    os.unlink("b")
    seen, events = [], os.read(descriptor, 65536)
    while events:
        _, mask, _, length = struct.unpack_from("iIII", events)
        seen.append((mask, events[16 : 16 + length].rstrip(b"\0")))
        events = events[16 + length :]
    os.close(descriptor)
    assert seen == [(0x100, b"a"), (0x40, b"a"), (0x80, b"b"), (0x200, b"b")], seen


def threads_of_one_process():
    """Threads that write to one file do not wait for each other's turns."""
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    start = time.monotonic()

    def work(number):
        for n in range(100):
            os.pwrite(descriptor, bytes([number]) * 4096, (number * 100 + n) * 4096)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 30
    for number in range(8):
        assert os.pread(descriptor, 409600, number * 409600) == bytes([number]) * 409600
    os.close(descriptor)


# Files without a name, and positions in directories -------------------------------------------------------------------


def nameless_file_by_a_path_descriptor():
    """O_PATH holds a file without having it open: it can be opened, asked and changed after it lost its name."""
    put("f", b"bytes")
    os.setxattr("f", "user.colour", b"green")
    held = os.open("f", os.O_PATH)
    put("new", b"newer")
    os.rename("new", "f")
    path = f"/proc/self/fd/{held}"
    assert get(path) == b"bytes" and get("f") == b"newer"
    assert os.fstat(held).st_nlink == 0 and os.stat(path).st_size == 5
    assert os.getxattr(path, "user.colour") == b"green"
    os.chmod(path, 0o640)
    assert stat.S_IMODE(os.fstat(held).st_mode) == 0o640
    os.truncate(path, 2)
    with open(path, "ab") as file:
        file.write(b"!")
    # Closed in between, more than once.
    for _ in range(3):
        assert get(path) == b"by!"
    os.utime(path, ns=(1, 2_000_000_000))
    assert os.fstat(held).st_mtime_ns == 2_000_000_000
    os.setxattr(path, "user.colour", b"red")
    assert os.getxattr(path, "user.colour") == b"red"
    os.unlink("f")
    assert get(path) == b"by!"
    os.close(held)


def bound_file_is_replaced():
    """A file that is mounted on, as `docker -v FILE:FILE` does, keeps its bytes when it is saved anew."""
    if os.geteuid() != 0:
        return
    put("settings", b"old")
    put("mountpoint")
    mount = os.path.realpath("mountpoint")
    # In a mount namespace of its own: nothing is left behind.
    libc("unshare", 0x00020000)
    libc("mount", b"none", b"/", None, 0x4000 | 0x40000, None)
    libc("mount", os.path.realpath("settings").encode(), mount.encode(), None, 0x1000, None)
    put("new", b"new")
    os.rename("new", "settings")
    time.sleep(0.1)
    for _ in range(3):
        assert get(mount) == b"old" and get("settings") == b"new"
        assert os.stat(mount).st_size == 3
    with open(mount, "ab") as file:
        file.write(b"er")
    assert get(mount) == b"older" and get("settings") == b"new"
    os.unlink("settings")
    assert get(mount) == b"older"
    libc("umount2", mount.encode(), 0)


def listener_opens_what_is_gone():
    """fanotify opens the file of an event when that is read: by then it may be closed and have no name."""
    if os.geteuid() != 0:
        return
    group = libc("fanotify_init", 0x2, os.O_RDONLY)
    try:
        # FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_CLOSE_WRITE | FAN_EVENT_ON_CHILD
        libc("fanotify_mark", group, 0x1 | 0x8, ctypes.c_uint64(0x8 | 0x08000000), -100, os.path.realpath(".").encode())
        descriptor = os.open("f", os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"bytes")
        os.unlink("f")
        os.close(descriptor)
        time.sleep(0.1)
        event = os.read(group, 4096)
        number = struct.unpack_from("=IBBHQii", event)[5]
        assert number >= 0, f"no descriptor: {number}"
        assert os.pread(number, 10, 0) == b"bytes"
        os.close(number)
    finally:
        os.close(group)


class Dirent(ctypes.Structure):
    _fields_ = [
        ("ino", ctypes.c_uint64),
        ("off", ctypes.c_int64),
        ("reclen", ctypes.c_uint16),
        ("type", ctypes.c_uint8),
        ("name", ctypes.c_char * 256),
    ]


class DirectoryStream:
    """opendir(3) with positions, which Python does not offer."""

    def __init__(self, path="."):
        for name in ("opendir", "readdir"):
            getattr(LIBC, name).restype = ctypes.c_void_p
        LIBC.telldir.restype = ctypes.c_long
        self.stream = ctypes.c_void_p(LIBC.opendir(os.fsencode(path)))
        assert self.stream.value

    def read(self):
        entry = LIBC.readdir(self.stream)
        return ctypes.cast(entry, ctypes.POINTER(Dirent)).contents.name.decode() if entry else None

    def take(self, count):
        """Up to `count` names besides . and .."""
        names = []
        while len(names) < count and (name := self.read()) is not None:
            if name not in (".", ".."):
                names.append(name)
        return names

    def tell(self):
        return LIBC.telldir(self.stream)

    def seek(self, position):
        LIBC.seekdir(self.stream, ctypes.c_long(position))

    def close(self):
        LIBC.closedir(self.stream)


def positions_survive_removals():
    """Read a part, remove it, open anew, and seek to where the reading stopped: nothing is left out or seen twice."""
    names = {f"name-{number:04}" for number in range(1000)}
    for name in names:
        put(name)
    seen, position = [], 0
    while True:
        stream = DirectoryStream()
        stream.seek(position)
        part = stream.take(37)
        position = stream.tell()
        stream.close()
        for name in part:
            os.unlink(name)
        seen += part
        if len(part) < 37:
            break
    assert len(seen) == len(set(seen)), "seen twice"
    assert set(seen) == names, f"{len(names - set(seen))} never seen"
    assert os.listdir() == []


def positions_of_one_stream():
    """telldir and seekdir go back and forth, and rewinddir begins anew."""
    names = [f"{number}" for number in range(300)]
    for name in names:
        put(name)
    stream = DirectoryStream()
    positions, order = [], []
    while True:
        positions.append(stream.tell())
        part = stream.take(1)
        if not part:
            break
        order += part
    assert sorted(order) == sorted(names)
    for index in (0, 299, 150, 7, 298, 1):
        stream.seek(positions[index])
        assert stream.take(2) == order[index : index + 2], index
    os.unlink(order[20])
    stream.seek(positions[20])
    assert stream.take(1) == [order[21]]
    put("added")
    LIBC.rewinddir(stream.stream)
    assert sorted(stream.take(1000)) == sorted(set(order) - {order[20]} | {"added"})
    stream.close()


def listing_while_saving():
    """A name that is there all the time is listed once, whatever is renamed over it or exchanged with it."""
    names = {f"{number:03}" for number in range(200)}
    for name in names:
        put(name)
    os.mkdir("d")
    stream = DirectoryStream()
    seen = stream.take(100)
    for name in sorted(names):
        put("temporary", b"new")
        os.rename("temporary", name)
    first, last = seen[0], (names - set(seen)).pop()
    if first == "d":
        first = seen[1]
    renameat2(first, last, RENAME_EXCHANGE)
    # Of other kinds: the entry moves.
    renameat2(first, "d", RENAME_EXCHANGE)
    os.symlink("nowhere", "link")
    os.rename("link", last)
    while part := stream.take(50):
        seen += part
    stream.close()
    assert len(seen) == len(set(seen)), "seen twice"
    assert names | {"d"} <= set(seen), f"never seen: {names - set(seen)}"


def listing_while_adding():
    """A program that adds a name for each one that it reads comes to an end."""
    for number in range(100):
        put(f"{number}")
    with os.scandir(".") as entries:
        for count, entry in enumerate(entries):
            assert count < 2000, "there is no end"
            put(f"{entry.name}-{count}")


CASES = {
    name: case
    for name, case in list(globals().items())
    if callable(case)
    and not isinstance(case, type)
    and getattr(case, "__module__", None) == "__main__"
    and case.__code__.co_argcount == 0
}


def main():
    # A case that is ended because it takes too long prints its stack.
    faulthandler.register(signal.SIGTERM, chain=True)
    case, directory = sys.argv[1], sys.argv[2]
    for name in CASES if case == "all" else [case]:
        place = os.path.join(directory, name)
        os.makedirs(place)
        os.chdir(place)
        if case == "all":
            print(name, flush=True)
        CASES[name]()


if __name__ == "__main__":
    main()
