"""Positions in directories, while names come and go. Cases of files.py."""

import ctypes
import os

from system_calls import LIBC, RENAME_EXCHANGE, put, renameat2


class Dirent(ctypes.Structure):
    _fields_ = [
        ("ino", ctypes.c_uint64),
        ("off", ctypes.c_int64),
        ("reclen", ctypes.c_uint16),
        ("type", ctypes.c_uint8),
        ("name", ctypes.c_char * 256),
    ]


class DirectoryStream:
    """opendir(3) with positions, which Python does not offer."""

    def __init__(self, path: str = ".") -> None:
        for name in ("opendir", "readdir"):
            getattr(LIBC, name).restype = ctypes.c_void_p
        LIBC.telldir.restype = ctypes.c_long
        self.stream = ctypes.c_void_p(LIBC.opendir(os.fsencode(path)))
        assert self.stream.value

    def read(self) -> str | None:
        entry = LIBC.readdir(self.stream)
        return ctypes.cast(entry, ctypes.POINTER(Dirent)).contents.name.decode() if entry else None

    def take(self, count: int) -> list[str]:
        """Up to `count` names besides . and .."""
        names: list[str] = []
        while len(names) < count and (name := self.read()) is not None:
            if name not in (".", ".."):
                names.append(name)
        return names

    def tell(self) -> int:
        return int(LIBC.telldir(self.stream))

    def seek(self, position: int) -> None:
        LIBC.seekdir(self.stream, ctypes.c_long(position))

    def close(self) -> None:
        LIBC.closedir(self.stream)


def positions_survive_removals() -> None:
    """Read a part, remove it, open anew, and seek to where the reading stopped: nothing is left out or seen twice."""
    names = {f"name-{number:04}" for number in range(1000)}
    for name in names:
        put(name)
    seen, position = [], 0
    while True:
        stream = DirectoryStream()
        stream.seek(position)
        part = stream.take(37)
        position = stream.tell()
        stream.close()
        for name in part:
            os.unlink(name)
        seen += part
        if len(part) < 37:
            break
    assert len(seen) == len(set(seen)), "seen twice"
    assert set(seen) == names, f"{len(names - set(seen))} never seen"
    assert os.listdir() == []


def positions_of_one_stream() -> None:
    """telldir and seekdir go back and forth, and rewinddir begins anew."""
    names = [f"{number}" for number in range(300)]
    for name in names:
        put(name)
    stream = DirectoryStream()
    positions, order = [], []
    while True:
        positions.append(stream.tell())
        part = stream.take(1)
        if not part:
            break
        order += part
    assert sorted(order) == sorted(names)
    for index in (0, 299, 150, 7, 298, 1):
        stream.seek(positions[index])
        assert stream.take(2) == order[index : index + 2], index
    os.unlink(order[20])
    stream.seek(positions[20])
    assert stream.take(1) == [order[21]]
    put("added")
    LIBC.rewinddir(stream.stream)
    assert sorted(stream.take(1000)) == sorted(set(order) - {order[20]} | {"added"})
    stream.close()


def listing_while_saving() -> None:
    """A name that is there all the time is listed once, whatever is renamed over it or exchanged with it."""
    names = {f"{number:03}" for number in range(200)}
    for name in names:
        put(name)
    os.mkdir("d")
    stream = DirectoryStream()
    seen = stream.take(100)
    for name in sorted(names):
        put("temporary", b"new")
        os.rename("temporary", name)
    first, last = seen[0], (names - set(seen)).pop()
    if first == "d":
        first = seen[1]
    renameat2(first, last, RENAME_EXCHANGE)
    # Of other kinds: the entry moves.
    renameat2(first, "d", RENAME_EXCHANGE)
    os.symlink("nowhere", "link")
    os.rename("link", last)
    while part := stream.take(50):
        seen += part
    stream.close()
    assert len(seen) == len(set(seen)), "seen twice"
    assert names | {"d"} <= set(seen), f"never seen: {names - set(seen)}"


def listing_while_adding() -> None:
    """A program that adds a name for each one that it reads comes to an end."""
    for number in range(100):
        put(f"{number}")
    with os.scandir(".") as entries:
        for count, entry in enumerate(entries):
            assert count < 2000, "there is no end"
            put(f"{entry.name}-{count}")
