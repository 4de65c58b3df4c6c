"""What the cases of files.py are written with: calls of the file system, and errors that are expected of them."""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16
MIB = 1 << 20


def raises(expected: str, call: Callable[..., object], *arguments: Any) -> None:
    try:
        call(*arguments)
    except OSError as error:
        got = errno.errorcode[error.errno or 0]
        assert got == expected, f"{call} {arguments}: {got} instead of {expected}"
        return
    raise AssertionError(f"{call} {arguments}: success instead of {expected}")


def libc(name: str, *arguments: Any) -> int:
    result: int = getattr(LIBC, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def put(path: str | bytes, data: bytes = b"", mode: int = 0o644) -> None:
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def get(path: str | bytes) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def renameat2(old: str, new: str, how: int) -> None:
    libc("renameat2", -100, os.fsencode(old), -100, os.fsencode(new), how)


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    libc("fallocate", descriptor, mode, ctypes.c_int64(offset), ctypes.c_int64(length))


def in_child(body: Callable[[], int | None]) -> int:
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


def status_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
