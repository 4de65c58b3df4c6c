"""Advisory locks. Cases of files.py."""

import fcntl
import os
import select
import signal
import struct
import time
from collections.abc import Callable
from typing import NoReturn

from system_calls import in_child, put, raises, status_of


def record_locks() -> None:
    put("f", b"x" * 100)
    descriptor = os.open("f", os.O_RDWR)
    fcntl.lockf(descriptor, fcntl.LOCK_EX, 10, 0)

    def other() -> None:
        theirs = os.open("f", os.O_RDWR)
        raises("EAGAIN", fcntl.lockf, theirs, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
        fcntl.lockf(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 10)
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 10, 0)
        kind, _, start, length, pid = struct.unpack("hhqqi4x", fcntl.fcntl(theirs, fcntl.F_GETLK, asked))
        assert (kind, start, length, pid) == (fcntl.F_WRLCK, 0, 10, os.getppid()), (kind, start, length, pid)

    assert status_of(in_child(other)) == 0
    os.close(os.open("f", os.O_RDONLY))  # closing any descriptor of the file releases a process's record locks

    def free() -> None:
        fcntl.lockf(os.open("f", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 0)

    assert status_of(in_child(free)) == 0


def record_lock_waits_and_is_handed_on() -> None:
    put("f")
    descriptor = os.open("f", os.O_RDWR)
    fcntl.lockf(descriptor, fcntl.LOCK_EX)
    ready, done = os.pipe()

    def waits() -> None:
        theirs = os.open("f", os.O_RDWR)
        os.write(done, b"r")
        fcntl.lockf(theirs, fcntl.LOCK_EX)
        os.write(done, b"g")

    child = in_child(waits)
    assert os.read(ready, 1) == b"r"
    assert select.select([ready], [], [], 0.3)[0] == []
    fcntl.lockf(descriptor, fcntl.LOCK_UN)
    assert select.select([ready], [], [], 5)[0] == [ready] and os.read(ready, 1) == b"g"
    assert status_of(child) == 0


def waiting_for_a_lock_can_be_interrupted() -> None:
    put("f")
    for lock in (lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX), lambda fd: fcntl.flock(fd, fcntl.LOCK_EX)):
        descriptor = os.open("f", os.O_RDWR)
        lock(descriptor)

        def waits(lock: Callable[[int], object] = lock) -> int:
            class Alarmed(Exception):
                pass

            def alarmed(*_: object) -> NoReturn:
                raise Alarmed

            signal.signal(signal.SIGALRM, alarmed)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            try:
                lock(os.open("f", os.O_RDWR))
            except Alarmed:
                assert time.monotonic() - start < 10
                return 0
            return 1

        child = in_child(waits)
        assert status_of(child) == 0

        def never(lock: Callable[[int], object] = lock) -> None:
            lock(os.open("f", os.O_RDWR))

        child = in_child(never)
        time.sleep(0.2)
        os.kill(child, signal.SIGKILL)
        start = time.monotonic()
        assert status_of(child) == -signal.SIGKILL and time.monotonic() - start < 10
        os.close(descriptor)


def whole_file_locks() -> None:
    put("f")
    first, second = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.flock(first, fcntl.LOCK_SH)
    fcntl.flock(second, fcntl.LOCK_SH)
    raises("EAGAIN", fcntl.flock, first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(second)
    fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def shares_the_description() -> None:
        fcntl.flock(first, fcntl.LOCK_UN)

    assert status_of(in_child(shares_the_description)) == 0
    fcntl.flock(os.open("f", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)


def locks_of_an_open_file_description() -> None:
    put("f")
    first, second = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    fcntl.fcntl(first, 37, whole)  # F_OFD_SETLK
    raises("EAGAIN", fcntl.fcntl, second, 37, whole)
    os.close(os.open("f", os.O_RDONLY))
    raises("EAGAIN", fcntl.fcntl, second, 37, whole)
    os.close(first)
    fcntl.fcntl(second, 37, whole)
