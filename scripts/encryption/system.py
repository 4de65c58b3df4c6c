"""What a system must be able to do to be attacked."""

import abc
import contextlib
import dataclasses
import os
import shutil
from collections.abc import Callable, Collection, Mapping

from benchmark.machine import Failure

from . import command, store
from .judge import Reading
from .tree import Tree

PASSPHRASE = "correct horse battery staple"
# With it somebody makes stores of his own.
STRANGE_PASSPHRASE = "Tr0ub4dor & three"


# Where the programs are, by name; None: not to be had here.
Programs = Mapping[str, str | None]


@dataclasses.dataclass(frozen=True)
class Bomb:
    """Parameters of scrypt that ask for absurd work; `block` and `parallel` are its r and p."""

    what: str
    rounds: int
    parallel: int
    block: int = 8


class NotApplicable(Exception):
    """A system does not have what a row attacks; the text says why."""


class Writer(abc.ABC):
    """Changes the tree of a system, a file at a time."""

    @abc.abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Writes a file; one that exists is overwritten in place where the system can do that."""

    @abc.abstractmethod
    def remove(self, path: str) -> None: ...

    @abc.abstractmethod
    def settle(self) -> None:
        """Returns when the store has what was written."""


class System(abc.ABC):
    """One container, repository or volume, whose store is a directory.

    - label: its column; program: its name; absent: why it may not be there. Keys of objects are paths in the store.
    - header, segment: how many bytes of an object of data come before the first segment, and how many a segment has.
      None: the system encrypts an object as a whole.
    - has_witnesses: whether a device knows anything that another one does not; always_asked: whether one is asked in
      every row, and not just in those on older states.
    """

    label: str
    program: str
    absent: str
    header: int = 0
    segment: int | None = None
    has_witnesses = False
    always_asked = False
    # Why rows do not apply that attack what the store has of keys.
    no_config: str | None = None

    def __init__(self, work: str, programs: Programs, passphrase: str = PASSPHRASE, secrets: str | None = None) -> None:
        """`secrets`: a directory with what two containers of one user share; made by the first."""
        self.work, self.programs, self.passphrase = work, programs, passphrase
        self.store = os.path.join(work, "store")
        self.secrets = secrets or os.path.join(work, "secrets")
        self.count = 0
        # What `fill` has written.
        self.present: Tree = {}
        os.makedirs(work)
        os.makedirs(self.secrets, exist_ok=True)
        os.makedirs(os.path.join(work, "home"))
        os.makedirs(os.path.join(work, "run"), mode=0o700)

    @classmethod
    def missing(cls, programs: Programs) -> str | None:
        """Why the system cannot be run here."""
        return None if programs.get(cls.program) else f"there is no {cls.program}: {cls.absent}"

    def command(self, *words: str) -> list[str]:
        program = self.programs[self.program]
        assert program
        return [program, *words]

    @abc.abstractmethod
    def version(self) -> str: ...

    @abc.abstractmethod
    def create(self) -> None:
        """Makes an empty one."""

    @abc.abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[Writer]:
        """A way to write into it, until it is left."""

    @abc.abstractmethod
    def read(self, witness: int | None = None) -> Reading:
        """Reads everything: as a device that has read nothing yet, or as a witness that knows the current state."""

    @abc.abstractmethod
    def kind(self, key: str) -> str:
        """`data`, `metadata` or `config`: what an object is, as its place tells."""

    def acquaint(self) -> int:
        """Makes a witness: a device that knows the present state, and has none of the bytes. Returns its number."""
        self.count += 1
        witness = self.count
        self.inform(witness)
        return witness

    def inform(self, witness: int) -> None:
        """Has a witness, which may be a new one, learn what is new."""
        raise NotApplicable("a device knows nothing that another one does not")

    @property
    def outside(self) -> list[str]:
        """The files outside of the store that reading changes."""
        return []

    def has_names(self) -> bool:
        """Whether keys are the encrypted names of files, which are metadata then."""
        return False

    def aliases(self, key: str) -> Collection[str]:
        """How messages may name an object."""
        return {key, *key.split("/")} if self.has_names() else {key, os.path.basename(key)}

    def set_cost(self, directory: str, bomb: Bomb) -> None:
        """Writes other parameters of scrypt into a store; all that depends on them stays."""
        raise NotApplicable(self.no_config or "there are no such parameters")

    def lowered(self) -> Mapping[str, Callable[[str], None]]:
        """Ways to lower what protects a store, by name: each changes a store in a directory."""
        raise NotApplicable(self.no_config or "there is nothing to lower")

    def unlock(self) -> tuple[list[str], dict[str, str]]:
        """The command of a new device that has to open the store, and its environment."""
        raise NotApplicable(self.no_config or "nothing in the store is opened with a passphrase")

    # What all have in common.

    def keep(self) -> None:
        """Remembers what reading changes."""
        for path in self.outside:
            if os.path.exists(path):
                shutil.copyfile(path, f"{path}-kept")

    def reset(self) -> None:
        """Puts it back."""
        for path in self.outside:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)
            if os.path.exists(f"{path}-kept"):
                shutil.copyfile(f"{path}-kept", path)

    @property
    def environment(self) -> dict[str, str]:
        """Keeps a system from what the user has, and from what other ones do."""
        home = os.path.join(self.work, "home")
        return {
            "HOME": home,
            "XDG_CACHE_HOME": os.path.join(home, "cache"),
            "XDG_CONFIG_HOME": os.path.join(home, "config"),
            "XDG_STATE_HOME": os.path.join(home, "state"),
            "XDG_RUNTIME_DIR": os.path.join(self.work, "run"),
        }

    def fresh(self, name: str) -> str:
        """A path in the working directory that nothing has had before."""
        self.count += 1
        return os.path.join(self.work, f"{name}-{self.count}")

    def fill(self, files: Tree) -> dict[str, list[str]]:
        """Makes the tree one of these files, and returns the objects that each file that differs has got."""
        objects: dict[str, list[str]] = {}
        before = store.listing(self.store)
        with self.writing() as writer:
            for path in self.present.keys() - files.keys():
                writer.remove(path)
                writer.settle()
            for path, data in files.items():
                if self.present.get(path) == data:
                    continue
                writer.write(path, data)
                writer.settle()
                after = store.listing(self.store)
                objects[path] = [key for key in store.difference(before, after) if key in after]
                before = after
        self.present = dict(files)
        return objects

    def write_all(self, files: Tree) -> None:
        """Writes files in one go."""
        with self.writing() as writer:
            for path, data in files.items():
                writer.write(path, data)
            writer.settle()


class DirectoryWriter(Writer):
    """Writes into a directory, such as a mount; what makes the store have it is told."""

    def __init__(self, directory: str, settle: Callable[[], None] = lambda: None) -> None:
        self.directory, self.settled = directory, settle

    def write(self, path: str, data: bytes) -> None:
        place = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT, 0o644)
        with open(descriptor, "wb") as file:
            file.write(data)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())

    def remove(self, path: str) -> None:
        os.remove(os.path.join(self.directory, path))

    def settle(self) -> None:
        self.settled()


def read_mount(mounted: contextlib.AbstractContextManager[None], point: str, *skipped: str) -> Reading:
    """Mounts, reads everything, and unmounts. What the system prints is in the log beside the mountpoint."""
    log = f"{point}.log"
    try:
        with mounted:
            files, errors = command.tree(point, *skipped)
    except Failure as problem:
        words = command.text(log)
        return Reading(failure=command.Said(1, words).last if words else str(problem), words=words)
    shutil.rmtree(f"{point}.read", ignore_errors=True)
    return Reading(files, errors, None, command.text(log))
