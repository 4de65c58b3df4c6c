"""What changes of names and attributes cost, beside FUSE itself: libfuse's example passthrough_ll, which does nothing but
pass each call on."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import machine
from .machine import Failure, work
from .report import Aim, Sample
from .row import Row
from .systems import Dewpoint, Foreground, Mounted, Native, System, Wish

if TYPE_CHECKING:
    from .bench import Bench

PASSTHROUGH = "passthrough_ll"
# Debian's package libfuse3-dev has it.
EXAMPLE = "/usr/share/doc/libfuse3-dev/examples/passthrough_ll.c"
CACHED = "dewpoint cached"


class Passthrough(Foreground):
    """Its option cache=always lets the kernel keep names and attributes, as Dewpoint does."""

    def __init__(self, bench: "Bench") -> None:
        super().__init__(bench, PASSTHROUGH, PASSTHROUGH)
        self.program = os.path.join(bench.work, "built")

    def command(self, wish: Wish, point: str, cache: str, environment: Mapping[str, str]) -> list[str]:
        if not os.path.exists(self.program):
            flags = machine.run("pkg-config", "--cflags", "--libs", "fuse3").split()
            machine.run("cc", "-O2", "-w", EXAMPLE, *flags, "-o", self.program)
        return [self.program, "-f", "-o", f"source={cache},cache=always", point]

    def commands(self) -> str:
        return f"{PASSTHROUGH} -f -o source=DIRECTORY,cache=always POINT"


class DewpointHere(Dewpoint):
    """On a directory, since no request to a store is measured."""

    def at_home(self) -> str:
        return os.path.join(self.work, "container")

    def commands(self) -> str:
        return " ".join(self.command(self.url("", "/DIRECTORY"), "POINT", "STATE"))


def beside(bench: "Bench") -> list[System]:
    if not os.path.exists(EXAMPLE):
        raise Failure(f"{EXAMPLE} is missing; Debian's package libfuse3-dev has it")
    return [Native(bench), Passthrough(bench), DewpointHere(bench), DewpointHere(bench, CACHED, ["off=passthrough"])]


class NameRow(Row):
    """One kind of call, many times, each on a name of its own; the time of one."""

    unit = "s"
    needs_server = False
    has_many_files = True
    operation = what = ""

    def systems(self, systems: Sequence[System]) -> list[System]:
        return list(systems)

    def prepare(self) -> None:
        self.title = f"{self.what}, {self.scale.calls:,} times in one directory"
        self.state = "What it needs was made before, and is uploaded. One program, one call after the other."
        self.mounts: dict[str, Mounted] = {}
        self.round = 0

    def mounted(self, system: System) -> Mounted:
        if system.label not in self.mounts:
            directory = None
            if isinstance(system, DewpointHere):
                directory = f"{system.at_home()}-{self.key}"
                os.makedirs(system.work, exist_ok=True)
                system.create("", directory)
            self.mounts[system.label] = self.stack.enter_context(
                system.mount(f"names-{self.key}", directory=directory, environment={})
            )
        return self.mounts[system.label]

    def sample(self, system: System) -> Sample:
        mounted = self.mounted(system)
        self.round += 1
        root = os.path.join(mounted.point, str(self.round))
        call: dict[str, Any] = {"root": root, "operation": self.operation, "count": self.scale.calls}
        work("prepare_names", self.scale.limit, **call)
        if isinstance(system, Dewpoint):
            system.sync(mounted.point, self.scale.limit)
        result, details = self.observe(mounted, lambda: work("change_names", self.scale.limit, **call))
        if "cpuSeconds" in details:
            details["notes"] = [f"{details['cpuSeconds'] / self.scale.calls * 1e6:.0f} µs of processor each"]
        return Sample(result["seconds"], **details)


def row(name: str, title: str, most: float) -> type[NameRow]:
    """`most`: how many times as long as with passthrough_ll it may take."""

    class Named(NameRow):
        key = operation = name
        what = title
        aims: tuple[Aim, ...] = tuple(Aim(label, "≤", most, PASSTHROUGH) for label in ("dewpoint", CACHED))

    return Named


ROWS = [
    row("create", "creating a file, writing 100 bytes, closing it", 1.3),
    row("mkdir", "mkdir(2)", 1.3),
    row("rename", "rename(2) of a file", 1.3),
    row("chmod", "chmod(2) of a file", 1.3),
    row("utime", "utimensat(2) of a file", 1.3),
    row("save", "saving a file: a temporary file of 100 bytes is renamed over it", 1.3),
    row("rewrite", "opening a file with O_TRUNC, writing 100 bytes, closing it", 1.5),
    row("fsync", "writing 4 KiB into one file, fsync(2)", 2),
    row("open", "opening a file for reading, closing it", 1.1),
    row("unlink", "unlink(2) of a file of 100 bytes", 1.5),
    row("pwrite", "pwrite(2) of 4 KiB into one file", 1.1),
    row("pread", "pread(2) of 4 KiB from one file that is open for reading and writing", 1.2),
]
