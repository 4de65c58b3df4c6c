"""What is put into the stores: trees of a few files, made from a seed, so that every byte and every name is known."""

import random
from collections.abc import Mapping

Tree = Mapping[str, bytes]

# Bytes. Two files of one length can be exchanged, and so can two of the four blocks, or more, that JuiceFS makes of the
# largest one: how it divides a file depends on how fast that is written.
LENGTHS = {
    "documents/empty.txt": 0,
    "documents/one.txt": 1,
    "documents/notes.txt": 4000,
    "documents/ledger.csv": 70_000,
    "documents/removed.txt": 5000,
    "twins/left.bin": 300_000,
    "twins/right.bin": 300_000,
    "movies/large.bin": 16 << 20,
}
CHANGED = ("documents/notes.txt", "documents/ledger.csv", "twins/left.bin", "twins/right.bin")
REMOVED = "documents/removed.txt"
ADDED = "documents/added.txt"
ADDED_LENGTH = 3000
KNOWN_NAMES = 1000
# How long the contents of a file with a known name are: for a hash to say something, and for no packing to take long.
KNOWN_LENGTHS = range(24, 200)


def first(seed: str) -> dict[str, bytes]:
    """The tree as it was."""
    source = random.Random(f"{seed} first")
    return {path: source.randbytes(length) for path, length in LENGTHS.items()}


def second(seed: str) -> dict[str, bytes]:
    """The tree as it is: files of the first with other bytes of the same lengths, one that is new, one that is gone."""
    source = random.Random(f"{seed} second")
    files = {path: data for path, data in first(seed).items() if path != REMOVED}
    files |= {path: source.randbytes(LENGTHS[path]) for path in CHANGED}
    files[ADDED] = source.randbytes(ADDED_LENGTH)
    return files


def known(seed: str) -> dict[str, bytes]:
    """Files whose names and bytes somebody knows who looks for them in a store."""
    source = random.Random(f"{seed} known")
    words = ("invoice", "salary", "letter", "diagnosis", "contract", "passport", "photo", "minutes")
    return {
        f"archive-{number % 10}/{source.choice(words)}-{source.randrange(10**6):06}-{number:03}.txt": source.randbytes(
            source.choice(KNOWN_LENGTHS)
        )
        for number in range(KNOWN_NAMES)
    }
