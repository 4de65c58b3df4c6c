"""The bytes of files: sizes, holes, maps, direct and vectored access. Cases of files.py."""

import ctypes
import mmap
import os
import signal
import struct
import time

from system_calls import (
    FALLOC_KEEP_SIZE,
    FALLOC_PUNCH_HOLE,
    FALLOC_ZERO_RANGE,
    LIBC,
    MIB,
    fallocate,
    get,
    libc,
    put,
    raises,
)


def empty_and_tiny_files() -> None:
    put("0")
    put("1", b"x")
    assert get("0") == b"" and get("1") == b"x"
    descriptor = os.open("0", os.O_RDWR)
    assert os.pread(descriptor, 10, 1000) == b""
    os.close(descriptor)


def truncating() -> None:
    put("f", b"x" * 10_000)
    os.truncate("f", 5)
    os.truncate("f", 10_000)
    assert get("f") == b"x" * 5 + b"\0" * 9_995
    os.truncate("f", 0)
    assert get("f") == b""
    raises("EINVAL", os.truncate, "f", -1)
    os.mkdir("d")
    raises("EISDIR", os.truncate, "d", 1)


def writing_beyond_the_end() -> None:
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, b"end", 3 * MIB)
    assert os.fstat(descriptor).st_size == 3 * MIB + 3
    assert os.pread(descriptor, 4, 3 * MIB - 4) == b"\0" * 4
    os.close(descriptor)


def sparse_file_of_5_gib() -> None:
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


def allocating_and_punching() -> None:
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


def copying_a_range() -> None:
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


def sending_a_file() -> None:
    data = os.urandom(MIB)
    put("a", data)
    source, target = os.open("a", os.O_RDONLY), os.open("b", os.O_RDWR | os.O_CREAT)
    done = 0
    while done < len(data):
        done += os.sendfile(target, source, done, len(data) - done)
    os.close(source)
    os.close(target)
    assert get("b") == data


def mapped_memory() -> None:
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


def writing_beside_a_map() -> None:
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


def mapping_changes_the_time() -> None:
    put("f", b"a" * 4096)
    os.utime("f", (1, 1))
    descriptor = os.open("f", os.O_RDWR)
    view = mmap.mmap(descriptor, 4096)
    view[0:1] = b"b"
    view.flush()
    view.close()
    os.close(descriptor)
    assert os.stat("f").st_mtime > 1_000_000_000, os.stat("f").st_mtime


def a_store_changes_the_time_by_the_close() -> None:
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


def asynchronous_direct_writes_are_seen() -> None:
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


def vectors() -> None:
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    assert os.pwritev(descriptor, [b"one", b"two", b"three"], 2) == 11
    parts = [bytearray(5), bytearray(100)]
    assert os.preadv(descriptor, parts, 0) == 13
    assert bytes(parts[0]) == b"\0\0one" and bytes(parts[1][:8]) == b"twothree"
    os.close(descriptor)


def syncing() -> None:
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, b"x")
    os.fsync(descriptor)
    os.fdatasync(descriptor)
    libc("syncfs", descriptor)
    os.close(descriptor)
    directory = os.open(".", os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def growing_is_seen_by_a_reader() -> None:
    writer = os.open("f", os.O_WRONLY | os.O_CREAT)
    reader = os.open("f", os.O_RDONLY)
    for n in range(50):
        line = f"line {n}\n".encode()
        os.write(writer, line)
        assert os.read(reader, 100) == line
    os.close(writer)
    os.close(reader)
