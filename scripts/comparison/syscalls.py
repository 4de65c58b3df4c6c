"""The system calls that Python 3.11 has no function for. Each raises OSError like those in `os`."""

import ctypes
import os
import struct
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = -100, 0x100, 0x1000
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16
MS_REMOUNT, MS_SYNC = 32, 4
MS_BIND, MS_REC, MS_SLAVE, MNT_DETACH, CLONE_NEWNS = 0x1000, 0x4000, 1 << 19, 2, 0x20000
PROT_READ, PROT_WRITE, MAP_SHARED = 1, 2, 1
F_OFD_GETLK, F_OFD_SETLK = 36, 37
STATX_ALL = 0xFFF
# struct linux_dirent64, up to the name.
DIRENT = struct.Struct("=QqHB")
# struct statx, up to the device numbers: see statx(2).
STATX = struct.Struct("=IIQIIIHHQQQQ" + "qIi" * 4 + "IIII")

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.read.argtypes = LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
LIBC.read.restype = LIBC.write.restype = ctypes.c_ssize_t
LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
LIBC.getdents64.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
LIBC.getdents64.restype = ctypes.c_ssize_t
LIBC.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p]
FAILED = ctypes.c_void_p(-1).value


def checked(result: int) -> int:
    if result in (-1, FAILED):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def link_followed(source: str, target: str) -> None:
    """`os.link` follows no symbolic link on Linux, such as those to open files."""
    follow = 0x400
    checked(LIBC.linkat(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), follow))


def renameat2(source: str, target: str, flags: int) -> None:
    checked(LIBC.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flags))


def fallocate(descriptor: int, mode: int, offset: int, length: int) -> None:
    checked(LIBC.fallocate(descriptor, mode, offset, length))


def mmap(descriptor: int, length: int, protection: int, offset: int) -> int:
    return checked(LIBC.mmap(None, length, protection, MAP_SHARED, descriptor, offset))


def munmap(address: int, length: int) -> None:
    checked(LIBC.munmap(address, length))


def msync(address: int, length: int, flags: int) -> None:
    checked(LIBC.msync(address, length, flags))


def read_into(descriptor: int, address: int, length: int) -> int:
    """Stores what a pipe holds into memory. An address that cannot be written gives EFAULT, and no SIGBUS."""
    return checked(LIBC.read(descriptor, address, length))


def write_from(descriptor: int, address: int, length: int) -> int:
    """Brings memory into a pipe. An address that cannot be read gives EFAULT, and no SIGBUS."""
    return checked(LIBC.write(descriptor, address, length))


def remount(point: str) -> None:
    """Remounts as it is mounted: the kernel forgets the names and the inodes that nobody uses."""
    flags = os.statvfs(point).f_flag & 0xF
    checked(LIBC.mount(b"none", os.fsencode(point), None, MS_REMOUNT | flags, None))


def own_mounts() -> None:
    """Gives the process a mount namespace of its own; what is unmounted outside goes here too."""
    checked(LIBC.unshare(CLONE_NEWNS))
    checked(LIBC.mount(b"none", b"/", None, MS_REC | MS_SLAVE, None))


def bind(source: str, target: str) -> None:
    checked(LIBC.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND, None))


def unbind(target: str) -> None:
    checked(LIBC.umount2(os.fsencode(target), MNT_DETACH))


def entries(descriptor: int, count: int) -> list[tuple[str, int]]:
    """At least `count` entries of a directory from its position on, if there are so many: names, and positions after
    them."""
    found: list[tuple[str, int]] = []
    buffer = ctypes.create_string_buffer(1024)
    while len(found) < count:
        size = checked(LIBC.getdents64(descriptor, buffer, len(buffer)))
        if size == 0:
            break
        at = 0
        while at < size:
            _, position, length, _ = DIRENT.unpack_from(buffer, at)
            name = buffer.raw[at + DIRENT.size : at + length].split(b"\0", 1)[0]
            found.append((os.fsdecode(name), position))
            at += length
    # The rest is read again, from the position of the last one.
    return found[:count]


def statx(directory: int, path: str, flags: int) -> dict[str, Any]:
    """What statx(2) says, as a dictionary; times in ns, with the time of creation, 0 where there is none."""
    buffer = ctypes.create_string_buffer(256)
    checked(LIBC.statx(directory, os.fsencode(path), flags, STATX_ALL, buffer))
    words = STATX.unpack_from(buffer.raw)
    mask, _, _, links, user, group, mode, _, inode, size, blocks, _ = words[:12]
    access, birth, change, modification = (words[at] * 10**9 + words[at + 1] for at in (12, 15, 18, 21))
    return {
        "mode": mode, "nlink": links, "uid": user, "gid": group, "ino": inode, "size": size, "blocks": blocks,
        "atime": access, "mtime": modification, "ctime": change, "btime": birth if mask & 0x800 else 0,
        "rdev": (words[24], words[25]),
    }  # fmt: skip
