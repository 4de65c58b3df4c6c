"""What is measured: what a store shows to whoever reads it, and what work it can ask for."""

import base64
import dataclasses
import hashlib
import os
import random
from collections.abc import Callable, Iterator
from typing import Protocol

from benchmark.machine import Failure

from . import command, store, tree
from .system import Bomb, System

# What must be bounded before work is done; gocryptfs, restic and Dewpoint ask for 2^16, 2^15 and 2^17 rounds themselves.
BOMBS = [Bomb("4 GiB", 1 << 22, 1), Bomb("128 MiB, a million times", 1 << 17, 10**6)]
# A known file: its length, and by how much another one is longer whose store is to look the same, in bytes.
KNOWN_LENGTH = 1_234_567
STEPS = [1, 16, 256, 4096, 1 << 14, 1 << 16, 1 << 18]
PROBE = "probe.bin"


class Make(Protocol):
    def __call__(self, name: str, passphrase: str | None = None, secrets: str | None = None) -> System: ...


@dataclasses.dataclass(frozen=True)
class Measure:
    key: str
    title: str
    find: Callable[[Make, str], str]


def bombs(make: Make, seed: str) -> str:
    """Has a new device open a store whose parameters ask for more than anybody has."""
    system = make("bombs")
    system.create()
    said = command.bounded(*system.unlock())
    if said is None or said.code:
        raise Failure(f"without absurd parameters, {said.last if said else 'it takes too much as well'}")
    pristine = os.path.join(system.work, "pristine")
    store.replace(pristine, system.store)
    for bomb in BOMBS:
        store.replace(system.store, pristine)
        system.set_cost(system.store, bomb)
        said = command.bounded(*system.unlock())
        if said is None:
            return f"obeyed: {bomb.what}"
        if not said.code:
            return f"opened with {bomb.what}"
    return "refused"


def sizes(make: Make, seed: str) -> str:
    """The least difference of two lengths of a file that shows in a listing of the store."""

    longest = random.Random(f"{seed} {PROBE}").randbytes(KNOWN_LENGTH + STEPS[-1])

    def look(length: int) -> list[int]:
        system = make(f"length-{length}")
        system.create()
        system.write_all({PROBE: longest[:length]})
        # What else there is, of keys and of names, is shorter by far.
        lengths = sorted(store.length(system.store, key) for key in store.keys(system.store))
        return [one for one in lengths if one > KNOWN_LENGTH // 8]

    shown = look(KNOWN_LENGTH)
    for step in STEPS:
        if look(KNOWN_LENGTH + step) != shown:
            return f"its length, to {quantity(step)}"
    return f"nothing to {quantity(STEPS[-1])}"


def quantity(count: int) -> str:
    return f"{count >> 10} KiB" if count >= 1 << 10 else "the byte" if count == 1 else f"{count} bytes"


def spellings(digest: bytes) -> Iterator[bytes]:
    yield digest
    yield digest.hex().encode()
    yield digest.hex().upper().encode()
    yield base64.b64encode(digest).rstrip(b"=")
    yield base64.urlsafe_b64encode(digest).rstrip(b"=")
    yield base64.b32encode(digest).rstrip(b"=")


def known(make: Make, seed: str) -> str:
    """Looks for known names, bytes and hashes of files in all keys and objects."""
    files = tree.known(seed)
    system = make("known")
    system.create()
    system.write_all(files)
    everything = b"\n".join(
        os.fsencode(key) + b"\n" + store.read(system.store, key) for key in sorted(store.keys(system.store))
    )
    found = {
        "names": sum(os.path.basename(path).encode() in everything for path in files),
        "contents": sum(data in everything for data in files.values()),
        "hashes": sum(
            any(spelling in everything for spelling in spellings(hashlib.new(kind, data).digest()))
            for data in files.values()
            for kind in ("sha256", "md5")
        ),
    }
    what = [f"{count} {name}" for name, count in found.items() if count]
    return ", ".join(what) if what else "nothing"


MEASURES = [
    Measure("17", "17 asks for absurd work of scrypt", bombs),
    Measure("19", "19 looks for one known file: what shows", sizes),
    Measure("21", "21 looks for 1,000 known names, contents, hashes", known),
]
