"""Reads of a file that is here already."""

import json
import os
from collections.abc import Sequence

from . import machine
from .data import SOURCE
from .machine import work
from .report import Aim, Sample
from .row import Row
from .systems import Mounted, System

RANDOM_SECONDS = 2
RANDOM_CHECKS = 200


class HotRow(Row):
    """Rows on a file that every system has downloaded: all mounts stay, and are measured in turns."""

    more_is_better = True

    def systems(self, systems: Sequence[System]) -> list[System]:
        return list(systems)

    def prepare(self) -> None:
        self.name, self.size, self.sha256 = self.bench.data.hot()
        self.mounts: dict[str, Mounted] = {}

    def mounted(self, system: System) -> Mounted:
        if system.label not in self.mounts:
            mounted = self.stack.enter_context(system.mount(SOURCE))
            work("check_sample", self.scale.limit, root=mounted.point, files=[(self.name, self.size, self.sha256)])
            self.mounts[system.label] = mounted
        return self.mounts[system.label]


class HotRead(HotRow):
    key = "hot-read"
    unit = "B/s"
    aims: tuple[Aim, ...] = (Aim("dewpoint", "≥", 0.95, "native"), Aim("dewpoint cached", "≥", 0.5, "native"))

    def prepare(self) -> None:
        super().prepare()
        self.title = f"reading a downloaded file of {self.size >> 20} MiB from start to end, in reads of 1 MiB"
        self.state = "Hot: read before, nothing dropped. Median of passes, each of which opens the file anew."

    def sample(self, system: System) -> Sample:
        mounted = self.mounted(system)
        path = os.path.join(mounted.point, self.name)
        result, details = self.observe(
            mounted,
            lambda: work(
                "hot_read", self.scale.limit, path=path, size=self.size, sha256=self.sha256, passes=self.scale.passes
            ),
        )
        return Sample(self.size / result["seconds"], **details)


class HotRandom(HotRow):
    key = "hot-random"
    unit = "/s"
    aims: tuple[Aim, ...] = (Aim("dewpoint", "≥", 0.9, "native"),)

    def prepare(self) -> None:
        super().prepare()
        self.title = f"random reads of 4 KiB in a downloaded file of {self.size >> 20} MiB, by one reader"
        self.state = f"Hot: read before, nothing dropped. fio, psync, for {RANDOM_SECONDS} s."

    def sample(self, system: System) -> Sample:
        mounted = self.mounted(system)
        path = os.path.join(mounted.point, self.name)
        source = os.path.join(self.bench.data.native, self.name)
        work("check_pages", self.scale.limit, path=path, source=source, pages=RANDOM_CHECKS)

        def measure() -> str:
            return machine.run(
                "fio", "--name=random", f"--filename={path}", "--readonly", "--rw=randread", "--bs=4k", "--ioengine=psync",
                "--invalidate=0", "--norandommap", "--randrepeat=0", "--gtod_reduce=1", "--thread", "--time_based",
                f"--runtime={RANDOM_SECONDS}", "--output-format=json",
                seconds=self.scale.limit,
            )  # fmt: skip

        output, details = self.observe(mounted, measure)
        # fio puts a line of words before its JSON where a system is unusual.
        return Sample(json.loads(output[output.index("{") :])["jobs"][0]["read"]["iops"], **details)
