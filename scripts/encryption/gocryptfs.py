"""gocryptfs as it comes: AES-256-GCM, encrypted names, the key in gocryptfs.conf under a passphrase."""

import contextlib
import functools
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping

from . import command, store
from .judge import Reading
from .system import Bomb, DirectoryWriter, System, Writer, read_mount

CONFIG = "gocryptfs.conf"


class Gocryptfs(System):
    label = "gocryptfs"
    program, absent = "gocryptfs", "Debian's package is not installed"
    # A file has 18 bytes of header, and blocks of 4096 bytes with 32 of nonce and tag.
    header, segment = 18, 4128

    def command(self, *words: str) -> list[str]:
        return super().command("-passfile", os.path.join(self.work, "passphrase"), *words)

    def version(self) -> str:
        said = command.must(super().command("-version"), self.environment)
        return said.split(";")[0].removeprefix("gocryptfs ")

    def create(self) -> None:
        os.makedirs(self.store)
        with open(os.path.join(self.work, "passphrase"), "w", encoding="utf-8") as file:
            file.write(self.passphrase)
        command.must(self.command("-init", self.store), self.environment)

    def mounted(self, point: str) -> contextlib.AbstractContextManager[None]:
        return command.foreground(self.command("-fg", self.store, point), self.environment, point, f"{point}.log")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        point = self.fresh("mount")
        with self.mounted(point):
            yield DirectoryWriter(point)

    def kind(self, key: str) -> str:
        if key == CONFIG:
            return "config"
        name = os.path.basename(key)
        return "metadata" if name == "gocryptfs.diriv" or name.endswith(".name") else "data"

    def has_names(self) -> bool:
        return True

    def aliases(self, key: str) -> Collection[str]:
        return {key, "config file"} if key == CONFIG else super().aliases(key)

    def read(self, witness: int | None = None) -> Reading:
        point = self.fresh("mount")
        return read_mount(self.mounted(point), point)

    @staticmethod
    def change(directory: str, change: Callable[[dict[str, object]], None]) -> None:
        config = json.loads(store.read(directory, CONFIG))
        change(config)
        store.write(directory, CONFIG, json.dumps(config).encode())

    def set_cost(self, directory: str, bomb: Bomb) -> None:
        def change(config: dict[str, object]) -> None:
            cost = config["ScryptObject"]
            assert isinstance(cost, dict)
            cost |= {"N": bomb.rounds, "R": bomb.block, "P": bomb.parallel}

        self.change(directory, change)

    def lowered(self) -> Mapping[str, Callable[[str], None]]:
        def without(flag: str, *others: str) -> Callable[[str], None]:
            def change(config: dict[str, object]) -> None:
                flags = config["FeatureFlags"]
                assert isinstance(flags, list)
                config["FeatureFlags"] = [one for one in flags if one != flag and one not in others]

            return functools.partial(self.change, change=change)

        def plain_names(config: dict[str, object]) -> None:
            flags = config["FeatureFlags"]
            assert isinstance(flags, list)
            config["FeatureFlags"] = [one for one in flags if one in ("GCMIV128", "HKDF")] + ["PlaintextNames"]

        return {
            "scrypt of 1024 rounds": lambda directory: self.set_cost(directory, Bomb("", 1024, 1)),
            "no HKDF": without("HKDF"),
            "plain names": functools.partial(self.change, change=plain_names),
        }

    def unlock(self) -> tuple[list[str], dict[str, str]]:
        return self.command("-fsck", self.store), self.environment
