"""Groups of steps that are put into a program after it was made, so that what a seed made before stays as it was.

The steps of a group follow each other: nothing of the controller and no other device comes in between.
"""

from random import Random
from typing import TYPE_CHECKING

from .program import Step
from .words import MODES, NAMES, NEW

if TYPE_CHECKING:
    from .generator import Generator

# How many groups a program gets.
COUNTS = [0, 0, 1, 1, 2]


def groups(random: Random, gen: "Generator") -> list[list[Step]]:
    """Groups of steps for a program; `random` is not that of the program."""
    kinds = [hold, hold, pages] + ([bind] if gen.is_root else [])
    return [random.choice(kinds)(random, gen) for _ in range(random.choice(COUNTS))]


def others(random: Random, gen: "Generator", path: str) -> list[Step]:
    """What another process does with the name meanwhile."""
    who = random.choice(gen.processes)
    target = random.choice([f"{path}~", "w/held~"])
    return random.choice([
        [Step(who, "rename", (random.choice(["a", "b", "x", "d/x"]), path, 0))],
        [Step(who, "unlink", (path,))],
        [Step(who, "rename", (path, target, 0)), Step(who, "unlink", (target,))],
        [Step(who, "symlink", ("a", target)), Step(who, "rename", (target, path, 0))],
        [Step(who, "link", (path, target)), Step(who, "unlink", (path,)), Step(who, "unlink", (target,))],
        [],
    ])  # fmt: skip


def hold(random: Random, gen: "Generator") -> list[Step]:
    who, path = random.choice(gen.processes), random.choice(gen.files)
    steps = [Step(who, "hold", (path,)), *others(random, gen, path), Step(who, "held_look", ())]
    for _ in range(random.randrange(3)):
        steps.append(random.choice([
            Step(who, "held_chmod", (random.choice(MODES),)),
            Step(who, "held_truncate", (random.choice([0, 1, 100, 5000]),)),
            Step(who, "held_setxattr", (random.choice(NAMES), "h")),
        ]))  # fmt: skip
        steps.append(Step(who, "held_look", ()))
    return [*steps, Step(who, "let_go", ())]


def bind(random: Random, gen: "Generator") -> list[Step]:
    # Not the process of another user, who may mount nothing.
    who, path = gen.processes[0], random.choice(gen.files)
    look = Step(who, "bound_look", ())
    return [Step(who, "bind", (path,)), *others(random, gen, path), look, look, Step(who, "unbind", ())]


def pages(random: Random, gen: "Generator") -> list[Step]:
    who, directory = random.choice(gen.processes), random.choice(gen.directories)
    return [Step(who, "pages", (directory, random.choice(["e", "x", "f", "a", "n", "m"]), random.choice([1, 2, 5])))]


# A slot that no other step uses.
NAMELESS_SLOT = 9


def nameless(random: Random, gen: "Generator") -> list[list[Step]]:
    """A file without a name in some programs, which gets one or two, or none, while others use these."""
    if random.random() < 0.7:
        return []
    who, other = random.choice(gen.processes), random.choice(gen.processes)
    slot, words = NAMELESS_SLOT, random.choice(["O_RDWR", "O_RDWR", "O_WRONLY", "O_RDWR|O_EXCL", "O_RDONLY"])
    directory = random.choice([*gen.directories, "a", "nowhere"])
    steps = [Step(who, "open", (slot, directory, f"{words}|O_TMPFILE", random.choice(MODES)))]
    for _ in range(random.randrange(1, 6)):
        path = random.choice([*gen.files, *NEW])
        steps.append(random.choice([
            Step(who, "pwrite", (slot, "#", random.choice([1, 5000, 70_000]), random.choice([0, 4095]))),
            Step(who, "ftruncate", (slot, random.choice([0, 3, 5000]))),
            Step(who, "name", (slot, path)),
            Step(who, "name", (slot, path)),
            Step(other, "unlink", (path,)),
            Step(other, "rename", (path, random.choice(NEW), 0)),
            Step(other, "stat", (path,)),
            Step(who, "fsync", (slot,)),
        ]))  # fmt: skip
        steps.append(Step(who, "fstat", (slot,)))
    return [[*steps, Step(who, "pread", (slot, 100, 0)), Step(who, "close", (slot,))]]
