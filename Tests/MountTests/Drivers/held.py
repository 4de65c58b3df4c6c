"""Holds files that another device replaces or removes: python3 held.py DIRECTORY-OF-A DIRECTORY-OF-B DEWPOINT

B holds them by O_PATH descriptors, which the kernel alone knows of, and where it may by a mount of the file.
"""

import ctypes
import os
import subprocess
import sys
import time

from waiting import eventually

SIZE = 300_000
LIBC = ctypes.CDLL(None, use_errno=True)


def get(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def put(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def sync(*directories: str) -> None:
    for directory in directories:
        subprocess.run([dewpoint, "sync", directory, "--wait"], check=True, timeout=60)


a, b, dewpoint = sys.argv[1:4]
names = ["replaced", "removed", "placeholder"]
data = {name: os.urandom(SIZE) for name in names}
for name in names:
    put(f"{a}/{name}", data[name])
sync(a, b)
# The placeholder's bytes are still only in the container.
for name in names[:2]:
    assert get(f"{b}/{name}") == data[name]
held = {name: os.open(f"{b}/{name}", os.O_PATH) for name in names}
paths = [f"/proc/self/fd/{held[name]}" for name in names]
if os.geteuid() == 0:
    point = os.path.join(os.path.dirname(b), "point")
    put(point, b"")
    # In a mount namespace of its own: nothing is left behind.
    assert LIBC.unshare(0x00020000) == 0
    assert LIBC.mount(b"none", b"/", None, 0x4000 | 0x40000, None) == 0
    assert LIBC.mount(f"{b}/replaced".encode(), point.encode(), None, 0x1000, None) == 0

put(f"{a}/new", b"new")
os.rename(f"{a}/new", f"{a}/replaced")
os.unlink(f"{a}/removed")
os.unlink(f"{a}/placeholder")
sync(a, b)
eventually(lambda: get(f"{b}/replaced") == b"new", "the new version does not arrive")
eventually(lambda: sorted(os.listdir(b)) == ["replaced"], f"{os.listdir(b)}")
time.sleep(2)
for _ in range(2):
    for name, path in zip(names, paths):
        assert get(path) == data[name], name
        assert os.stat(path).st_size == SIZE, name
if os.geteuid() == 0:
    assert get(point) == data["replaced"]
    assert get(f"{b}/replaced") == b"new"
    assert LIBC.umount2(point.encode(), 0) == 0
state = os.path.join(os.path.dirname(b), f"state-{os.path.basename(b)}", "staging", "removed")
# What was downloaded for a read gets there shortly after the read has its bytes.
eventually(lambda: len(os.listdir(state)) >= 3, f"{os.listdir(state)} is all that is kept")
for descriptor in held.values():
    os.close(descriptor)
# Deleted when the kernel forgets them, for which nobody has to wait.
eventually(lambda: not os.listdir(state), f"{os.listdir(state)} are left")
