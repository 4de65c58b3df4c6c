"""rclone's crypt remote on a local directory, with the passwords that its documentation recommends: two."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from . import command
from .judge import Reading
from .system import System, Writer


class Rclone(System):
    label = "rclone crypt"
    program, absent = "rclone", "it could not be installed from PyPI"
    # "a header and is divided into chunks": 32 bytes, and 16 and up to 65,536.
    header, segment = 32, 65_552
    no_config = "the store has nothing of keys: they are made of two passwords of the device's configuration"

    @property
    def environment(self) -> dict[str, str]:
        secrets = dict(line.split("=", 1) for line in command.text(self.passwords).split("\n") if line)
        return super().environment | {
            "RCLONE_CONFIG": os.devnull,
            "RCLONE_CONFIG_SECRET_TYPE": "crypt",
            "RCLONE_CONFIG_SECRET_REMOTE": self.store,
            **secrets,
        }

    @property
    def passwords(self) -> str:
        return os.path.join(self.secrets, "passwords")

    def version(self) -> str:
        said = command.must(self.command("version"), super().environment)
        return said.split("\n")[0].removeprefix("rclone v")

    def create(self) -> None:
        os.makedirs(self.store)
        if os.path.exists(self.passwords):
            return
        lines = []
        for name, password in (("PASSWORD", self.passphrase), ("PASSWORD2", f"salt of {self.passphrase}")):
            obscured = command.must(self.command("obscure", "-"), super().environment, password.encode()).strip()
            lines.append(f"RCLONE_CONFIG_SECRET_{name}={obscured}")
        with open(self.passwords, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        directory = self.fresh("source")
        os.makedirs(directory)
        yield RcloneWriter(self, directory)
        shutil.rmtree(directory)

    def kind(self, key: str) -> str:
        return "data"

    def has_names(self) -> bool:
        return True

    def read(self, witness: int | None = None) -> Reading:
        target = self.fresh("copied")
        os.makedirs(target)
        said = command.run(self.command("copy", "secret:", target, "--retries", "1"), self.environment)
        files, errors = command.tree(target)
        shutil.rmtree(target)
        shutil.rmtree(target + ".read")
        if said.code == command.KILLED:
            return Reading(failure=said.last, words=said.words)
        if not said.code:
            return Reading(files, errors, None, said.words)
        # "ERROR : PATH: what is wrong"; what comes then is a summary.
        for line in said.words.split("\n"):
            name, _, problem = line.partition("ERROR : ")[2].partition(": ")
            if problem and name not in ("Attempt 1/1 failed with 1 errors and", "."):
                errors[name] = problem
                files.pop(name, None)
        return Reading(files, errors, None if errors else said.last, said.words)


class RcloneWriter(Writer):
    """Gathers files, and uploads them."""

    def __init__(self, system: Rclone, directory: str) -> None:
        self.system, self.directory = system, directory
        self.removed: list[str] = []

    def write(self, path: str, data: bytes) -> None:
        place = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)

    def remove(self, path: str) -> None:
        self.removed.append(path)

    def settle(self) -> None:
        system = self.system
        for path in self.removed:
            command.must(system.command("deletefile", f"secret:{path}"), system.environment)
        self.removed = []
        command.must(system.command("copy", self.directory, "secret:", "--ignore-times"), system.environment)
        shutil.rmtree(self.directory)
        os.makedirs(self.directory)
