"""A store is a directory here, and whoever holds it does with its files as he likes. Keys are paths in it."""

import hashlib
import os
import random
import shutil
from collections.abc import Iterator

FLIPPED = 0x10


def keys(store: str) -> Iterator[str]:
    for directory, _, names in os.walk(store):
        for name in names:
            yield os.path.relpath(os.path.join(directory, name), store)


def listing(store: str) -> dict[str, str]:
    """Every object with the hash of its bytes."""
    return {key: hashlib.sha256(read(store, key)).hexdigest() for key in sorted(keys(store))}


def difference(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The keys that are new, gone, or have other bytes."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def byte_count(store: str) -> int:
    return sum(length(store, key) for key in keys(store))


def length(store: str, key: str) -> int:
    return os.path.getsize(os.path.join(store, key))


def read(store: str, key: str) -> bytes:
    with open(os.path.join(store, key), "rb") as file:
        return file.read()


def write(store: str, key: str, data: bytes) -> None:
    path = os.path.join(store, key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # Some objects may not be written, as those of restic; their owner may change that.
    if os.path.exists(path):
        os.chmod(path, 0o600)
    with open(path, "wb") as file:
        file.write(data)


def remove(store: str, key: str) -> None:
    os.remove(os.path.join(store, key))


def replace(store: str, other: str) -> None:
    """Gives a store the contents of another one."""
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(other, store)


def flip(store: str, key: str, seed: str) -> None:
    data = bytearray(read(store, key))
    data[random.Random(seed).randrange(len(data))] ^= FLIPPED
    write(store, key, bytes(data))


def zero(store: str, key: str, offset: int, count: int) -> None:
    data = read(store, key)
    write(store, key, data[:offset] + bytes(min(count, len(data) - offset)) + data[offset + count :])


def cut(store: str, key: str, count: int) -> None:
    """Leaves so many bytes; a negative number takes so many away."""
    write(store, key, read(store, key)[:count])


def append(store: str, key: str, more: bytes) -> None:
    write(store, key, read(store, key) + more)


def exchange(store: str, one: str, other: str) -> None:
    first, second = read(store, one), read(store, other)
    write(store, one, second)
    write(store, other, first)


def exchange_parts(store: str, key: str, one: int, other: int, count: int) -> None:
    """Exchanges two ranges of the same length in an object."""
    data = bytearray(read(store, key))
    data[one : one + count], data[other : other + count] = data[other : other + count], data[one : one + count]
    write(store, key, bytes(data))


def transplant(store: str, key: str, donor: bytes, offset: int, count: int) -> None:
    """Gives a range of an object the bytes that stand there in another."""
    data = read(store, key)
    write(store, key, data[:offset] + donor[offset : offset + count] + data[offset + count :])


def rename(store: str, key: str, name: str) -> None:
    place = os.path.join(store, key)
    os.rename(place, os.path.join(os.path.dirname(place), name))


def flipped_name(key: str, seed: str) -> str:
    """The last component of a key with one character exchanged for another that stands in it."""
    name, source = os.path.basename(key), random.Random(seed)
    at = source.randrange(len(name))
    others = sorted(set(name) - {name[at]})
    return name[:at] + source.choice(others) + name[at + 1 :]
