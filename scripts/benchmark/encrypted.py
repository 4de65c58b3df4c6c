"""What encryption costs: the same daemon on a plain container and on an encrypted one, in turns."""

import contextlib
import os
import shutil
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import growth, machine
from .cold import ColdRead, FirstByteFresh, FirstByteListed
from .data import SOURCE
from .hot import HotRandom, HotRead
from .machine import work
from .report import Aim, Sample
from .row import Row
from .systems import Dewpoint, Mounted, System
from .trees import Upload

if TYPE_CHECKING:
    from .bench import Bench

PLAIN = "dewpoint"
ENCRYPTED = "dewpoint encrypted"
# What opens the container, in the state of a device that is enrolled.
KEYRING = "keyring.json"
PASSPHRASE = "measured beside the plain one"


class Encrypted(Dewpoint):
    """Each mount with a new state unlocks the container with the passphrase, and enrols another device."""

    def __init__(self, bench: "Bench") -> None:
        super().__init__(bench, ENCRYPTED)
        self.secret = os.path.join(bench.work, "passphrase")
        with open(self.secret, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(PASSPHRASE + "\n")

    def url(self, source: str, directory: str | None = None) -> str:
        return super().url(source + "-encrypted", directory + "-encrypted" if directory else None)

    def creation(self, source: str, directory: str | None = None) -> list[str]:
        return super().creation(source, directory) + self.keys(f"{self.bench.count}-{source}")

    def keys(self, name: str, option: str = "--passphrase-file") -> list[str]:
        recovery = os.path.join(self.bench.work, f"recovery-{name}")
        return ["--encrypt", option, self.secret, "--recovery-file", recovery]

    def command(self, url: str, point: str, state: str) -> list[str]:
        command = super().command(url, point, state)
        # Whoever gives it makes the mount ask the store whether this device still counts.
        is_enrolled = os.path.exists(os.path.join(state, KEYRING))
        return command if is_enrolled else [*command, "--passphrase-file", self.secret]


def both(bench: "Bench") -> list[System]:
    return [Dewpoint(bench), Encrypted(bench)]


class OnlyBoth(Row):
    def systems(self, systems: Sequence[System]) -> list[System]:
        return list(systems)


class ColdProcessor(ColdRead):
    key = "cold-cpu"
    unit = "s"
    more_is_better = False
    widths = ()
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 1.3, PLAIN),)

    def prepare(self) -> None:
        super().prepare()
        self.title = f"the daemon's processor time while {self.size >> 20} MiB are read that are not here"

    def sample(self, system: System) -> Sample:
        details = super().sample(system).details
        return Sample(details.pop("cpuSeconds"), **details)


class FirstByteBoth(FirstByteFresh):
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 0.001, PLAIN, "more"),)

    def systems(self, systems: Sequence[System]) -> list[System]:
        return list(systems)


class FirstByteListedBoth(FirstByteListed):
    aims = FirstByteBoth.aims

    def systems(self, systems: Sequence[System]) -> list[System]:
        return list(systems)


class FirstByteDirectory(FirstByteBoth):
    """Without the server: it shares the processors, so that a second request at the same time slows down the first."""

    key = "first-byte-dir"

    def prepare(self) -> None:
        super().prepare()
        self.title += "; the container is in a directory"
        self.state += " The container's files are in memory. The daemon's link conditioner delays each request."
        self.place = os.path.join(self.bench.work, "container-cold")
        for system in self.bench.systems:
            assert isinstance(system, Dewpoint)
            system.create("", self.place)
            with system.mount("", directory=self.place, keep="filler-directory") as mounted:
                limit = self.bench.prepare_limit
                machine.run(
                    "cp", "-r", "--", os.path.join(self.bench.data.native, "cold"), mounted.point, seconds=limit
                )
                system.sync(mounted.point, limit)

    def warm(self, system: System) -> None:
        """The container's files: a server has them in memory too."""
        assert isinstance(system, Dewpoint)
        for directory, _, names in os.walk(system.url("", self.place).removeprefix("file://")):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    while file.read(1 << 20):
                        pass

    def mount(self, system: System) -> contextlib.AbstractContextManager[Mounted]:
        return system.mount("", directory=self.place, options=[f"link_delay={self.bench.round_trip:g}ms"])


