"""Asks dewpoint-backing for what it must refuse: the case of BackingHelperTests.

python3 backing.py HELPER FOREIGN_FILE APPEND_ONLY_FILE

HELPER has its capability; FOREIGN_FILE is of another user, who lets everybody read and write it; APPEND_ONLY_FILE is of
this one, with the attribute `a`. The connection is a file system of this program that nobody asks anything.
"""

import array
import contextlib
import ctypes
import errno
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

LIMIT = 16_384
# FUSE_INIT's reply: protocol 7.40, with FUSE_INIT_EXT and FUSE_PASSTHROUGH.
INIT_EXT, PASSTHROUGH_HIGH = 1 << 30, 1 << 5


class Helper:
    def __init__(self, path: str) -> None:
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([path], stdin=other.fileno())
        other.close()
        self.socket.settimeout(10)
        assert self.answer() == 0, "it has no capability"

    def answer(self) -> int:
        data = self.socket.recv(64)
        assert len(data) == 4, data
        number: int = struct.unpack("i", data)[0]
        return number

    def ask(self, request: bytes, *files: int) -> int:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
        self.socket.sendmsg([request], rights)
        return self.answer()

    def open(self, connection: int, file: int) -> int:
        return self.ask(b"o", connection, file)

    def close(self, connection: int, number: int) -> int:
        return self.ask(b"c" + struct.pack("I", number), connection)

    def end(self) -> None:
        self.socket.close()
        assert self.process.wait(10) == 0


class Mount:
    """A connection of FUSE whose INIT is answered here, so that files can be registered with it."""

    def __init__(self) -> None:
        self.point = tempfile.mkdtemp()
        here, there = socket.socketpair()
        environment = {**os.environ, "_FUSE_COMMFD": str(there.fileno())}
        mounting = subprocess.Popen(
            ["fusermount3", "-o", "fsname=backing", "--", self.point], env=environment, pass_fds=[there.fileno()]
        )
        there.close()
        rights = here.recvmsg(1, socket.CMSG_SPACE(4))[1]
        self.file = array.array("i", rights[0][2])[0]
        assert mounting.wait(20) == 0
        request = os.read(self.file, 1 << 17)
        unique = struct.unpack_from("Q", request, 8)[0]
        # fuse_init_out: the highest stack that may lie below is 1.
        body = struct.pack("IIIIHHIIHHII24x", 7, 40, 1 << 17, INIT_EXT, 12, 9, 1 << 17, 1, 32, 0, PASSTHROUGH_HIGH, 1)
        assert len(body) == 80 - 16, len(body)
        os.write(self.file, struct.pack("IiQ", 16 + len(body), 0, unique) + body)

    def end(self) -> None:
        subprocess.run(["fusermount3", "-u", "-z", self.point], timeout=20)
        os.close(self.file)
        os.rmdir(self.point)


@contextlib.contextmanager
def opened(path: str, flags: int = os.O_RDWR) -> Iterator[int]:
    file = os.open(path, flags, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def refused(helper: Helper, connection: int, file: int, *errors: int) -> None:
    result = helper.open(connection, file)
    assert -result in errors, (result, [errno.errorcode[error] for error in errors])


def files_of_all_kinds(helper: Helper, connection: int, foreign: str, append_only: str) -> None:
    own = f"{os.getcwd()}/own"
    with opened(own, os.O_RDWR | os.O_CREAT) as file:
        number = helper.open(connection, file)
        assert number > 0, number
        assert helper.close(connection, number) == 0
        assert helper.close(connection, number) == -errno.ENOENT
    with opened(foreign) as file:
        refused(helper, connection, file, errno.EPERM)
    for path in ("/etc/passwd", "/proc/self/status", "/usr/bin/true"):
        with opened(path, os.O_RDONLY) as file:
            refused(helper, connection, file, errno.EACCES)
    # What is read only with a descriptor would be written to by the kernel.
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_PATH):
        with opened(own, flags) as file:
            refused(helper, connection, file, errno.EACCES, errno.EINVAL)
    if os.path.exists(append_only):
        with opened(append_only, os.O_WRONLY | os.O_APPEND) as file:
            refused(helper, connection, file, errno.EACCES)
    os.chmod(own, 0o400)
    with opened(own, os.O_RDONLY) as file:
        refused(helper, connection, file, errno.EACCES)
    with opened("/dev/null") as file:
        refused(helper, connection, file, errno.EINVAL)
    with opened("/proc/self/mem") as file:
        refused(helper, connection, file, errno.EINVAL)
    with opened("/proc/self/comm") as file:
        refused(helper, connection, file, errno.EINVAL)
    with opened(".", os.O_RDONLY | os.O_DIRECTORY) as file:
        refused(helper, connection, file, errno.EACCES)
    os.mkfifo("pipe")
    with opened("pipe") as file:
        refused(helper, connection, file, errno.EINVAL)
    refused(helper, connection, os.memfd_create("memory"), errno.EINVAL)
    refused(helper, connection, helper.socket.fileno(), errno.EINVAL)
    refused(helper, connection, connection, errno.EINVAL)
    with opened("gone", os.O_RDWR | os.O_CREAT) as file:
        os.unlink("gone")
        refused(helper, connection, file, errno.EINVAL)
    os.chmod(own, 0o600)


