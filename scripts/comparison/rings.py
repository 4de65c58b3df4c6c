"""io_uring by its system calls: reads and writes of a file in the ways that a ring has. See io_uring(7)."""

import contextlib
import ctypes
import errno
import mmap
import os
import struct
import typing
from collections.abc import Iterator, Sequence
from typing import Any

from .syscalls import LIBC, checked

SETUP, ENTER, REGISTER = 425, 426, 427
NOP, READV, WRITEV, READ_FIXED, WRITE_FIXED, READ, WRITE = 0, 1, 2, 4, 5, 22, 23
# Flags of an operation: the file is a number among the registered ones; the next one waits for this; never done at
# once.
FIXED_FILE, LINK, WORKER = 1, 4, 16
GET_EVENTS = 1
REGISTER_BUFFERS, UNREGISTER_BUFFERS, REGISTER_FILES, UNREGISTER_FILES = 0, 1, 2, 3
ENTRIES = 8
# struct io_uring_params: flags and the like, and the places in the two rings.
PARAMETERS = struct.Struct("=40I")
SUBMISSION, COMPLETION = struct.Struct("=BBHiQQIIQHHiQQ"), struct.Struct("=QiI")
SUBMISSIONS_AT = 0x10000000
NUMBER, VECTOR = struct.Struct("=I"), struct.Struct("=QQ")
# The offset that stands for the file's position.
POSITION = (1 << 64) - 1

# The ways in which the same bytes can be read or written.
PLAIN, VECTORS, BUFFER, FILE, BEHIND, BY_WORKER = range(6)
WAYS = 6


class Operation(typing.NamedTuple):
    code: int
    file: int = -1
    offset: int = 0
    address: int = 0
    size: int = 0
    flags: int = 0


class Ring:
    """Raises OSError where the kernel has no io_uring, or denies it."""

    def __init__(self) -> None:
        given = ctypes.create_string_buffer(PARAMETERS.size)
        self.file = checked(LIBC.syscall(SETUP, ENTRIES, given))
        fields = PARAMETERS.unpack(given.raw)
        entries, completions = fields[:2]
        _, self.tail_at, mask_at, _, _, _, self.array_at = fields[10:17]
        self.done_head_at, self.done_tail_at, done_mask_at, _, _, self.done_at = fields[20:26]
        size = max(self.array_at + entries * NUMBER.size, self.done_at + completions * COMPLETION.size)
        self.shared = mmap.mmap(self.file, size, offset=0)
        self.submissions = mmap.mmap(self.file, entries * SUBMISSION.size, offset=SUBMISSIONS_AT)
        self.mask, self.done_mask = self.number(mask_at), self.number(done_mask_at)

    def number(self, place: int) -> int:
        (number,) = NUMBER.unpack_from(self.shared, place)
        return int(number)

    def close(self) -> None:
        self.shared.close()
        self.submissions.close()
        os.close(self.file)

    def run(self, operations: Sequence[Operation]) -> list[int]:
        """Submits operations together, waits for all, and returns their results: counts, or negative errors."""
        tail = self.number(self.tail_at)
        for index, one in enumerate(operations):
            place = tail & self.mask
            SUBMISSION.pack_into(
                self.submissions, place * SUBMISSION.size, one.code, one.flags, 0, one.file, one.offset, one.address,
                one.size, 0, index, 0, 0, 0, 0, 0,
            )  # fmt: skip
            NUMBER.pack_into(self.shared, self.array_at + NUMBER.size * place, place)
            tail += 1
        NUMBER.pack_into(self.shared, self.tail_at, tail & 0xFFFFFFFF)
        left = len(operations)
        results: dict[int, int] = {}
        while len(results) < len(operations):
            with contextlib.suppress(InterruptedError):
                left -= checked(LIBC.syscall(ENTER, self.file, left, 1, GET_EVENTS, None, 0))
            results.update(self.done())
        return [results[index] for index in range(len(operations))]

    def done(self) -> Iterator[tuple[int, int]]:
        head, tail = self.number(self.done_head_at), self.number(self.done_tail_at)
        while head != tail:
            index, result, _ = COMPLETION.unpack_from(
                self.shared, self.done_at + (head & self.done_mask) * COMPLETION.size
            )
            yield index, result
            head = head + 1 & 0xFFFFFFFF
        NUMBER.pack_into(self.shared, self.done_head_at, head)

    def register(self, code: int, argument: Any, count: int) -> None:
        checked(LIBC.syscall(REGISTER, self.file, code, argument, count))

    # Whole calls

    def read(self, way: int, file: int, memory: mmap.mmap, count: int, offset: int | None = None) -> int:
        return self.transfer((READ, READV, READ_FIXED), way, file, memory, count, offset)

    def write(self, way: int, file: int, memory: mmap.mmap, count: int, offset: int | None = None) -> int:
        return self.transfer((WRITE, WRITEV, WRITE_FIXED), way, file, memory, count, offset)

    def transfer(
        self, codes: tuple[int, int, int], way: int, file: int, memory: mmap.mmap, count: int, offset: int | None
    ) -> int:
        """One read or write in one of the ways, at the file's position unless an offset is given."""
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        plain = Operation(codes[0], file, POSITION if offset is None else offset, address, count)
        vector = ctypes.create_string_buffer(VECTOR.pack(address, count), VECTOR.size)
        if way == VECTORS:
            results = self.run([plain._replace(code=codes[1], address=ctypes.addressof(vector), size=1)])
        elif way == BUFFER:
            vector = ctypes.create_string_buffer(VECTOR.pack(address, len(memory)), VECTOR.size)
            self.register(REGISTER_BUFFERS, vector, 1)
            try:
                results = self.run([plain._replace(code=codes[2])])
            finally:
                self.register(UNREGISTER_BUFFERS, None, 0)
        elif way == FILE:
            self.register(REGISTER_FILES, NUMBER.pack(file & 0xFFFFFFFF), 1)
            try:
                results = self.run([plain._replace(file=0, flags=FIXED_FILE)])
            finally:
                self.register(UNREGISTER_FILES, None, 0)
        elif way == BEHIND:
            # What is behind it is cancelled where it transfers less than it was to: by the end of the file, say.
            results = self.run([Operation(NOP, flags=LINK), plain._replace(flags=LINK), Operation(NOP)])[1:]
        else:
            results = self.run([plain._replace(flags=WORKER if way == BY_WORKER else 0)])
        if results[0] < 0:
            raise OSError(-results[0], os.strerror(-results[0]))
        return results[0]


def hindrance() -> str | None:
    """Why there is no io_uring here; None where there is."""
    try:
        Ring().close()
    except OSError as error:
        return f"io_uring_setup(2) fails with {errno.errorcode.get(error.errno or 0, error.errno)}"
    return None
