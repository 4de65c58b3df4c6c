"""Does one piece of work on a file system, times it, and checks what it read.

    worker.py VERB ARGUMENTS      arguments and result are JSON

Runs in a process of its own, which the caller can kill when a mount stops answering. Only the work is timed: no start
of an interpreter, and no hashing, which comes after the clock has stopped. All times are seconds of the monotonic
clock.
"""

import hashlib
import json
import mmap
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

BLOCK_BYTE_COUNT = 1 << 20
PAGE_BYTE_COUNT = 4096
POLL_SECONDS = 0.001

Report = dict[str, Any]
Files = list[tuple[str, int, str]]


class Wrong(Exception):
    """The file system gave something else than was put there."""


def digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def demand(expected: object, found: object, what: str) -> None:
    if expected != found:
        raise Wrong(f"{what}: expected {expected}, found {found}")


def fill(descriptor: int, view: memoryview) -> int:
    """Reads a file into a buffer with reads of 1 MiB; returns how much came."""
    count = 0
    while count < len(view):
        step = os.readv(descriptor, [view[count : count + BLOCK_BYTE_COUNT]])
        if step == 0:
            break
        count += step
    return count


def buffer(size: int) -> memoryview:
    """Memory that is there already, so that no page fault falls into the time."""
    area = mmap.mmap(-1, max(size, 1))
    for start in range(0, size, PAGE_BYTE_COUNT):
        area[start] = 1
    return memoryview(area)[:size]


def hot_read(path: str, size: int, sha256: str, passes: int) -> Report:
    """Reads a file again and again; every pass opens it anew. The bytes are hashed in a pass before and one behind."""
    block = buffer(BLOCK_BYTE_COUNT)

    def check() -> None:
        hasher, count = hashlib.sha256(), 0
        descriptor = os.open(path, os.O_RDONLY)
        while step := os.readv(descriptor, [block]):
            hasher.update(block[:step])
            count += step
        os.close(descriptor)
        demand((size, sha256), (count, hasher.hexdigest()), path)

    check()
    seconds = []
    for _ in range(passes):
        start = time.perf_counter()
        descriptor, count = os.open(path, os.O_RDONLY), 0
        while step := os.readv(descriptor, [block]):
            count += step
        os.close(descriptor)
        seconds.append(time.perf_counter() - start)
        demand(size, count, path)
    check()
    return {"seconds": statistics.median(seconds), "passes": seconds}


def check_pages(path: str, source: str, pages: int) -> Report:
    """Reads pages at random places of a file, and compares them with those of its source."""
    count = os.path.getsize(source) // PAGE_BYTE_COUNT
    with open(path, "rb", buffering=0) as ours, open(source, "rb", buffering=0) as theirs:
        for _ in range(pages):
            offset = random.randrange(count) * PAGE_BYTE_COUNT
            if os.pread(ours.fileno(), PAGE_BYTE_COUNT, offset) != os.pread(theirs.fileno(), PAGE_BYTE_COUNT, offset):
                raise Wrong(f"{path}: other bytes at {offset}")
    return {}


def cold_read(path: str, size: int, sha256: str) -> Report:
    """Reads a whole file once, from its start."""
    view = buffer(size)
    start = time.perf_counter()
    descriptor = os.open(path, os.O_RDONLY)
    count = os.readv(descriptor, [view[:PAGE_BYTE_COUNT]])
    first = time.perf_counter() - start
    count += fill(descriptor, view[count:])
    os.close(descriptor)
    seconds = time.perf_counter() - start
    demand((size, sha256), (count, digest(view)), path)
    return {"seconds": seconds, "firstByte": first}


def read_many(directory: str, files: Files, readers: int) -> Report:
    """Reads whole files with several readers at once; `files` is a list of name, size and SHA-256."""
    views = [buffer(size) for _, size, _ in files]
    failures, numbers = [], iter(range(len(files)))
    lock, gate = threading.Lock(), threading.Barrier(readers + 1)

    def read() -> None:
        gate.wait()
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                descriptor = os.open(os.path.join(directory, files[number][0]), os.O_RDONLY)
                demand(files[number][1], fill(descriptor, views[number]), files[number][0])
                os.close(descriptor)
            except (OSError, Wrong) as problem:
                failures.append(str(problem))

    threads = [threading.Thread(target=read) for _ in range(readers)]
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    if failures:
        raise Wrong(f"{len(failures)} of {len(files)} files: {failures[0]}")
    for (name, _, sha256), view in zip(files, views):
        demand(sha256, digest(view), name)
    return {"seconds": seconds}


