"""Makes one system call and prints the result: `OK`, `OK VALUE`, or the name of the errno.

    python3 call.py getxattr PATH NAME
    python3 call.py setxattr PATH NAME VALUE [create|replace]
    python3 call.py open PATH FLAG[,FLAG...]

Paths, names and values are percent-decoded, so that they can contain any byte. A symbolic link is never followed.
"""

import errno
import os
import socket
import sys
import urllib.parse
from collections.abc import Callable

# EOPNOTSUPP has two names on Linux.
NAMES = {**errno.errorcode, errno.EOPNOTSUPP: "EOPNOTSUPP"}
XATTR_MODES = {"create": os.XATTR_CREATE, "replace": os.XATTR_REPLACE}


def flags(text: str) -> int:
    value = 0
    for name in text.split(","):
        value |= getattr(os, name)
    return value


def opened(path: bytes, text: str, mode: int = 0o644) -> None:
    os.close(os.open(path, flags(text), mode))


def read(path: bytes, offset: bytes, count: bytes) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.pread(descriptor, int(count), int(offset))
    finally:
        os.close(descriptor)


def write(path: bytes, offset: bytes, value: bytes) -> bytes:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        return str(os.pwrite(descriptor, value, int(offset))).encode()
    finally:
        os.close(descriptor)


def bind(path: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def getxattr_sized(path: bytes, name: bytes, size: bytes) -> bytes:
    """Calls getxattr(2) with a buffer of `size` bytes; Python's own call never fails because a buffer is too small."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(max(int(size), 1))
    got = libc.lgetxattr(path, name, buffer, ctypes.c_size_t(int(size)))
    if got < 0:
        raise OSError(ctypes.get_errno(), "lgetxattr")
    return str(got).encode()


CALLS: dict[bytes, Callable[..., bytes | None]] = {
    b"getxattr": lambda path, name: os.getxattr(path, name, follow_symlinks=False),
    b"getxattrsized": getxattr_sized,
    b"setxattr": lambda path, name, value, mode=b"": os.setxattr(
        path, name, value, XATTR_MODES.get(mode.decode(), 0), follow_symlinks=False
    ),
    b"removexattr": lambda path, name: os.removexattr(path, name, follow_symlinks=False),
    b"listxattr": lambda path: b",".join(
        os.fsencode(name) for name in sorted(os.listxattr(path, follow_symlinks=False))
    ),
    b"open": lambda path, text: opened(path, text.decode()),
    b"read": read,
    b"write": write,
    b"truncate": lambda path, size: os.truncate(path, int(size)),
    b"mkdir": lambda path: os.mkdir(path),
    b"stat": lambda path: str(os.lstat(path).st_size).encode(),
    b"symlink": lambda target, path: os.symlink(target, path),
    b"mkfifo": lambda path: os.mkfifo(path),
    b"bind": bind,
    b"rename": lambda old, new: os.rename(old, new),
    b"unlink": lambda path: os.unlink(path),
}


def main() -> None:
    arguments = [urllib.parse.unquote_to_bytes(argument) for argument in sys.argv[1:]]
    try:
        value = CALLS[arguments[0]](*arguments[1:])
    except OSError as error:
        print(NAMES.get(error.errno or 0, error.errno))
        return
    if value is None:
        print("OK")
    else:
        print("OK " + value.decode("utf-8", "backslashreplace"))


main()
