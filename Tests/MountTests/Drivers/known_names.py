"""A tree in which everything is known, and the search for it in a store: cases of KnownNameTests.

python3 known_names.py fill DIRECTORY              makes the tree; the same one each time
python3 known_names.py show DIRECTORY              prints all that a copy of it must have, one item a line
python3 known_names.py search OBJECTS KIND=TEXT …  prints of which kinds something is found below OBJECTS, and how: "KIND
                                                   COUNT SPELLINGS"; each TEXT is known as well

Searched are the names of objects, their bytes, what gzip unpacks from them, and the attributes of their files, for what is
known as it is, in hex and in Base64.
"""

import base64
import hashlib
import json
import os
import random
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import NamedTuple

# In all, 1000 names that must not be in a store.
COUNTS = {"file": 450, "directory": 150, "link": 100, "target": 100, "attribute": 100, "value": 50, "tag": 50}
WORDS = ("invoice", "salary", "letter", "diagnose-é", "contract", "passport", "photo", "minutes")
# So many files have no hole: the hash of their bytes is that of their only chunk.
WHOLE_COUNT = 100
HOLE_UNIT = 1 << 20
HOLES = range(1, 10)
# Bytes behind the hole; all together a few hundred KiB, which are searched byte by byte.
TAILS = range(40, 1500)
# The first bytes of contents are searched, and what is found by chance is as likely as 2^-128.
PREFIX = 16
# What is shorter may be there by chance; so are sizes, which have seven digits.
LEAST = 7
MODES = (0o600, 0o640, 0o644, 0o755, 0o444)
TIMES = range(946_684_800 * 10**9, 1_700_000_000 * 10**9)


class File(NamedTuple):
    name: str
    hole: int
    tail: bytes

    @property
    def size(self) -> int:
        return self.hole + len(self.tail)


class Known:
    """What is in the tree, by kind."""

    def __init__(self) -> None:
        self.source = random.Random("known names")
        self.names = {kind: [self.name(kind) for _ in range(count)] for kind, count in COUNTS.items()}
        self.files = [self.file(number, name) for number, name in enumerate(self.names["file"])]

    def name(self, kind: str) -> str:
        letters = "".join(self.source.choices("abcdefghijklmnopqrstuvwxyz", k=12))
        return f"{kind}-{self.source.choice(WORDS)}-{letters}"

    def file(self, number: int, name: str) -> File:
        hole = 0 if number < WHOLE_COUNT else self.source.choice(HOLES) * HOLE_UNIT
        return File(name, hole, self.source.randbytes(self.source.choice(TAILS)))

    def needles(self) -> Iterator[tuple[str, list[bytes]]]:
        """What is searched: each thing once, with its kind, as any of some bytes."""
        for kind, names in self.names.items():
            for name in names:
                yield kind, [name.encode()]
        for file in self.files:
            yield "contents", [file.tail[:PREFIX]]
            digests = [hashlib.sha256(bytes(file.hole) + file.tail), hashlib.sha256(file.tail)]
            yield "hash", [digest.digest() for digest in digests]
            if file.hole:
                yield "size", [str(file.size).encode()]


def fill(top: str) -> None:
    known = Known()
    source = random.Random("places")
    names = {kind: iter(names) for kind, names in known.names.items()}
    directories: list[str] = []
    for name in known.names["directory"]:
        directories.append(os.path.join(source.choice([top, *directories[-20:]]), name))
        os.mkdir(directories[-1])
    for file in known.files:
        path = os.path.join(source.choice(directories), file.name)
        with open(path, "wb") as output:
            output.seek(file.hole)
            output.write(file.tail)
        if (attribute := next(names["attribute"], None)) is not None:
            value = next(names["value"], None)
            os.setxattr(path, f"user.{attribute}", source.randbytes(30) if value is None else value.encode())
        elif (tag := next(names["tag"], None)) is not None:
            os.setxattr(path, "user.xdg.tags", tag.encode())
        os.chmod(path, source.choice(MODES))
        os.utime(path, ns=(0, source.choice(TIMES)))
    for name, target in zip(names["link"], names["target"]):
        path = os.path.join(source.choice(directories), name)
        os.symlink(f"../{target}", path)
        os.utime(path, ns=(0, source.choice(TIMES)), follow_symlinks=False)
    for path in reversed(directories):
        os.chmod(path, source.choice((0o700, 0o750, 0o755)))
        os.utime(path, ns=(0, source.choice(TIMES)))


def show(top: str) -> None:
    for path in sorted(found(top)):
        status = os.lstat(path)
        kind = stat.S_IFMT(status.st_mode)
        content = ""
        if kind == stat.S_IFREG:
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
        elif kind == stat.S_IFLNK:
            content = os.readlink(path)
        attributes = [
            (name, os.getxattr(path, name, follow_symlinks=False).hex())
            for name in sorted(os.listxattr(path, follow_symlinks=False))
            if name.startswith("user.") and not name.startswith("user.dewpoint.")
        ]
        size = 0 if kind == stat.S_IFDIR else status.st_size
        print(
            json.dumps([os.path.relpath(path, top), oct(status.st_mode), status.st_mtime_ns, size, content, attributes])
        )


def found(top: str) -> Iterator[str]:
    for directory, directories, files in os.walk(top):
        yield from (os.path.join(directory, name) for name in directories + files)


def spellings(data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "plain", data
    yield "hex", data.hex().encode()
    yield "hex", data.hex().upper().encode()
    # Within other bytes, Base64 has three forms; their first and last letters depend on those.
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).rstrip(b"=")
        inner = text[(8 * before + 5) // 6 : (8 * (before + len(data))) // 6]
        yield "base64", inner
        yield "base64", inner.replace(b"+", b"-").replace(b"/", b"_")


def haystacks(top: str) -> Iterator[bytes]:
    for path in found(top):
        yield os.path.relpath(path, top).encode()
        yield b"\n".join(name.encode() + b"=" + os.getxattr(path, name) for name in os.listxattr(path))
        if os.path.isdir(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        yield data
        if data.startswith(b"\x1f\x8b"):
            yield zlib.decompress(data, wbits=16 + zlib.MAX_WBITS)


def search(top: str, *texts: str) -> None:
    things = list(Known().needles())
    things += [(kind, [text.encode()]) for kind, _, text in (text.partition("=") for text in texts)]
    # By their first bytes: which thing, how it is spelled, and all of it.
    table: dict[bytes, list[tuple[int, str, bytes]]] = {}
    for number, (_, forms) in enumerate(things):
        for form in forms:
            for spelling, data in spellings(form):
                assert len(data) >= LEAST, data
                table.setdefault(data[:LEAST], []).append((number, spelling, data))
    hits: dict[str, dict[int, set[str]]] = {}
    for data in haystacks(top):
        for place in range(len(data) - LEAST + 1):
            for number, spelling, whole in table.get(data[place : place + LEAST], ()):
                if data.startswith(whole, place):
                    hits.setdefault(things[number][0], {}).setdefault(number, set()).add(spelling)
    for kind in sorted(hits):
        print(kind, len(hits[kind]), "+".join(sorted(set.union(*hits[kind].values()))))


if __name__ == "__main__":
    {"fill": fill, "show": show, "search": search}[sys.argv[1]](*sys.argv[2:])
