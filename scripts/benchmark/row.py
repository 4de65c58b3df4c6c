"""What all pieces of work that are measured have in common."""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from . import machine
from .report import Aim, Sample
from .systems import Mounted, System

if TYPE_CHECKING:
    from .bench import Bench

Result = TypeVar("Result")


class Row:
    """One piece of work. `sample` does it once, on one system, and returns what it took."""

    key = title = state = unit = ""
    more_is_better = False
    aims: tuple[Aim, ...] = ()
    # More runs than these tell nothing new of what takes minutes.
    most_rounds = 99
    needs_server = True
    # ext4 looks long for a free inode while thousands have been removed within the last seconds, and who makes files
    # pays for it: rows with many files remove what a system left behind after all have been measured.
    has_many_files = False
    # What is smaller than the aim speaks of.
    scale_note = ""

    def __init__(self, bench: "Bench") -> None:
        self.bench, self.scale = bench, bench.scale
        self.stack = contextlib.ExitStack()
        bench.keeps_leftovers = self.has_many_files
        self.prepare()

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in systems if one.label != "dewpoint cached"]

    def is_peer(self, label: str) -> bool:
        return any(one.label == label and one.is_peer for one in self.bench.systems)

    def prepare(self) -> None:
        pass

    def sample(self, system: System) -> Sample:
        raise NotImplementedError

    def close(self) -> None:
        self.stack.close()
        self.bench.keeps_leftovers = False
        self.bench.remove_leftovers()

    def observe(self, mounted: Mounted, action: Callable[[], Result]) -> tuple[Result, dict[str, Any]]:
        """What an action returns, and what it cost the daemon and the server."""
        server, pid = self.bench.server, mounted.pid
        mark = server.mark() if server else 0
        before = machine.processor_seconds(pid) if pid else 0
        result = action()
        details: dict[str, Any] = {}
        if pid:
            details["cpuSeconds"] = round(machine.processor_seconds(pid) - before, 3)
            details["memory"] = machine.memory(pid)
            if server:
                details["requests"] = server.requests(mark)
        return result, details