class UploadBig(OnlyBoth):
    key = "upload-big"
    unit = "s"
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 1.1, PLAIN),)

    def prepare(self) -> None:
        self.name, self.size, _ = self.bench.data.big()
        self.title = f"cp of a file of {self.size >> 20} MiB, until it is in the store"
        self.state = "The source is hot."

    def sample(self, system: System) -> Sample:
        assert isinstance(system, Dewpoint)
        self.bench.count += 1
        source = f"upload-{self.bench.count}"
        system.create(source)
        with system.mount(source) as mounted:

            def copy() -> float:
                start = time.perf_counter()
                path = os.path.join(self.bench.data.native, self.name)
                work("copy", self.scale.slow_limit, source=path, target=mounted.point)
                system.sync(mounted.point, self.scale.slow_limit)
                return time.perf_counter() - start

            seconds, details = self.observe(mounted, copy)
        system.remove(source)
        details["notes"] = [f"{details['cpuSeconds']:.2f} s of processor"]
        return Sample(seconds, **details)


class UploadSmall(Upload):
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 1.1, PLAIN),)


class FirstMount(OnlyBoth):
    key = "mount-first"
    unit = "s"
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 1.0, PLAIN, "more"),)
    is_known = False

    def prepare(self) -> None:
        self.bench.data.many()
        which = "which is known" if self.is_known else "with a new state"
        self.title = f"mounting a container of some files, {which}"
        self.state = "Hot. The encrypted one is opened with its passphrase where the state is new."

    def sample(self, system: System) -> Sample:
        self.bench.count += 1
        keep = f"mount-{self.bench.count}"
        with system.mount(SOURCE, keep=keep) as mounted:
            seconds = mounted.seconds
        if self.is_known:
            with system.mount(SOURCE, keep=keep) as mounted:
                seconds = mounted.seconds
        return Sample(seconds)


class KnownAgain(FirstMount):
    key = "mount-again"
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 0.02, PLAIN, "more"),)
    is_known = True


class ManyItems(OnlyBoth):
    key = "mount-many"
    unit = "s"
    needs_server = False
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≤", 1.2, PLAIN),)

    def prepare(self) -> None:
        count = self.scale.million
        self.title = f"mounting a container of {count:,} items with a new state, until its root is listed"
        self.state = "The container is in a directory, and the encrypted one a copy of the plain one. Hot."
        if count < 1_000_000:
            self.scale_note = f"with {count:,} items instead of 1,000,000"
        self.place = os.path.join(self.bench.work, f"container-{count}")
        growth.generate(self.place, count, self.bench.prepare_limit)
        plain, encrypted = (system for system in self.bench.systems if isinstance(system, Dewpoint))
        assert isinstance(encrypted, Encrypted)
        command = [plain.binary, "container", "copy", plain.url("", self.place), encrypted.url("", self.place)]
        machine.run(*command, *encrypted.keys("many", "--new-passphrase-file"), seconds=self.bench.prepare_limit)
        self.state += " The encrypted one was unlocked on this device before, as it is where it was created."
        with encrypted.mount("", directory=self.place, environment={}, keep="unlocked"):
            pass

    def sample(self, system: System) -> Sample:
        assert isinstance(system, Dewpoint)
        self.bench.count += 1
        keep = f"many-{self.bench.count}"
        if isinstance(system, Encrypted):
            os.makedirs(os.path.join(system.work, keep), mode=0o700)
            shutil.copy2(os.path.join(system.work, "unlocked", KEYRING), os.path.join(system.work, keep, KEYRING))
        with system.mount("", directory=self.place, environment={}, keep=keep) as mounted:
            listed = work("list_directory", self.scale.slow_limit, path=mounted.point, expected=None)["seconds"]
            memory = machine.memory(mounted.pid)
        return Sample(mounted.seconds + listed, notes=[f"{memory['peak'] / 1e6:.0f} MB at most"])


class HotReadBoth(HotRead):
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≥", 0.95, PLAIN),)


class HotRandomBoth(HotRandom):
    aims: tuple[Aim, ...] = (Aim(ENCRYPTED, "≥", 0.95, PLAIN),)


ROWS = [
    ColdProcessor, FirstByteListedBoth, FirstByteBoth, FirstByteDirectory, UploadBig, UploadSmall, FirstMount, KnownAgain, ManyItems,
    HotReadBoth, HotRandomBoth,
]  # fmt: skip
