"""The system calls that Python 3.11 has no function for. Each raises OSError like those in `os`."""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH = -100, 0x100, 0x1000
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16
MS_REMOUNT, MS_SYNC, MS_ASYNC = 32, 4, 1
PROT_READ, PROT_WRITE, MAP_SHARED = 1, 2, 1
F_OFD_GETLK, F_OFD_SETLK = 36, 37
STATX_ALL = 0xFFF
# struct statx, up to the device numbers: see statx(2).
STATX = struct.Struct("=IIQIIIHHQQQQ" + "qIi" * 4 + "IIII")

LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.read.argtypes = LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
LIBC.read.restype = LIBC.write.restype = ctypes.c_ssize_t
LIBC.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
LIBC.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p]
FAILED = ctypes.c_void_p(-1).value


def checked(result):
    if result in (-1, FAILED):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def renameat2(source, target, flags):
    checked(LIBC.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flags))


def fallocate(descriptor, mode, offset, length):
    checked(LIBC.fallocate(descriptor, mode, offset, length))


def mmap(descriptor, length, protection, offset):
    return checked(LIBC.mmap(None, length, protection, MAP_SHARED, descriptor, offset))


def munmap(address, length):
    checked(LIBC.munmap(address, length))


def msync(address, length, flags):
    checked(LIBC.msync(address, length, flags))


def read_into(descriptor, address, length):
    """Stores what a pipe holds into memory. An address that cannot be written gives EFAULT, and no SIGBUS."""
    return checked(LIBC.read(descriptor, address, length))


def write_from(descriptor, address, length):
    """Brings memory into a pipe. An address that cannot be read gives EFAULT, and no SIGBUS."""
    return checked(LIBC.write(descriptor, address, length))


def remount(point):
    """Remounts as it is mounted: the kernel forgets the names and the inodes that nobody uses."""
    flags = os.statvfs(point).f_flag & 0xF
    checked(LIBC.mount(b"none", os.fsencode(point), None, MS_REMOUNT | flags, None))


def statx(directory, path, flags):
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
