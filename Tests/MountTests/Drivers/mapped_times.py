"""Stores into a map whose time is put back: python3 mapped_times.py alone|beside DIRECTORY OTHER DEWPOINT

As VeraCrypt, and `rsync --inplace` with maps, do: open, map, store, unmap, fsync, set the old times, close. OTHER is
the mount of another device. `beside`: another process reads the file meanwhile, so that with pass-through the kernel
passes the map on to the backing file and tells nobody of the store.
"""

import ctypes
import itertools
import mmap
import os
import subprocess
import sys
import time

SIZE = 1 << 16
DELAYS = (0, 0.001, 0.01, 0.03, 0.1, 0.2, 0.5, 0.9, 1)
LIMIT_SECONDS = 60

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

how, directory, other, dewpoint = sys.argv[1:5]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([dewpoint, *arguments], timeout=LIMIT_SECONDS, capture_output=True, text=True)


def is_uploaded(path: str) -> bool:
    return os.getxattr(path, "user.dewpoint.isUploaded") == b"1"


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def store(path: str, delay: float, order: str) -> tuple[bool, float]:
    """Stores into the file, and puts its times back; `order` says in which way.

    Returns whether the file is then said to be uploaded, and how many seconds after the store.
    """
    old = os.stat(path)
    reader = os.open(path, os.O_RDONLY) if how == "beside" else None
    file = os.open(path, os.O_RDWR)
    # Not Python's own, which copies the descriptor: the close of the copy reports the store.
    address = LIBC.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, 0)
    assert address not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
    begun = time.monotonic()
    ctypes.memmove(address, b"store", 5)
    ctypes.memmove(address + SIZE - 5, b"store", 5)
    if order == "mapped":
        os.close(file)
        time.sleep(delay)
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    LIBC.munmap(address, SIZE)
    if order != "mapped":
        if order == "synced":
            os.fsync(file)
        time.sleep(delay)
        os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))
        os.close(file)
    if reader is not None:
        os.close(reader)
    return is_uploaded(path), time.monotonic() - begun


cases = list(itertools.product(DELAYS, ("synced", "plain", "mapped")))
paths = {case: os.path.join(directory, f"{case[1]} {case[0]}") for case in cases}
for path in paths.values():
    with open(path, "wb") as file:
        file.write(b"old" * (SIZE // 3) + b"o")
    os.utime(path, (1_500_000_000, 1_500_000_000))
assert run("sync", "--wait", directory).returncode == 0
assert all(map(is_uploaded, paths.values()))
stored = {case: store(paths[case], *case) for case in cases}
# An upload takes a second at least: nobody has these bytes but this machine.
early = [(case, seconds) for case, (uploaded, seconds) in stored.items() if uploaded and seconds < 0.5]
assert not early, f"said to be uploaded at once: {early}"
assert sum(seconds < 0.5 for _, seconds in stored.values()) >= 3, "this machine is too slow to tell"
expected = b"store" + (b"old" * (SIZE // 3) + b"o")[5:-5] + b"store"
# A file that has just been closed is uploaded shortly after.
deadline = time.monotonic() + LIMIT_SECONDS
while not all(map(is_uploaded, paths.values())):
    assert time.monotonic() < deadline, [case for case in cases if not is_uploaded(paths[case])]
    assert run("sync", "--wait", directory).returncode == 0
for path in paths.values():
    while (result := run("evict", path)).returncode != 0:
        assert time.monotonic() < deadline, (path, result.stderr)
        time.sleep(0.1)
lost = [case for case in cases if read(paths[case]) != expected]
assert not lost, f"lost here: {lost}"
assert run("sync", "--wait", other).returncode == 0
lost = [case for case in cases if read(paths[case].replace(directory, other, 1)) != expected]
assert not lost, f"never came to the other device: {lost}"
kept = [case for case in cases if case[1] != "mapped" and os.stat(paths[case]).st_mtime != 1_500_000_000]
assert not kept, f"the time was not put back: {kept}"
