"""Operations on open files: reading, writing, mapping, space."""

import mmap as mapping
import os
import stat
import typing
from typing import Any

from . import observation, syscalls

PAGE = 4096
# Device and number.
Inode = tuple[int, int]


def flags(text: str) -> int:
    number = 0
    for word in text.split("|"):
        number |= getattr(os, word)
    return number


class Map(typing.NamedTuple):
    """A mapped part of a file; `path` is a descriptor of the file that opens nothing (`O_PATH`)."""

    address: int
    length: int
    offset: int
    path: int


class Place:
    """The tree of a program on one side."""

    def __init__(self, root: str, is_ours: bool) -> None:
        self.root, self.is_ours = root, is_ours

    def path(self, path: str) -> str:
        return f"{self.root}/{path}"


class Descriptors(Place):
    """Open files by slot, and maps of them by slot."""

    def __init__(self, root: str, is_ours: bool) -> None:
        super().__init__(root, is_ours)
        self.open_files: dict[int, int] = {}
        self.maps: dict[int, Map] = {}
        self.pipe = os.pipe()

    def file(self, slot: int) -> int:
        """A slot that was never opened stands for a descriptor that is not open: EBADF."""
        return self.open_files.get(slot, 1 << 20)

    # Opening

    def open(self, slot: int, path: str, words: str, mode: int = 0o644) -> None:
        self.release(slot)
        self.open_files[slot] = os.open(self.path(path), flags(words) | self.patience(self.path(path)), mode)

    def openat(self, slot: int, directory: int, name: str, words: str, mode: int = 0o644) -> None:
        patience = self.patience(name, self.file(directory))
        descriptor = os.open(name, flags(words) | patience, mode, dir_fd=self.file(directory))
        self.release(slot)
        self.open_files[slot] = descriptor

    @staticmethod
    def patience(path: str, directory: int | None = None) -> int:
        """The end of a named pipe waits for another, which no program here opens at the same time."""
        try:
            return os.O_NONBLOCK if stat.S_ISFIFO(os.stat(path, dir_fd=directory).st_mode) else 0
        except OSError:
            return 0

    def release(self, slot: int) -> None:
        if slot in self.open_files:
            os.close(self.open_files.pop(slot))

    def close(self, slot: int) -> None:
        os.close(self.open_files.pop(slot, 1 << 20))

    def dup(self, slot: int, copy: int) -> None:
        descriptor = os.dup(self.file(slot))
        self.release(copy)
        self.open_files[copy] = descriptor

    # Bytes. What is written is one letter, repeated: so each byte tells which step it is from.

    def buffer(self, slot: int, count: int) -> mapping.mmap:
        """Memory that starts at a page, as O_DIRECT wants it."""
        return mapping.mmap(-1, max(count, 1))

    def write(self, slot: int, letter: str, count: int) -> Any:
        return os.writev(self.file(slot), [memoryview(self.filled(slot, letter, count))[:count]])

    def pwrite(self, slot: int, letter: str, count: int, offset: int) -> Any:
        return os.pwritev(self.file(slot), [memoryview(self.filled(slot, letter, count))[:count]], offset)

    def filled(self, slot: int, letter: str, count: int) -> mapping.mmap:
        memory = self.buffer(slot, count)
        memory[:count] = letter.encode() * count
        return memory

    def read(self, slot: int, count: int) -> Any:
        memory = self.buffer(slot, count)
        return observation.runs(memory[: os.readv(self.file(slot), [memoryview(memory)[:count]])])

    def pread(self, slot: int, count: int, offset: int) -> Any:
        memory = self.buffer(slot, count)
        return observation.runs(memory[: os.preadv(self.file(slot), [memoryview(memory)[:count]], offset)])

    def lseek(self, slot: int, offset: int, whence: str) -> int | None:
        """Positions in a directory are each file system's own: they are not told."""
        descriptor = self.file(slot)
        if slot in self.open_files and stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return None
        return os.lseek(descriptor, offset, getattr(os, whence))

    def holes(self, slot: int) -> dict[str, Any]:
        """Whether every byte that is not zero lies in what SEEK_DATA and SEEK_HOLE call data. Where holes are is not
        told."""
        descriptor = self.file(slot)
        size, before = os.fstat(descriptor).st_size, os.lseek(descriptor, 0, os.SEEK_CUR)
        data, at = [], 0
        try:
            while at < size:
                try:
                    start = os.lseek(descriptor, at, os.SEEK_DATA)
                except OSError as error:
                    if observation.name(error) == "ENXIO":
                        break
                    raise
                at = os.lseek(descriptor, start, os.SEEK_HOLE)
                data.append((start, at))
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
        memory = self.buffer(slot, -(-size // PAGE) * PAGE)
        whole = memory[: os.preadv(descriptor, [memory], 0)]
        edges = [0, *(edge for pair in data for edge in pair), size]
        hidden = any(whole[edges[i] : edges[i + 1]].strip(b"\0") for i in range(0, len(edges), 2))
        return {"data reported as a hole": hidden, "end": at if data and at > size else size}

    # Sizes and space

    def ftruncate(self, slot: int, size: int) -> None:
        os.ftruncate(self.file(slot), size)

    def fallocate(self, slot: int, mode: int, offset: int, length: int) -> None:
        syscalls.fallocate(self.file(slot), mode, offset, length)

    def copy_range(self, source: int, source_offset: int, target: int, target_offset: int, count: int) -> int:
        return os.copy_file_range(self.file(source), self.file(target), count, source_offset, target_offset)

    def fsync(self, slot: int) -> None:
        os.fsync(self.file(slot))

    def fdatasync(self, slot: int) -> None:
        os.fdatasync(self.file(slot))

    def forget(self, slot: int) -> None:
        """Drops the cached pages of a file."""
        os.posix_fadvise(self.file(slot), 0, 0, os.POSIX_FADV_DONTNEED)

    # Maps. Memory goes through a pipe, so that what would be SIGBUS is EFAULT.

    def mmap(self, slot: int, map_slot: int, length: int, offset: int, writes: bool) -> None:
        if map_slot in self.maps:
            self.unmap(map_slot)
        protection = syscalls.PROT_READ | (syscalls.PROT_WRITE if writes else 0)
        descriptor = self.file(slot)
        address = syscalls.mmap(descriptor, length, protection, offset)
        # Opens nothing, and tells the size as long as the map is there.
        path = os.open(f"/proc/self/fd/{descriptor}", os.O_PATH)
        self.maps[map_slot] = Map(address, length, offset, path)

    def unmap(self, map_slot: int) -> None:
        known = self.maps.pop(map_slot)
        os.close(known.path)
        syscalls.munmap(known.address, known.length)

    def place(self, map_slot: int, offset: int, count: int) -> tuple[int, int]:
        if map_slot not in self.maps:
            raise OSError(14, "no such map")
        known = self.maps[map_slot]
        return known.address + min(offset, known.length - 1), min(count, max(1, known.length - offset))

    def load(self, map_slot: int, offset: int, count: int) -> str:
        address, count = self.place(map_slot, offset, count)
        done = syscalls.write_from(self.pipe[1], address, count)
        data = os.read(self.pipe[0], done)
        # What is stored in the last page past the end of the file stays until the page is written back, whenever that
        # is.
        known = self.maps[map_slot]
        end = os.fstat(known.path).st_size - known.offset - (address - known.address)
        return observation.runs(data[: max(0, end)])

    def store(self, map_slot: int, offset: int, letter: str, count: int) -> int:
        address, count = self.place(map_slot, offset, count)
        os.write(self.pipe[1], letter.encode() * count)
        try:
            return syscalls.read_into(self.pipe[0], address, count)
        finally:
            self.drain()

    def drain(self) -> None:
        os.set_blocking(self.pipe[0], False)
        try:
            while os.read(self.pipe[0], 1 << 16):
                pass
        except BlockingIOError:
            pass
        os.set_blocking(self.pipe[0], True)

    def msync(self, map_slot: int) -> None:
        address, count = self.place(map_slot, 0, 1 << 62)
        syscalls.msync(address, count, syscalls.MS_SYNC)

    def munmap(self, map_slot: int) -> None:
        self.place(map_slot, 0, 1)
        self.unmap(map_slot)

    # Attributes

    def fstat(self, slot: int) -> dict[str, Any]:
        return observation.attributes(self.file(slot), "", syscalls.AT_EMPTY_PATH)

    def statat(self, slot: int, name: str) -> dict[str, Any]:
        return observation.attributes(self.file(slot), name, syscalls.AT_SYMLINK_NOFOLLOW)

    def inode_at(self, slot: int, name: str) -> Inode:
        """Which inode an entry of an open directory is; for the controller."""
        found = os.stat(name, dir_fd=self.file(slot))
        return found.st_dev, found.st_ino

    def listfd(self, slot: int) -> list[str]:
        return observation.listing(self.file(slot))

    def fchmod(self, slot: int, mode: int) -> None:
        os.fchmod(self.file(slot), mode)

    def fchown(self, slot: int, user: int, group: int) -> None:
        os.fchown(self.file(slot), user, group)

    def futimes(self, slot: int, access: int, modification: int) -> None:
        os.utime(self.file(slot), ns=(access, modification))
