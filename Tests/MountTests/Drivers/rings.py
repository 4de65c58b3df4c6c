"""Files beside programs that use io_uring, and opens of every kind, one case each: python3 rings.py CASE DIRECTORY

Every case passes on ext4 as on the mount. `python3 rings.py possible` succeeds where the kernel lets programs use
io_uring.
"""

import ctypes
import mmap
import os
import random
import sys
import threading
import time
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts"))

from comparison import rings, syscalls

PIECE, COUNT = 70, 60
ROUNDS = 150
PAGE = mmap.PAGESIZE


def memory(data: bytes) -> mmap.mmap:
    buffer = mmap.mmap(-1, max(len(data), 1))
    buffer[: len(data)] = data
    return buffer


def put(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def get(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def write_stream(ring: rings.Ring, descriptor: int, way: int) -> bytes:
    """Writes pieces at the position, as a stream does."""
    expected = b""
    for number in range(COUNT):
        piece = bytes([65 + number % 26]) * PIECE
        assert ring.write(way, descriptor, memory(piece), PIECE) == PIECE
        expected += piece
    return expected


def read_stream(ring: rings.Ring, descriptor: int, way: int, limit: int) -> bytes:
    """Reads at the position until the end."""
    found, buffer = b"", mmap.mmap(-1, 1 << 16)
    while count := ring.read(way, descriptor, buffer, 4096):
        found += buffer[:count]
        assert len(found) <= limit, f"{len(found)} bytes of {limit}: there is no end"
    return found


def a_new_file_is_written_as_a_stream() -> None:
    ring = rings.Ring()
    for way in range(rings.WAYS):
        descriptor = os.open(f"f{way}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        expected = write_stream(ring, descriptor, way)
        os.close(descriptor)
        assert get(f"f{way}") == expected, (way, len(get(f"f{way}")))


def a_file_is_rewritten_after_it_was_read() -> None:
    """The last close of the reader comes a moment before; its release is on its way."""
    ring = rings.Ring()
    put("f", b"old" * 1000)
    for number in range(ROUNDS):
        assert get("f")
        descriptor = os.open("f", os.O_WRONLY | os.O_TRUNC)
        expected = write_stream(ring, descriptor, number % rings.WAYS)
        os.close(descriptor)
        found = get("f")
        assert found == expected, (number, len(found))


def a_file_is_read_to_its_end() -> None:
    ring = rings.Ring()
    data = random.Random(1).randbytes(20_000)
    put("f", data)
    for flags in (os.O_RDONLY, os.O_RDWR):
        for way in range(rings.WAYS):
            descriptor = os.open("f", flags)
            buffer = mmap.mmap(-1, 1 << 20)
            count = ring.read(way, descriptor, buffer, 1 << 20, 0)
            assert count == len(data) and buffer[:count] == data, (flags, way, count)
            assert read_stream(ring, descriptor, way, len(data)) == data, (flags, way)
            os.close(descriptor)


def a_file_that_is_written_is_read_by_others() -> None:
    """Who comes later has what the first has."""
    ring = rings.Ring()
    first = os.open("f", os.O_RDWR | os.O_CREAT)
    expected = write_stream(ring, first, rings.PLAIN)
    for flags in (os.O_RDONLY, os.O_RDWR):
        later = os.open("f", flags)
        for way in range(rings.WAYS):
            os.lseek(later, 0, os.SEEK_SET)
            assert read_stream(ring, later, way, len(expected)) == expected, (flags, way)
        os.close(later)
    os.close(first)


class Map:
    """Unlike Python's own, it keeps no copy of the descriptor."""

    def __init__(self, descriptor: int, size: int, writes: bool) -> None:
        protection = syscalls.PROT_READ | (syscalls.PROT_WRITE if writes else 0)
        self.address, self.size = syscalls.mmap(descriptor, size, protection, 0), size

    def load(self, at: int, count: int) -> bytes:
        return ctypes.string_at(self.address + at, count)

    def store(self, at: int, data: bytes) -> None:
        ctypes.memmove(self.address + at, data, len(data))

    def close(self) -> None:
        syscalls.munmap(self.address, self.size)


def a_map_of_a_closed_file_shows_stores() -> None:
    """A map for reading outlives its descriptor; who stores into the file then is the first to open it."""
    size = 3 * PAGE
    for number in range(20):
        put("f", b"a" * size)
        descriptor = os.open("f", os.O_RDONLY)
        seen = Map(descriptor, size, False)
        os.close(descriptor)
        assert seen.load(0, 1) == b"a" and seen.load(5000, 1) == b"a"
        # Its release is sent after the close.
        time.sleep(0.01)
        descriptor = os.open("f", os.O_RDWR)
        stored = Map(descriptor, size, True)
        stored.store(5000, b"bcd")
        assert seen.load(5000, 3) == b"bcd", (number, seen.load(5000, 3))
        os.pwrite(descriptor, b"efg", 9000)
        assert seen.load(9000, 3) == b"efg" and stored.load(9000, 3) == b"efg", number
        stored.close()
        os.close(descriptor)
        assert get("f")[5000:5003] == b"bcd"
        seen.close()
        os.unlink("f")


def opens_of_every_kind_succeed() -> None:
    """Readers, writers and maps come and go in every order; no open fails, and everybody sees what was written last."""
    size, at, failures = 4 * PAGE, 3 * PAGE - 4, []
    locks = {f"f{number}": threading.Lock() for number in range(3)}
    values = dict.fromkeys(locks, bytes(8))
    for name in locks:
        put(name, bytes(size))

    def work(seed: Any) -> None:
        chance, maps, files = random.Random(seed), [], []
        try:
            for number in range(300):
                name, flags = chance.choice(list(locks)), chance.choice([os.O_RDONLY, os.O_RDONLY, os.O_RDWR])
                descriptor = os.open(name, flags)
                view = Map(descriptor, size, flags == os.O_RDWR)
                with locks[name]:
                    place = (seed, number, name, flags)
                    assert os.pread(descriptor, 8, at) == values[name], (place, "read")
                    assert view.load(at, 8) == values[name], (place, "map")
                    if flags == os.O_RDWR:
                        values[name] = chance.randbytes(8)
                        if chance.random() < 0.5:
                            view.store(at, values[name])
                        else:
                            os.pwrite(descriptor, values[name], at)
                        assert os.pread(descriptor, 8, at) == values[name], (place, "own")
                        assert view.load(at, 8) == values[name], (place, "own map")
                maps.append(view)
                files.append(descriptor)
                while len(maps) > chance.randrange(3):
                    maps.pop(chance.randrange(len(maps))).close()
                while len(files) > chance.randrange(3):
                    os.close(files.pop(chance.randrange(len(files))))
        except (AssertionError, OSError) as problem:
            failures.append(repr(problem))
        for view in maps:
            view.close()
        for descriptor in files:
            os.close(descriptor)

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def main() -> None:
    case = sys.argv[1]
    if case == "possible":
        sys.exit(rings.hindrance())
    os.chdir(sys.argv[2])
    globals()[case]()


if __name__ == "__main__":
    main()
