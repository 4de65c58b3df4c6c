"""Reads of files whose bytes are not here."""

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import machine
from .data import SOURCE
from .machine import work
from .report import Aim, Sample
from .row import Row
from .store import Store
from .systems import PEER_BUCKET, Mounted, System

if TYPE_CHECKING:
    from .bench import Bench

# The rest of a file may follow its first bytes; the next file waits until that is over.
PAUSE_SECONDS = 1.0


class RawFirst(System):
    """One GET on a connection that is there already."""

    def __init__(self, bench: "Bench") -> None:
        super().__init__(bench, "raw GET", "raw")


class FirstByte(Row):
    unit = "s"
    aims: tuple[Aim, ...] = (Aim("dewpoint", "≤", 0.045),)
    is_listed = False

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in super().systems(systems) if one.family != "native"] + [RawFirst(self.bench)]

    def prepare(self) -> None:
        self.files = self.bench.data.cold()
        self.environment = self.bench.delayed()
        self.next: dict[str, int] = {}
        round_trip = self.bench.round_trip
        size = f"{self.scale.cold >> 20} MiB"
        if self.is_listed:
            self.title = f"first 4 KiB of a file of {size}, {round_trip:g} ms from the server, its directory listed"
        else:
            self.title = (
                f"first 4 KiB of a file of {size}, {round_trip:g} ms from the server, first access after mounting"
            )
        self.state = "Cold: new mount with an empty cache or state, caches dropped, free memory touched."

    def raw(self) -> Sample:
        """The same without a file system: the first 4 KiB, and the first MiB, which is what can be verified."""
        store = Store(self.environment)
        store.list(PEER_BUCKET, limit=1)
        seconds = {}
        for size in (4096, 1 << 20):
            time.sleep(PAUSE_SECONDS)
            view = memoryview(bytearray(size))
            start = time.perf_counter()
            store.get_into(PEER_BUCKET, f"{SOURCE}/{self.files[0][0]}", 0, view)
            seconds[size] = time.perf_counter() - start
        return Sample(seconds[4096], notes=[f"1 MiB in {seconds[1 << 20] * 1000:.0f} ms"])

    def mount(self, system: System) -> contextlib.AbstractContextManager[Mounted]:
        return system.mount(SOURCE, environment=self.environment)

    def warm(self, system: System) -> None:
        """What is not to be cold."""

    def sample(self, system: System) -> Sample:
        if isinstance(system, RawFirst):
            return self.raw()
        with self.mount(system) as mounted:
            self.bench.drop_caches()
            self.warm(system)
            count = self.scale.firsts if self.is_listed else 1
            if self.is_listed:
                directory = os.path.join(mounted.point, "cold")
                work("list_directory", self.scale.limit, path=directory, expected=len(self.files))
            first = self.next.get(system.label, 0)
            self.next[system.label] = first + count
            seconds = []

            def read() -> None:
                for number in range(first, first + count):
                    name = self.files[number % len(self.files)][0]
                    with open(os.path.join(self.bench.data.native, name), "rb") as file:
                        expected = machine.digest(file.read(4096))
                    time.sleep(PAUSE_SECONDS)
                    path = os.path.join(mounted.point, name)
                    seconds.append(work("first_byte", self.scale.limit, path=path, sha256=expected)["seconds"])

            _, details = self.observe(mounted, read)
            if self.is_listed:
                details["notes"] = ["each " + " ".join(f"{one * 1000:.0f}" for one in seconds) + " ms"]
            return Sample(sorted(seconds)[len(seconds) // 2], **details)


class FirstByteListed(FirstByte):
    key = "first-byte-listed"
    is_listed = True


class FirstByteFresh(FirstByte):
    key = "first-byte-fresh"


class RawGets(System):
    """Ranged GETs on so many connections, without a file system: what the server and this machine can do."""

    processes = 2

    def __init__(self, bench: "Bench", width: int) -> None:
        super().__init__(bench, f"raw GETs {width}", "raw")
        self.width = width


class ColdRead(Row):
    key = "cold-read"
    unit = "B/s"
    more_is_better = True
    part_byte_count = 8 << 20
    widths: tuple[int, ...] = (4, 8, 16)
    aims: tuple[Aim, ...] = (Aim("dewpoint", "≥", 1.5, "peer", kind="times"), Aim("dewpoint", "≥", 0.8, "raw GETs"))

    def systems(self, systems: Sequence[System]) -> list[System]:
        return super().systems(systems) + [RawGets(self.bench, width) for width in self.widths]

    def prepare(self) -> None:
        self.name, self.size, self.sha256 = self.bench.data.big()
        self.title = f"reading a file of {self.size >> 20} MiB that is not here, from start to end, in reads of 1 MiB"
        self.state = (
            "Cold: new mount with an empty cache or state, its directory listed, caches dropped, free memory touched."
        )
        if self.size < 1 << 30:
            self.scale_note = f"with {self.size >> 20} MiB instead of 1 GiB"

    def sample(self, system: System) -> Sample:
        if isinstance(system, RawGets):
            self.bench.drop_caches(self.size)
            result = work(
                "raw_get", self.scale.slow_limit, environment=self.bench.environment, bucket=PEER_BUCKET,
                key=f"{SOURCE}/{self.name}", size=self.size, sha256=self.sha256, width=system.width,
                part=self.part_byte_count, processes=system.processes,
            )  # fmt: skip
            return Sample(self.size / result["seconds"])
        with system.mount(SOURCE) as mounted:
            work("list_directory", self.scale.limit, path=mounted.point, expected=None)
            self.bench.drop_caches(self.size)
            path = os.path.join(mounted.point, self.name)
            result, details = self.observe(
                mounted, lambda: work("cold_read", self.scale.slow_limit, path=path, size=self.size, sha256=self.sha256)
            )
            details["firstByte"] = result["firstByte"]
            if mounted.pid:
                details["notes"] = [f"at most {details['memory']['peak'] >> 20} MiB held"]
            return Sample(self.size / result["seconds"], **details)


class ColdMany(Row):
    key = "cold-many"
    unit = "s"
    readers = 8
    is_far = False
    aims = (Aim("dewpoint", "≤", 0.6, "peer"),)

    def prepare(self) -> None:
        self.files = self.bench.data.many()
        where = f", {self.bench.round_trip:g} ms from the server" if self.is_far else ""
        self.title = f"reading {len(self.files)} files of 1 MiB that are not here, with {self.readers} readers{where}"
        self.state = (
            "Cold: new mount with an empty cache or state, their directory listed, caches dropped, free memory touched."
        )
        self.environment = self.bench.delayed() if self.is_far else None
        if len(self.files) < 200:
            self.scale_note = f"with {len(self.files)} files instead of 200"

    def sample(self, system: System) -> Sample:
        with system.mount(SOURCE, environment=self.environment) as mounted:
            directory = os.path.join(mounted.point, "many")
            work("list_directory", self.scale.limit, path=directory, expected=len(self.files))
            self.bench.drop_caches(sum(size for _, size, _ in self.files))
            result, details = self.observe(
                mounted,
                lambda: work(
                    "read_many", self.scale.slow_limit, directory=mounted.point, files=self.files, readers=self.readers
                ),
            )
            return Sample(result["seconds"], **details)


class FarMany(ColdMany):
    key = "cold-many-far"
    is_far = True

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in super().systems(systems) if one.family != "native"]
