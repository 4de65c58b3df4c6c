"""Which steps there are, and how often they are made; and those that lock and look."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import file_choices, name_choices
from .program import CONTROLLER
from .words import LOCKS, SLOTS

if TYPE_CHECKING:
    from .generator import Generator

KINDS = [
    ("open", 14), ("close", 8), ("dup", 1), ("write", 14), ("pwrite", 10), ("read", 7), ("pread", 7), ("lseek", 3), ("holes", 2),
    ("ftruncate", 5), ("truncate", 4), ("fallocate", 6), ("copy_range", 4), ("sync_file", 3), ("forget", 2),
    ("mmap", 5), ("store", 8), ("load", 6), ("msync", 2), ("munmap", 2),
    ("rename", 6), ("link", 4), ("symlink", 1), ("unlink", 5), ("mkdir", 4), ("rmdir", 2), ("mknod", 2), ("save", 3),
    ("chmod", 5), ("chown", 6), ("xattr", 5), ("utimes", 3), ("umask", 1), ("flock", 3), ("lock", 4), ("ofdlock", 3),
    ("stat", 8), ("fstat", 6), ("listing", 3), ("cat", 6), ("access", 1), ("readlink", 1), ("syncdir", 1),
    ("opendir", 2), ("below", 4), ("sgid", 2), ("tree", 2), ("die", 1), ("drop", 1), ("download", 1), ("peek", 4),
    ("race", 4),
]  # fmt: skip

# Locks


def flock(gen: "Generator", who: str) -> None:
    gen.add(who, "flock", gen.slot(who), gen.random.choice(LOCKS))


def lock(gen: "Generator", who: str, name: str = "lock") -> None:
    chosen = gen.random.choice([name, name, f"get{name}"])
    slot, kind = gen.slot(who), gen.random.choice(LOCKS if chosen == name else LOCKS[:2])
    gen.add(who, chosen, slot, kind, gen.random.choice([0, 10, 100]), gen.random.choice([0, 10, 1000]))


def ofdlock(gen: "Generator", who: str) -> None:
    lock(gen, who, "ofdlock")


# Looking, and what the controller does


def listing(gen: "Generator", who: str) -> None:
    gen.add(who, "listing", gen.directory())


def cat(gen: "Generator", who: str) -> None:
    gen.add(who, "cat", gen.file())


def peek(gen: "Generator", who: str) -> None:
    gen.add(who, "peek", gen.file(), 3)


def race(gen: "Generator", who: str) -> None:
    """One process closes or opens for reading, while another one opens for truncation, or looks."""
    other = gen.random.choice([one for one in gen.processes if one != who])
    path, slot, target = gen.file(), gen.random.choice(SLOTS), gen.random.choice(SLOTS)
    if gen.random.random() < 0.4:
        gen.add(CONTROLLER, "together")
        gen.add(who, "reopen", path, "O_RDONLY", 20)
        gen.add(other, "reopen", path, gen.random.choice(["O_WRONLY|O_TRUNC", "O_RDWR", "O_WRONLY|O_APPEND"]), 20)
        return
    gen.add(who, "open", slot, path, "O_RDONLY")
    closes = gen.random.random() < 0.7
    if closes:
        gen.slots[who].pop(slot, None)
    else:
        gen.slots[who][slot] = "O_RDONLY"
    gen.add(CONTROLLER, "together")
    gen.add(who, *(("close", slot) if closes else ("open", slot, path, "O_RDONLY")))
    if gen.random.random() < 0.6:
        gen.slots[other][target] = "O_WRONLY"
        gen.add(
            other,
            "open",
            target,
            path,
            gen.random.choice(["O_WRONLY|O_CREAT|O_TRUNC", "O_RDWR|O_TRUNC", "O_RDWR"]),
            0o644,
        )
    else:
        gen.add(other, "stat", path)


def syncdir(gen: "Generator", who: str) -> None:
    gen.add(who, "syncdir", gen.directory())


def tree(gen: "Generator", who: str) -> None:
    gen.add(who, "tree")


def die(gen: "Generator", who: str) -> None:
    """The process is killed, and starts anew."""
    gen.slots[who].clear()
    gen.maps[who].clear()
    gen.add(CONTROLLER, "kill", who)


def drop(gen: "Generator", who: str) -> None:
    """The kernel forgets what it need not know."""
    gen.add(CONTROLLER, "drop")


def download(gen: "Generator", who: str) -> None:
    gen.add(CONTROLLER, "download", gen.random.choice([gen.file(), "."]))


def find(name: str) -> Callable[["Generator", str], None]:
    """The function that adds steps of a kind."""
    place = next((module for module in (file_choices, name_choices) if hasattr(module, name)), None)
    found: Callable[[Generator, str], None] = getattr(place, name) if place else globals()[name]
    return found
