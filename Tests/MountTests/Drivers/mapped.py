"""Stores into a mapping, before and after uploads: python3 mapped.py closed|open DIRECTORY OTHER DEWPOINT

OTHER is the mount of another device. `closed`: the file is closed while it is mapped, as linkers do.
"""

import ctypes
import mmap
import os
import subprocess
import sys
import time

SIZE = 1 << 20
BUSY = 75
LIMIT_SECONDS = 60

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.msync.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MS_SYNC = 4

how, directory, other, dewpoint = sys.argv[1:5]
path, copy = os.path.join(directory, "mapped"), os.path.join(other, "mapped")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([dewpoint, *arguments], timeout=LIMIT_SECONDS, stderr=subprocess.PIPE, text=True)


def store(letter: str) -> None:
    ctypes.memset(address, ord(letter), SIZE)


def expect_there(letter: str) -> None:
    """Waits until the other device has the last store, although the file has not been closed."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            with open(copy, "rb") as file:
                found = file.read()
        except FileNotFoundError:
            found = b""
        if found == letter.encode() * SIZE:
            return
        assert time.monotonic() < deadline, f"{letter}: the other device has {found[:4]!r}"
        time.sleep(0.2)


descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
os.ftruncate(descriptor, SIZE)
address = LIBC.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
assert address not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
if how == "closed":
    os.close(descriptor)
else:
    # The end of any process that also has the file open is reported as a close.
    os.close(os.dup(descriptor))
for letter in "ABC":
    store(letter)
    # Without this, the kernel keeps the store for half a minute; with pass-through, it never reports the store.
    assert LIBC.msync(address, SIZE, MS_SYNC) == 0
    expect_there(letter)
refused = run("evict", path)
assert refused.returncode == BUSY, refused
# Just before and just after an upload, with nothing that would report the store.
for letter in "DEFGH":
    store(letter)
    assert run("sync", "--wait", directory).returncode == 0
store("I")
LIBC.munmap(address, SIZE)
if how == "open":
    os.close(descriptor)
assert run("sync", "--wait", directory).returncode == 0
deadline = time.monotonic() + LIMIT_SECONDS
while run("evict", path).returncode != 0:
    assert time.monotonic() < deadline
    time.sleep(0.1)
with open(path, "rb") as file:
    found = file.read()
assert found == b"I" * SIZE, found[:4]
expect_there("I")
