"""The steps that a process may make with names and attributes."""

from typing import TYPE_CHECKING

from . import scene
from .words import GIVEN, MODES, NAMES, NEW, SLOTS, TARGETS, TIMES

if TYPE_CHECKING:
    from .generator import Generator

# Names


def made(gen: "Generator", path: str) -> None:
    gen.files.append(path)
    gen.focus[gen.random.randrange(len(gen.focus))] = path


def rename(gen: "Generator", who: str) -> None:
    source, target = gen.name(), gen.name()
    gen.add(who, "rename", source, target, gen.random.choice([0, 0, 0, 1, 2]))
    made(gen, target)
    gen.look(who, target)


def link(gen: "Generator", who: str) -> None:
    source, target = gen.file(), gen.random.choice(NEW)
    gen.add(who, "link", source, target)
    made(gen, target)
    gen.look(who, source)


def symlink(gen: "Generator", who: str) -> None:
    gen.add(who, "symlink", gen.random.choice(TARGETS), gen.random.choice(NEW))


def unlink(gen: "Generator", who: str) -> None:
    gen.add(who, "unlink", gen.name())


def mkdir(gen: "Generator", who: str) -> None:
    path = gen.random.choice([*NEW, f"{gen.directory()}/new"])
    gen.add(who, "mkdir", path, gen.random.choice([0o755, 0o777, 0o2755, 0o1777, 0o700]))
    gen.directories.append(path)
    gen.look(who, path)


def rmdir(gen: "Generator", who: str) -> None:
    gen.add(who, "rmdir", gen.name())


def mknod(gen: "Generator", who: str) -> None:
    path = f"{gen.directory()}/{gen.random.choice(['n', 'm', 'p'])}"
    gen.add(who, gen.random.choice(["mknod", "mknod", "mkfifo"]), path, gen.random.choice([0o644, 0o2755, 0o600]))
    gen.look(who, path)


def save(gen: "Generator", who: str) -> None:
    """As editors do: a new file, written, synced, renamed over."""
    path, slot = gen.file(), gen.random.choice(SLOTS)
    gen.slots[who].pop(slot, None)
    gen.add(who, "open", slot, "w/save~", "O_WRONLY|O_CREAT|O_TRUNC", 0o644)
    gen.add(who, "write", slot, gen.letter(), gen.count())
    if gen.random.random() < 0.5:
        gen.add(who, "fsync", slot)
    gen.add(who, "close", slot)
    gen.add(who, "rename", "w/save~", path, 0)
    gen.look(who, path)


# Attributes


def chmod(gen: "Generator", who: str) -> None:
    mode, path = gen.random.choice(MODES), gen.file()
    if gen.random.random() < 0.2:
        path = gen.directory()
    if gen.random.random() < 0.3:
        gen.add(who, "fchmod", gen.slot(who), mode)
    else:
        gen.add(who, "chmod", path, mode)
    gen.look(who, path)


def chown(gen: "Generator", who: str) -> None:
    """On a file that has its set-id bits, as often as not."""
    path = gen.file()
    if gen.random.random() < 0.5:
        gen.add(who, "chmod", path, gen.random.choice([0o4755, 0o6755, 0o2755, 0o2644]))
    given = (gen.random.choice(GIVEN), gen.random.choice(GIVEN))
    # Semantics: chown-of-nothing.
    given = (0, -1) if given == (-1, -1) else given
    kind = gen.random.choice(["chown", "chown", "lchown", "fchown"])
    gen.add(who, kind, gen.slot(who) if kind == "fchown" else path, *given)
    gen.add(who, "stat", path)


def sgid(gen: "Generator", who: str) -> None:
    """A directory whose group what is made in it inherits."""
    path = gen.random.choice(["w", "d"])
    gen.add(who, "chown", path, -1, gen.random.choice([1, scene.USER, 0]))
    gen.add(who, "chmod", path, 0o2777)
    inside = f"{path}/new"
    kind = gen.random.choice(["mkdir", "mknod", "open"])
    if kind == "open":
        gen.add(who, "open", 0, inside, "O_RDWR|O_CREAT", gen.random.choice([0o644, 0o2755]))
        gen.slots[who][0] = "O_RDWR|O_CREAT"
    else:
        gen.add(who, kind, inside, gen.random.choice([0o755, 0o2755]))
    gen.add(who, "stat", inside)


def xattr(gen: "Generator", who: str) -> None:
    path, name = gen.file(), gen.random.choice(NAMES)
    kind = gen.random.choice(["setxattr", "setxattr", "getxattr", "removexattr", "listxattr"])
    if kind == "setxattr":
        gen.add(
            who, kind, path, name, gen.letter(), gen.random.choice([0, 1, 40, 200]), gen.random.choice([0, 0, 1, 2])
        )
    else:
        gen.add(who, kind, path, *([] if kind == "listxattr" else [name]))


def utimes(gen: "Generator", who: str) -> None:
    path = gen.file()
    kind = gen.random.choice(["utimes", "futimes", "touch"])
    given = [] if kind == "touch" else [gen.random.choice(TIMES), gen.random.choice(TIMES)]
    gen.add(who, kind, gen.slot(who) if kind == "futimes" else path, *given)
    gen.look(who, path)


def umask(gen: "Generator", who: str) -> None:
    gen.add(who, "umask", gen.random.choice([0, 0o022, 0o077, 0o027]))


def stat(gen: "Generator", who: str) -> None:
    gen.add(who, gen.random.choice(["stat", "lstat"]), gen.name())


def fstat(gen: "Generator", who: str) -> None:
    gen.add(who, "fstat", gen.slot(who))


def access(gen: "Generator", who: str) -> None:
    gen.add(who, "access", gen.name(), gen.random.choice([1, 2, 4]))


def readlink(gen: "Generator", who: str) -> None:
    gen.add(who, "readlink", gen.name())
