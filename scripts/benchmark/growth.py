"""How a container costs more as it grows: one size at a time."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import machine
from .machine import Failure, work
from .report import show
from .systems import Dewpoint

if TYPE_CHECKING:
    from .bench import Bench

FILE_BYTE_COUNT = 1000
ITEMS_PER_DIRECTORY = 50
TOP_DIRECTORY = "directory 000000"
COLUMNS: list[tuple[str, str | tuple[str, str], str]] = [
    ("new mount", "mount", "s"),
    ("first ls", "firstList", "s"),
    ("find, stat of all", "find", "s"),
    ("rename of a top directory", "rename", "s"),
    ("status", "status", "s"),
    ("resident memory", ("memory", "resident"), "B"),
    ("of its own (anonymous)", ("memory", "anonymous"), "B"),
    ("at most", ("memory", "peak"), "B"),
    ("index", "index", "B"),
    ("unmount", "unmount", "s"),
    ("known mount and first ls", "knownMount", "s"),
    ("mount after kill -9", "repair", "s"),
]

# What was measured of one size, by the names of COLUMNS.
Growth = dict[str, Any]


def generate(place: str, items: int, limit: float) -> int:
    """Makes a container of so many items in a directory, and returns how many directories it has."""
    directories = max(10, items // ITEMS_PER_DIRECTORY)
    machine.say(f"  generating {items:,} items in {directories:,} directories")
    machine.run(
        sys.executable, os.path.join(machine.SCRIPTS, "generate-container"), place, "--items", str(items),
        "--directories", str(directories), "--file-size", str(FILE_BYTE_COUNT), seconds=limit,
    )  # fmt: skip
    return directories


def measure(bench: "Bench", items: int) -> Growth:
    """Everything that is measured of a container of one size, in seconds and bytes."""
    system = next(one for one in bench.systems if isinstance(one, Dewpoint) and one.label == "dewpoint")
    limit = bench.prepare_limit
    place = os.path.join(bench.work, f"container-{items}")
    directories = generate(place, items, limit)
    files = items - directories
    keep = f"growth-{items}"
    state = os.path.join(system.work, keep)
    found: Growth = {"items": items, "directories": directories}
    try:
        with system.mount("", keep=keep, directory=place) as mounted:
            found["mount"] = mounted.seconds
            found["firstList"] = work("list_directory", limit, path=mounted.point, expected=None)["seconds"]
            machine.say(f"  listing {items:,} items")
            found["find"] = work("find", limit, path=mounted.point, files=files, size=files * FILE_BYTE_COUNT)[
                "seconds"
            ]
            found["memory"] = machine.memory(mounted.pid)
            paths = [os.path.join(mounted.point, name) for name in (TOP_DIRECTORY, "renamed")]
            found["rename"] = work("rename", limit, source=paths[0], target=paths[1])["seconds"]
            found["status"] = timed(system.binary, "status", mounted.point, seconds=limit)
            system.sync(mounted.point, limit)
            found["index"] = sum(
                os.path.getsize(os.path.join(state, name))
                for name in os.listdir(state)
                if name.startswith("index.sqlite")
            )
            start = time.perf_counter()
            machine.run(system.binary, "unmount", mounted.point, seconds=limit)
            found["unmount"] = time.perf_counter() - start
            bench.end_daemon(mounted.pid)
        with system.mount("", keep=keep, directory=place) as mounted:
            listed = work("list_directory", limit, path=mounted.point, expected=None)["seconds"]
            found["knownMount"] = mounted.seconds + listed
            os.kill(mounted.pid, signal.SIGKILL)
            bench.end_daemon(mounted.pid)
            machine.take_down(mounted.point)
        with system.mount("", keep=keep, directory=place) as mounted:
            found["repair"] = mounted.seconds
    finally:
        shutil.rmtree(state, ignore_errors=True)
        shutil.rmtree(place, ignore_errors=True)
    return found


def timed(*command: str, seconds: float) -> float:
    start = time.perf_counter()
    machine.run(*command, seconds=seconds)
    return time.perf_counter() - start


def table(measured: Sequence[Growth]) -> Iterator[str]:
    """Sizes side by side, and how much the largest costs for each ten times as many items."""
    yield ""
    yield "growth: one container of a growing number of items, in a directory; the times of commands are with their start"
    yield f"  {'':<28}" + "".join(f"{one['items']:>14,}" for one in measured)
    for title, key, unit in COLUMNS:
        values = [value_of(one, key) for one in measured]
        yield f"  {title:<28}" + "".join(f"{show(value, unit):>14}" for value in values)


def value_of(found: Growth, key: str | tuple[str, str]) -> float | None:
    if isinstance(key, tuple):
        found, key = found.get(key[0], {}), key[1]
    return found.get(key)


def run(bench: "Bench", sizes: Sequence[int]) -> list[Growth]:
    """Measures one size after the other; what fails is named and the next one is tried."""
    measured = []
    for items in sizes:
        try:
            measured.append(bench.growth(items))
        except (Failure, OSError) as problem:
            bench.skip(f"growth at {items:,} items", str(problem))
    return measured
