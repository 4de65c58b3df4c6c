"""restic with a repository in a directory: each settling is a backup, and reading is a restore of the latest one."""

import contextlib
import functools
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping

from . import command, store
from .judge import Reading
from .system import Bomb, DirectoryWriter, System, Writer

# What restic calls an object in its messages.
SHORT_ID = 8
# It tries again for many minutes, and says so each time, where an object is cut or gone; a restore takes two seconds.
RESTORE_SECONDS = 20


class Restic(System):
    label = "restic"
    program, absent = "restic", "Debian's package is not installed"
    # It remembers what it has read of the repository, in a cache. That may serve where the store no longer does.
    has_witnesses = True

    def command(self, *words: str) -> list[str]:
        return super().command("--repo", self.store, *words)

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"RESTIC_PASSWORD": self.passphrase}

    @property
    def source(self) -> str:
        return os.path.join(self.work, "source")

    def version(self) -> str:
        return command.must(self.command("version"), self.environment).split()[1]

    def create(self) -> None:
        os.makedirs(self.source)
        # The format with compression, which is the default from 0.14.
        command.must(self.command("init", "--repository-version", "2"), self.environment)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        yield DirectoryWriter(self.source, self.back_up)

    def back_up(self) -> None:
        command.must(self.command("backup", "--quiet", "--host", "here", "--no-cache", self.source), self.environment)

    def kind(self, key: str) -> str:
        top = key.split("/")[0]
        return "config" if top in ("config", "keys") else "data" if top == "data" else "metadata"

    def aliases(self, key: str) -> Collection[str]:
        name = os.path.basename(key)
        return {key, name, name[:SHORT_ID]} if len(name) > SHORT_ID else {key}

    def cache(self, witness: int) -> str:
        return os.path.join(self.work, f"cache-{witness}")

    def inform(self, witness: int) -> None:
        self.read_with("--cache-dir", self.cache(witness))

    def read(self, witness: int | None = None) -> Reading:
        return self.read_with("--no-cache") if witness is None else self.read_with("--cache-dir", self.cache(witness))

    def read_with(self, *options: str) -> Reading:
        target = self.fresh("restored")
        words = self.command("restore", "latest", "--target", target, *options)
        said = command.run(words, self.environment, seconds=RESTORE_SECONDS)
        if said.code == command.KILLED:
            # What is there is not finished, and nobody has said that it is.
            shutil.rmtree(target, ignore_errors=True)
            return Reading(failure=said.last, words=said.words)
        files: dict[str, bytes] = {}
        errors: dict[str, str] = {}
        # Paths are those of the source, from the root on.
        top = target + self.source
        if os.path.exists(top):
            files, errors = command.tree(top)
            shutil.rmtree(f"{top}.read")
        shutil.rmtree(target, ignore_errors=True)
        # "ignoring error for PATH: what is wrong"; such a file is there, but is not what it was.
        for line in said.words.split("\n"):
            name, _, problem = line.partition("ignoring error for ")[2].partition(": ")
            if problem:
                path = os.path.relpath(name, self.source) if name.startswith(self.source) else name.lstrip("/")
                errors[path] = problem
                files.pop(path, None)
        return Reading(files, errors, said.last if said.code and not errors else None, said.words)

    def set_cost(self, directory: str, bomb: Bomb) -> None:
        for key in sorted(store.keys(os.path.join(directory, "keys"))):
            parameters = json.loads(store.read(directory, f"keys/{key}"))
            parameters |= {"N": bomb.rounds, "r": bomb.block, "p": bomb.parallel}
            store.write(directory, f"keys/{key}", json.dumps(parameters).encode())

    def lowered(self) -> Mapping[str, Callable[[str], None]]:
        return {"scrypt of 1024 rounds": functools.partial(self.set_cost, bomb=Bomb("", 1024, 1))}

    def unlock(self) -> tuple[list[str], dict[str, str]]:
        return self.command("snapshots", "--no-cache"), self.environment
