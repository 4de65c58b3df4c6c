"""One device renames directories that a program uses on the other: python3 standing.py DIRECTORY-OF-A DIRECTORY-OF-B"""

import functools
import os
import sys
import time
from collections.abc import Callable


def is_listed(directory: str, name: str) -> bool:
    return name in os.listdir(directory)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except FileNotFoundError:
            pass
        time.sleep(0.05)
    raise AssertionError("the change did not reach the other device")


a, b = sys.argv[1:3]
os.makedirs(f"{a}/d/sub")
os.mkdir(f"{a}/other")
for name, text in ("d/f", "text"), ("d/sub/g", "inner"):
    with open(f"{a}/{name}", "w", encoding="utf-8") as file:
        file.write(text)
until(lambda: os.path.exists(f"{b}/d/sub/g") and os.path.exists(f"{b}/d/f") and os.path.exists(f"{b}/other"))
os.chdir(f"{b}/d")
directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
inode = os.stat(".").st_ino
expected = {"f", "sub"}
for old, new in ("d", "e"), ("e", "other/e"):
    os.rename(f"{a}/{old}", f"{a}/{new}")
    place, name = os.path.split(f"{b}/{new}")
    until(functools.partial(is_listed, place, name))
    # The kernel is notified after the names have appeared.
    time.sleep(0.3)
    assert set(os.listdir(".")) == expected, os.listdir(".")
    assert set(os.listdir(directory)) == expected, os.listdir(directory)
    with open("f", encoding="utf-8") as file:
        assert file.read() == "text"
    with open(f"made-{len(expected)}", "w", encoding="utf-8") as file:
        file.write("new")
    expected.add(f"made-{len(expected)}")
    os.close(os.open("sub/g", os.O_RDONLY, dir_fd=directory))
    assert os.stat(".").st_nlink == 3, os.stat(".").st_nlink
    assert os.stat(f"{b}/{new}").st_ino == inode
    assert os.getcwd() == f"{b}/{new}", os.getcwd()
    assert set(os.listdir(f"{b}/{new}")) == expected
    assert not os.path.exists(f"{b}/{old}")
