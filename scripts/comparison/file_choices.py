"""The steps that a process may make with open files and maps. Each function adds one or a few steps of `who` to a
generator."""

from typing import TYPE_CHECKING

from .syscalls import FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE
from .words import MAPS, NEW, SLOTS

if TYPE_CHECKING:
    from .generator import Generator

# Open files


def open(gen: "Generator", who: str) -> None:
    slot = gen.random.choice(SLOTS)
    words = [gen.random.choice(["O_RDONLY", "O_WRONLY", "O_RDWR", "O_RDWR"])]
    path = gen.file()
    chance = gen.random.random
    if chance() < 0.45:
        words.append("O_CREAT")
        if chance() < 0.5:
            path = gen.random.choice(NEW)
        if chance() < 0.2:
            words.append("O_EXCL")
    if chance() < 0.2:
        words.append("O_TRUNC")
    if chance() < 0.25:
        words.append("O_APPEND")
    if chance() < 0.1:
        words.append("O_DIRECT")
    if chance() < 0.05:
        words.append("O_NOFOLLOW")
    if chance() < 0.03:
        words.append("O_SYNC")
    gen.slots[who][slot] = "|".join(words)
    gen.add(who, "open", slot, path, "|".join(words), gen.random.choice([0o644, 0o644, 0o666, 0o600, 0o4755, 0o2777]))
    if "O_CREAT" in words:
        gen.focus[-1] = path


def opendir(gen: "Generator", who: str) -> None:
    slot = gen.random.choice(SLOTS)
    gen.slots[who][slot] = "directory"
    gen.add(who, "open", slot, gen.directory(), "O_RDONLY|O_DIRECTORY")


def below(gen: "Generator", who: str) -> None:
    """Something in a directory that is held open, whatever has become of its name."""
    held = [slot for slot, words in gen.slots[who].items() if words == "directory"]
    if not held:
        opendir(gen, who)
        return
    slot, name = gen.random.choice(held), gen.random.choice(["e", "n", "g", "a", "f", "new"])
    kind = gen.random.choice(["statat", "listfd", "openat", "fstat"])
    if kind == "openat":
        target = gen.random.choice(SLOTS)
        gen.slots[who][target] = "O_RDWR|O_CREAT"
        gen.add(who, "openat", target, slot, name, "O_RDWR|O_CREAT", 0o644)
        return
    gen.add(who, kind, slot, *([name] if kind == "statat" else []))


def close(gen: "Generator", who: str) -> None:
    if gen.slots[who]:
        slot = gen.random.choice(list(gen.slots[who]))
        del gen.slots[who][slot]
        gen.add(who, "close", slot)
        gen.look(who, gen.file())


def dup(gen: "Generator", who: str) -> None:
    slot, copy = gen.slot(who), gen.random.choice(SLOTS)
    gen.slots[who][copy] = gen.slots[who].get(slot, "")
    gen.add(who, "dup", slot, copy)


def write(gen: "Generator", who: str) -> None:
    slot = gen.slot(who, "file")
    gen.add(who, "write", slot, gen.letter(), gen.place(who, slot)[1])
    look_at(gen, who, slot)


def pwrite(gen: "Generator", who: str) -> None:
    slot = gen.slot(who, "file")
    offset, count = gen.place(who, slot)
    gen.add(who, "pwrite", slot, gen.letter(), count, offset)
    look_at(gen, who, slot)


def look_at(gen: "Generator", who: str, slot: int) -> None:
    if gen.random.random() < 0.3:
        gen.add(who, "fstat", slot)
    else:
        gen.look(who, gen.file())


def read(gen: "Generator", who: str) -> None:
    slot = gen.slot(who)
    gen.add(who, "read", slot, gen.place(who, slot)[1])


def pread(gen: "Generator", who: str) -> None:
    slot = gen.slot(who)
    offset, count = gen.place(who, slot)
    gen.add(who, "pread", slot, count, offset)


def lseek(gen: "Generator", who: str) -> None:
    slot = gen.slot(who, "file")
    if gen.is_direct(who, slot):
        gen.add(who, "lseek", slot, gen.random.choice([0, 4096]), "SEEK_SET")
    else:
        gen.add(who, "lseek", slot, gen.offset(), gen.random.choice(["SEEK_SET", "SEEK_CUR", "SEEK_END"]))


def holes(gen: "Generator", who: str) -> None:
    gen.add(who, "holes", gen.slot(who, "file"))


def ftruncate(gen: "Generator", who: str) -> None:
    gen.add(who, "ftruncate", gen.slot(who, "file"), gen.offset())
    gen.look(who, gen.file())


def truncate(gen: "Generator", who: str) -> None:
    path = gen.file()
    gen.add(who, "truncate", path, gen.offset())
    gen.look(who, path)


def fallocate(gen: "Generator", who: str) -> None:
    keep = FALLOC_KEEP_SIZE
    mode = gen.random.choice([0, keep, FALLOC_PUNCH_HOLE | keep, FALLOC_ZERO_RANGE, FALLOC_ZERO_RANGE | keep])
    slot = gen.slot(who, "file")
    gen.add(who, "fallocate", slot, mode, gen.offset(), gen.count())
    look_at(gen, who, slot)


def copy_range(gen: "Generator", who: str) -> None:
    source, target = gen.slot(who, "file"), gen.slot(who, "file")
    gen.add(who, "copy_range", source, gen.offset(), target, gen.offset(), gen.count())


def sync_file(gen: "Generator", who: str) -> None:
    gen.add(who, gen.random.choice(["fsync", "fdatasync"]), gen.slot(who))


def forget(gen: "Generator", who: str) -> None:
    gen.add(who, "forget", gen.slot(who))


# Maps


def mmap(gen: "Generator", who: str) -> None:
    number = gen.random.choice(MAPS)
    gen.maps[who][number] = gen.random.random() < 0.7
    slot = gen.slot(who, "file")
    gen.add(who, "mmap", slot, number, gen.random.choice([4096, 8192, 65_536, 131_072]), gen.random.choice([0, 0, 4096, 65_536]),
            gen.maps[who][number])  # fmt: skip


def mapped(gen: "Generator", who: str) -> int:
    if not gen.maps[who] or gen.random.random() < 0.1:
        mmap(gen, who)
    return gen.random.choice(list(gen.maps[who]))


def store(gen: "Generator", who: str) -> None:
    writable = [number for number, writes in gen.maps[who].items() if writes]
    if writable:
        gen.add(
            who,
            "store",
            gen.random.choice(writable),
            gen.offset() % 70_000,
            gen.letter(),
            gen.random.choice([1, 10, 5000]),
        )


def load(gen: "Generator", who: str) -> None:
    gen.add(who, "load", mapped(gen, who), gen.offset() % 70_000, gen.random.choice([1, 10, 5000]))


def msync(gen: "Generator", who: str) -> None:
    gen.add(who, "msync", mapped(gen, who))


def munmap(gen: "Generator", who: str) -> None:
    if gen.maps[who]:
        number = gen.random.choice(list(gen.maps[who]))
        del gen.maps[who][number]
        gen.add(who, "munmap", number)
