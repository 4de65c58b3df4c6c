"""The same operations on open files, read and written by io_uring.

Where a file is read and written beside the page cache, the kernel does not advance the position of a request that
io_uring makes, for lack of which it also reads on past the end: always in `fuse_direct_IO`, and on ext4 with O_DIRECT
in some cases. The result says where that shows, and the position and the bytes are mended, so that the program can go
on.
"""

import fcntl
import os
import stat
import zlib
from typing import Any

from . import observation, rings
from .descriptors import Descriptors

FAULT = "the position stays"


class RingedDescriptors(Descriptors):
    ring: rings.Ring | None = None

    @staticmethod
    def way(*words: Any) -> int:
        """One of the ways to do it: always the same one for the same step."""
        return zlib.crc32(repr(words).encode()) % rings.WAYS

    def own_ring(self) -> rings.Ring:
        """That of this process: a ring is not for the forked."""
        if self.ring is None:
            self.ring = rings.Ring()
        return self.ring

    def write(self, slot: int, letter: str, count: int) -> Any:
        return self.written(slot, letter, count, None)

    def pwrite(self, slot: int, letter: str, count: int, offset: int) -> Any:
        return self.written(slot, letter, count, offset)

    def read(self, slot: int, count: int) -> Any:
        return self.obtained(slot, count, None)

    def pread(self, slot: int, count: int, offset: int) -> Any:
        return self.obtained(slot, count, offset)

    def position(self, slot: int) -> int | None:
        """None for what has none."""
        descriptor = self.file(slot)
        if slot not in self.open_files or not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return os.lseek(descriptor, 0, os.SEEK_CUR)

    def written(self, slot: int, letter: str, count: int, offset: int | None) -> dict[str, Any]:
        descriptor, before = self.file(slot), self.position(slot)
        memory = self.filled(slot, letter, count)
        done = self.own_ring().write(self.way(letter, count, offset), descriptor, memory, count, offset)
        if offset is not None or before is None or done == 0 or self.position(slot) != before:
            return {"count": done}
        # An append went to the end, anything else to where the position was.
        appends = self.appends(descriptor)
        os.lseek(descriptor, 0 if appends else before + done, os.SEEK_END if appends else os.SEEK_SET)
        return {"count": done, "kernel": FAULT}

    def obtained(self, slot: int, count: int, offset: int | None) -> dict[str, Any]:
        descriptor, before = self.file(slot), self.position(slot)
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            # A ring waits for bytes in a pipe even with O_NONBLOCK.
            return {"bytes": self.read_pipe(slot, count, offset)}
        memory = self.buffer(slot, count)
        done = self.own_ring().read(self.way(count, offset), descriptor, memory, count, offset)
        if before is None:
            return {"bytes": observation.runs(memory[:done])}
        start = before if offset is None else offset
        has_stayed = offset is None and done > 0 and self.position(slot) == before
        if not has_stayed and done <= max(0, os.fstat(descriptor).st_size - start):
            return {"bytes": observation.runs(memory[:done])}
        # Past the end the kernel reads on, from where it began.
        done = os.preadv(descriptor, [memoryview(memory)[:count]], start)
        if offset is None:
            os.lseek(descriptor, start + done, os.SEEK_SET)
        return {"bytes": observation.runs(memory[:done]), "kernel": FAULT}

    def read_pipe(self, slot: int, count: int, offset: int | None) -> Any:
        return super().read(slot, count) if offset is None else super().pread(slot, count, offset)

    @staticmethod
    def appends(descriptor: int) -> bool:
        return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)