def requests_of_all_kinds(helper: Helper, connection: int) -> None:
    with opened("own") as file, opened("/dev/null") as null, opened("/dev/fuse") as unused:
        for wrong in (file, null, helper.socket.fileno()):
            assert helper.open(wrong, file) == -errno.EINVAL
        # /dev/fuse, but no connection.
        assert helper.open(unused, file) < 0
        for request, files in [
            (b"o", ()), (b"o", (connection,)), (b"o", (connection, file, file)), (b"", (connection, file)),
            (b"x", (connection, file)), (b"oo", (connection, file)), (b"c", (connection,)), (b"c" + b"\0" * 3, (connection,)),
            (b"c" + b"\0" * 5, (connection,)), (b"c" + b"\0" * 4, (connection, file)), (b"o" * 4000, (connection, file)),
            (b"o", (connection,) + (file,) * 200),
        ]:  # fmt: skip
            if request:
                assert helper.ask(request, *files) == -errno.EINVAL, (request, files)
        for number in (0, 1, 2**31 - 1, 2**31, 2**32 - 1):
            assert helper.close(connection, number) < 0
        number = helper.open(connection, file)
        assert number > 0, number
        assert helper.close(connection, number) == 0


def many(helper: Helper, connection: int) -> None:
    with opened("own") as file:
        numbers = [helper.open(connection, file) for _ in range(LIMIT)]
        assert min(numbers) > 0
        assert helper.open(connection, file) == -errno.EMFILE
        assert helper.close(connection, numbers.pop()) == 0
        numbers.append(helper.open(connection, file))
        assert all(helper.close(connection, number) == 0 for number in numbers)


def a_process_of_its_own(path: str) -> None:
    """It cannot be looked into, and ends with its socket, also when it is told nothing at all."""
    helper = Helper(path)
    for name in ("mem", "environ", "fd"):
        try:
            os.listdir(f"/proc/{helper.process.pid}/fd") if name == "fd" else open(
                f"/proc/{helper.process.pid}/{name}"
            ).read(1)
        except PermissionError:
            continue
        raise AssertionError(f"{name} can be read")
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(16, helper.process.pid, 0, 0) == -1, "a debugger may attach"
    helper.end()
    # Without a socket, and with one that nobody reads.
    for stdin in (subprocess.DEVNULL, subprocess.PIPE):
        process = subprocess.Popen([path], stdin=stdin)
        assert process.wait(10) == 1
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [path], stdin=there.fileno(), env={"LD_PRELOAD": "/tmp/none.so", "LD_LIBRARY_PATH": "/tmp"}
    )
    there.close()
    here.close()
    assert process.wait(10) in (0, 1)


def the_mount_ends_with_its_daemon(helper: Helper, mount: Mount) -> None:
    """The helper keeps no connection: else nobody who waits for an answer would be told that there is no daemon."""
    reader = subprocess.Popen(["cat", f"{mount.point}/x"], stderr=subprocess.DEVNULL)
    assert select.select([mount.file], [], [], 10)[0]
    started = time.monotonic()
    os.close(mount.file)
    assert reader.wait(10) == 1
    assert time.monotonic() - started < 5
    mount.file = os.open("/dev/null", os.O_RDONLY)
    assert helper.process.poll() is None


def main() -> None:
    path, foreign, append_only = sys.argv[1:]
    a_process_of_its_own(path)
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        helper, mount = Helper(path), Mount()
        try:
            files_of_all_kinds(helper, mount.file, foreign, append_only)
            requests_of_all_kinds(helper, mount.file)
            many(helper, mount.file)
            the_mount_ends_with_its_daemon(helper, mount)
            helper.end()
        finally:
            mount.end()
            os.chdir("/")


main()