def first_byte(path: str, sha256: str) -> Report:
    """How long until the first 4 KiB of a file are there."""
    view = buffer(PAGE_BYTE_COUNT)
    start = time.perf_counter()
    descriptor = os.open(path, os.O_RDONLY)
    count = os.readv(descriptor, [view])
    seconds = time.perf_counter() - start
    os.close(descriptor)
    demand(sha256, digest(view[:count]), path)
    return {"seconds": seconds}


def list_directory(path: str, expected: int | None) -> Report:
    """Lists a directory, with the kind of each entry, as ls does."""
    start = time.perf_counter()
    with os.scandir(path) as entries:
        names = [entry.name for entry in entries]
    seconds = time.perf_counter() - start
    if expected is not None:
        demand(expected, len(names), f"entries of {path}")
    return {"seconds": seconds, "count": len(names)}


def find(path: str, files: int, size: int) -> Report:
    """Has find(1) look at every item below a path: it stats each. Counts and sizes must be those of the source."""
    start = time.perf_counter()
    output = subprocess.run(["find", path, "-printf", "%y %s\\n"], stdin=subprocess.DEVNULL, capture_output=True)
    seconds = time.perf_counter() - start
    if output.returncode:
        raise Wrong(output.stderr.decode(errors="replace").strip().splitlines()[-1])
    found = [line.split() for line in output.stdout.splitlines()]
    sizes = [int(one) for kind, one in found if kind == b"f"]
    demand((files, size), (len(sizes), sum(sizes)), "files found and their bytes")
    return {"seconds": seconds, "items": len(found)}


def rename(source: str, target: str) -> Report:
    start = time.perf_counter()
    os.rename(source, target)
    return {"seconds": time.perf_counter() - start}


