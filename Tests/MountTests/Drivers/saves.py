"""Saves a file atomically in a loop, beside processes that use its name in every way: no call may fail, no byte be
torn.

    python3 saves.py SECONDS DIRECTORY [OTHER] [--user ID]

OTHER is the same directory on another device, where the file is only read. With --user, half of the processes on
DIRECTORY run as that user, whom the mount must let in.

Every version of the file begins with SIZE bytes that name the version in each of its lines; after them there may be
what was appended. Prints how often each call was made, and fails with the first error of each.
"""

import argparse
import collections
import errno
import mmap
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LINE = 64
SIZE = 64 * LINE
NAME = "settings"


def payload(version: int) -> bytes:
    return b"".join(f"{version:>20} {line:>20} {'.' * 21}\n".encode() for line in range(SIZE // LINE))


def check(data: bytes) -> None:
    """That the bytes are one version's, whole."""
    assert len(data) >= SIZE, f"{len(data)} bytes"
    version = int(data[:20])
    assert data[:SIZE] == payload(version), f"a mixture, which begins as version {version}"
    # A read that a truncation and then an append overtake may show a zero for the appended byte: the kernel
    # (filemap_read) looks at the size after it has taken the page, which the truncation has emptied.
    assert data[SIZE:].strip(b"a\0") == b"", f"{data[SIZE:][:40]!r} was never appended"


# What others do with the name ----------------------------------------------------------------------------------------


def read() -> None:
    with open(NAME, "rb", buffering=0) as file:
        check(file.read(SIZE))


def read_by_another_descriptor() -> None:
    """As for /dev/stdin: the file that a descriptor has open is opened anew, with a name or without."""
    first = os.open(NAME, os.O_RDONLY)
    try:
        with open(f"/proc/self/fd/{first}", "rb", buffering=0) as file:
            check(file.read(SIZE))
    finally:
        os.close(first)


def read_by_path() -> None:
    """O_PATH descriptors hold the file without having it open."""
    first = os.open(NAME, os.O_PATH)
    try:
        time.sleep(0.002)
        assert os.fstat(first).st_size >= SIZE
        with open(f"/proc/self/fd/{first}", "rb", buffering=0) as file:
            check(file.read(SIZE))
    finally:
        os.close(first)


def map_it() -> None:
    with open(NAME, "rb") as file, mmap.mmap(file.fileno(), SIZE, prot=mmap.PROT_READ) as memory:
        check(memory[:])


def stat() -> None:
    assert os.stat(NAME).st_size >= SIZE
    assert os.access(NAME, os.R_OK)


def list_directory() -> None:
    assert NAME in os.listdir("."), "not listed"


def get_attribute() -> None:
    try:
        os.getxattr(NAME, "user.colour")
    except OSError as error:
        # A version that has none.
        if error.errno != errno.ENODATA:
            raise
    os.listxattr(NAME)


def copy() -> None:
    data = subprocess.run(["cat", NAME], check=True, capture_output=True).stdout
    check(data)


def tar() -> None:
    result = subprocess.run(["tar", "-cf", "-", NAME], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    # 1: "file changed as we read it".
    assert result.returncode in (0, 1), result.stderr.decode()


def change_mode() -> None:
    os.chmod(NAME, 0o666)


def change_times() -> None:
    os.utime(NAME)


def set_attribute() -> None:
    os.setxattr(NAME, "user.colour", b"green")


def truncate() -> None:
    os.truncate(NAME, SIZE)


def append() -> None:
    descriptor = os.open(NAME, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(descriptor, b"a")
    finally:
        os.close(descriptor)


READERS = [read, read_by_another_descriptor, read_by_path, map_it, stat, list_directory, get_attribute, copy, tar]
CHANGERS = [change_mode, change_times, set_attribute, truncate, append]


# Processes -----------------------------------------------------------------------------------------------------------


def save(version: int) -> None:
    temporary = f".{NAME}.tmp"
    with open(temporary, "wb", buffering=0) as file:
        file.write(payload(version))
    os.chmod(temporary, 0o666)
    os.rename(temporary, NAME)


def saver(directory: str, until: float, results: Any) -> None:
    os.chdir(directory)
    count = 0
    while time.monotonic() < until:
        count += 1
        save(count)
        # Not without a pause: others are to see most versions.
        time.sleep(0.001 if count % 50 else 0.05)
    results.put(("save", "-", count, None))


def worker(
    directory: str, where: str, action: Callable[[], None], user: int | None, pause: float, until: float, results: Any
) -> None:
    os.chdir(directory)
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    count = 0
    failures: collections.Counter[str] = collections.Counter()
    while time.monotonic() < until:
        count += 1
        try:
            action()
        except OSError as error:
            failures[errno.errorcode[error.errno or 0]] += 1
        except (AssertionError, ValueError, subprocess.CalledProcessError) as error:
            failures[f"{error} {getattr(error, 'stderr', None) or ''}".strip()] += 1
        time.sleep(pause)
    results.put((action.__name__, where, count, failures))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float)
    parser.add_argument("directory")
    parser.add_argument("other", nargs="?")
    parser.add_argument("--user", type=int)
    arguments = parser.parse_args()
    os.chdir(arguments.directory)
    if arguments.user:
        # The user changes times and attributes of what root saves.
        os.chmod(".", 0o777)
    save(0)
    deadline = time.monotonic() + 60
    while arguments.other and not os.path.exists(os.path.join(arguments.other, NAME)):
        assert time.monotonic() < deadline, "the file does not reach the other device"
        time.sleep(0.1)
    until = time.monotonic() + arguments.seconds
    results: multiprocessing.Queue[Any] = multiprocessing.Queue()
    work: list[tuple[Callable[..., None], tuple[Any, ...]]] = [(saver, (arguments.directory, until, results))]
    for number, action in enumerate(READERS + CHANGERS):
        # Only the owner may change mode and times.
        user = arguments.user if number % 2 and action not in (change_mode, change_times, set_attribute) else None
        work.append((worker, (arguments.directory, "user" if user else "here", action, user, 0.002, until, results)))
    if arguments.other:
        work += [(worker, (arguments.other, "other", action, None, 0.01, until, results)) for action in READERS]
    processes = [multiprocessing.Process(target=target, args=args) for target, args in work]
    for process in processes:
        process.start()
    # From the queue first: a process does not end before its result is taken.
    outcomes = [results.get(timeout=arguments.seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    failed = False
    for action, where, count, failures in sorted(outcomes, key=lambda outcome: (outcome[1], outcome[0])):
        print(f"{where:6} {action:28} {count:7} {dict(failures) if failures else ''}")
        failed = failed or bool(failures) or count == 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