def copy(source: str, target: str) -> Report:
    """Copies a tree as a user does."""
    start = time.perf_counter()
    output = subprocess.run(["cp", "-r", "--", source, target], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.perf_counter() - start
    if output.returncode:
        raise Wrong(output.stderr.decode(errors="replace").strip().splitlines()[-1])
    return {"seconds": seconds}


def check_sample(root: str, files: Files) -> Report:
    """Reads some files; `files` is a list of path, size and SHA-256."""
    for path, size, sha256 in files:
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        demand((size, sha256), (len(data), digest(data)), path)
    return {}


def see(writer: str, reader: str, rounds: int, limit: float) -> Report:
    """How long after a close on one mount the other one gives the same bytes: of a new file, and of one that
    changes."""
    created: list[float | None] = []
    changed: list[float | None] = []
    for number in range(rounds):
        name = f"seen {os.getpid()} {number}"
        for times in (created, changed):
            if None in times:
                # It was too slow once, and would take as long again; without it nothing changes.
                continue
            # Of another size each time, for systems that look at sizes and whole seconds only.
            data = os.urandom(2000 + 2 * number + (times is changed))
            with open(os.path.join(writer, name), "wb") as file:
                file.write(data)
            start = time.perf_counter()
            while True:
                try:
                    with open(os.path.join(reader, name), "rb") as file:
                        found = file.read()
                except FileNotFoundError:
                    found = None
                seconds = time.perf_counter() - start
                if found == data:
                    times.append(seconds)
                    break
                if seconds > limit:
                    times.append(None)
                    break
                time.sleep(POLL_SECONDS)
            # So that the next write falls anywhere between two looks of the reader.
            time.sleep(random.uniform(0.2, 1.2))
    return {"created": created, "changed": changed}


def raw_get(
    environment: Mapping[str, str], bucket: str, key: str, size: int, sha256: str, width: int, part: int, processes: int
) -> Report:
    """Reads an object with ranged GETs on `width` connections at once: what server and machine can do without a file
    system."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.dont_write_bytecode = True
    from benchmark.store import Store

    area = mmap.mmap(-1, size)
    view = memoryview(area)
    for place in range(0, size, PAGE_BYTE_COUNT):
        area[place] = 0
    reading, writing = os.pipe()
    go, release = os.pipe()

    def fetch(numbers: Iterator[int], lock: threading.Lock, failures: list[Exception]) -> None:
        store = Store(environment)
        store.list(bucket, prefix=key, limit=1)
        os.write(writing, b".")
        os.read(go, 1)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            start = number * part
            try:
                store.get_into(bucket, key, start, view[start : min(start + part, size)])
            except Exception as problem:
                failures.append(problem)
                return

    children = []
    for process in range(processes):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(release)
                # Every process takes every so many-th part, and its threads take turns at them.
                numbers = iter(range(process, (size + part - 1) // part, processes))
                lock = threading.Lock()
                failures: list[Exception] = []
                threads = [
                    threading.Thread(target=fetch, args=(numbers, lock, failures)) for _ in range(width // processes)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                status = 1 if failures else 0
            finally:
                os._exit(status)
        children.append(child)
    os.close(go)
    for _ in range(width // processes * processes):
        os.read(reading, 1)
    start = time.perf_counter()
    os.close(release)
    for child in children:
        _, status = os.waitpid(child, 0)
        if status:
            raise Wrong("a raw GET failed")
    seconds = time.perf_counter() - start
    demand(sha256, digest(view), key)
    return {"seconds": seconds}


class NamedFiles:
    """Calls on the files of one directory, which has what an operation needs."""

    block = b"x" * 100
    page = b"y" * PAGE_BYTE_COUNT
    pages = 64

    def __init__(self, root: str, operation: str, count: int) -> None:
        self.root, self.operation, self.count = root, operation, count

    def path(self, kind: str, number: int) -> str:
        return os.path.join(self.root, f"{kind}{number}")

    def write(self, path: str, flags: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | flags, 0o644)
        os.write(descriptor, self.block)
        os.close(descriptor)

    def prepare(self) -> None:
        os.mkdir(self.root)
        if self.operation not in ("create", "mkdir", "fsync", "pwrite", "pread"):
            for number in range(self.count):
                self.write(self.path("f", number), os.O_CREAT)
        with open(self.path("one", 0), "wb") as file:
            file.write(self.page * self.pages)

    def change(self) -> Report:
        one = os.open(self.path("one", 0), os.O_RDWR)
        call = getattr(self, f"do_{self.operation}")
        start = time.perf_counter()
        for number in range(self.count):
            call(number, one)
        seconds = time.perf_counter() - start
        os.close(one)
        return {"seconds": seconds / self.count}

    def do_create(self, number: int, _: int) -> None:
        self.write(self.path("f", number), os.O_CREAT | os.O_EXCL)

    def do_mkdir(self, number: int, _: int) -> None:
        os.mkdir(self.path("d", number))

    def do_rename(self, number: int, _: int) -> None:
        os.rename(self.path("f", number), self.path("g", number))

    def do_chmod(self, number: int, _: int) -> None:
        os.chmod(self.path("f", number), 0o600)

    def do_utime(self, number: int, _: int) -> None:
        os.utime(self.path("f", number), (1, number))

    def do_save(self, number: int, _: int) -> None:
        self.write(self.path("t", number), os.O_CREAT | os.O_EXCL)
        os.rename(self.path("t", number), self.path("f", number))

    def do_rewrite(self, number: int, _: int) -> None:
        self.write(self.path("f", number), os.O_TRUNC)

    def do_fsync(self, number: int, one: int) -> None:
        self.do_pwrite(number, one)
        os.fsync(one)

    def do_open(self, number: int, _: int) -> None:
        os.close(os.open(self.path("f", number), os.O_RDONLY))

    def do_unlink(self, number: int, _: int) -> None:
        os.unlink(self.path("f", number))

    def do_pwrite(self, number: int, one: int) -> None:
        os.pwrite(one, self.page, number % self.pages * PAGE_BYTE_COUNT)

    def do_pread(self, number: int, one: int) -> None:
        demand(PAGE_BYTE_COUNT, len(os.pread(one, PAGE_BYTE_COUNT, number % self.pages * PAGE_BYTE_COUNT)), "pread")


def prepare_names(root: str, operation: str, count: int) -> Report:
    NamedFiles(root, operation, count).prepare()
    return {}


def change_names(root: str, operation: str, count: int) -> Report:
    return NamedFiles(root, operation, count).change()


VERBS = {
    verb.__name__: verb
    for verb in (
        hot_read, check_pages, cold_read, read_many, first_byte, list_directory, find, rename, copy, check_sample, see,
        raw_get, prepare_names, change_names,
    )
}  # fmt: skip


def main() -> None:
    try:
        result = VERBS[sys.argv[1]](**json.loads(sys.argv[2]))
    except (Wrong, OSError) as problem:
        result = {"failure": str(problem)}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
