"""Work on many items: listing, renaming and uploading them, and holding them in memory."""

import json
import os
import random
import time
import urllib.request
from collections.abc import Sequence

from . import machine
from .data import DIRECTORY_METADATA, SOURCE
from .machine import Failure, TooSlow, work
from .report import Aim, Sample
from .row import Row
from .store import Store, each
from .systems import DEWPOINT_BUCKET, PEER_BUCKET, Dewpoint, System

SAMPLE_FILES = 50
POLL_SECONDS = 0.05


class Find(Row):
    key = "find"
    unit = "s"
    has_many_files = True
    aims = (Aim("dewpoint", "≤", 0.5),)

    def prepare(self) -> None:
        self.files = self.bench.data.tree()
        self.size = sum(size for _, size, _ in self.files)
        self.title = f"find -printf '%y %s' over {len(self.files):,} files in 20 directories, on a fresh mount"
        self.state = "Cold: new mount with an empty cache or state, caches dropped, free memory touched. Without the time of mounting, which is noted."
        if len(self.files) < 20_000:
            self.scale_note = f"with {len(self.files):,} items instead of 20,000"

    def sample(self, system: System) -> Sample:
        with system.mount(SOURCE) as mounted:
            self.bench.drop_caches()
            path = os.path.join(mounted.point, "tree")
            result, details = self.observe(
                mounted, lambda: work("find", self.scale.limit, path=path, files=len(self.files), size=self.size)
            )
            if mounted.pid:
                whole = f", whole in {mounted.whole * 1000:.0f} ms" if mounted.whole else ""
                details["notes"] = [f"mounted in {mounted.seconds * 1000:.0f} ms{whole}"]
            return Sample(result["seconds"], **details)


class Rename(Row):
    key = "rename"
    unit = "s"
    has_many_files = True
    most_rounds = 3
    aims = (Aim("dewpoint", "≤", 0.010),)

    def prepare(self) -> None:
        self.files = self.bench.data.tree()
        self.size = sum(size for _, size, _ in self.files)
        self.title = f"rename(2) of a directory with {len(self.files):,} files below it"
        self.state = "Listed before. Afterwards all files must be under the new name."
        self.names: dict[str, str] = {}
        if len(self.files) < 20_000:
            self.scale_note = f"with {len(self.files):,} files instead of 20,000"

    def sample(self, system: System) -> Sample:
        source = SOURCE
        if system.is_peer:
            source = "rename-" + system.label.replace(" ", "-")
            if system.label not in self.names:
                self.bench.data.put(self.files, source)
        old = self.names.get(system.label, "tree")
        new = "renamed" if old == "tree" else "tree"
        with system.mount(source) as mounted:
            paths = [os.path.join(mounted.point, name) for name in (old, new)]
            check = {"files": len(self.files), "size": self.size}
            work("find", self.bench.prepare_limit, path=paths[0], **check)
            commits = self.commits(system)
            result, details = self.observe(
                mounted, lambda: work("rename", self.scale.slow_limit, source=paths[0], target=paths[1])
            )
            work("find", self.bench.prepare_limit, path=paths[1], **check)
            self.names[system.label] = new
            if isinstance(system, Dewpoint):
                start = time.perf_counter()
                system.sync(mounted.point, self.scale.limit)
                details["notes"] = [
                    f"{len(self.commits(system) - commits)} commit",
                    f"in the container {time.perf_counter() - start:.2f} s after",
                ]
            if system.family in ("dewpoint", "native"):
                # Other rows look for it under its own name.
                work("rename", self.scale.limit, source=paths[1], target=paths[0])
                self.names[system.label] = old
                if isinstance(system, Dewpoint):
                    system.sync(mounted.point, self.scale.limit)
        return Sample(result["seconds"], **details)

    def commits(self, system: System) -> set[str]:
        if not isinstance(system, Dewpoint):
            return set()
        return set(Store(self.bench.environment).list(DEWPOINT_BUCKET, f"{SOURCE}/log/"))


class Upload(Row):
    key = "upload"
    unit = "s"
    has_many_files = True
    most_rounds = 2
    aims: tuple[Aim, ...] = (Aim("dewpoint", "≥", 10, "peer", kind="times"),)
    # Of the data, what is copied.
    top = "tree"

    def environment(self) -> dict[str, str] | None:
        """How the store is reached; None for the shortest way."""
        return None

    def prepare(self) -> None:
        self.files = self.bench.data.tree()
        self.title = f"cp -r of {len(self.files):,} small files, until all are in the store"
        self.state = "The source is hot. Afterwards a fresh mount must read some of them back."
        self.size = sum(size for _, size, _ in self.files)
        if len(self.files) < 20_000:
            self.scale_note = f"with {len(self.files):,} files instead of 20,000"

    def sample(self, system: System) -> Sample:
        self.bench.count += 1
        source = f"upload-{self.bench.count}"
        tree = os.path.join(self.bench.data.native, self.top)
        limit = self.scale.slow_limit
        if system.is_peer:
            Store(self.bench.environment).put(PEER_BUCKET, f"{source}/", b"", DIRECTORY_METADATA)
        if isinstance(system, Dewpoint):
            system.create(source)
        way = self.environment()
        with system.mount(source, environment=way, control=system.family == "rclone") as mounted:

            def copy() -> tuple[float, float]:
                start = time.perf_counter()
                result = work("copy", limit, source=tree, target=mounted.point)
                left = max(1, limit - (time.perf_counter() - start))
                start = time.perf_counter()
                if isinstance(system, Dewpoint):
                    system.sync(mounted.point, left)
                elif system.family == "rclone":
                    self.await_rclone(mounted.port, source, left)
                elif system.family == "native":
                    machine.run("sync", "--file-system", mounted.point, seconds=left)
                return result["seconds"], time.perf_counter() - start

            try:
                (copied, waited), details = self.observe(mounted, copy)
            except TooSlow as problem:
                raise Failure(f"{TooSlow(limit)}; {self.progress(system, source)}") from problem
        details["notes"] = [f"cp alone {copied:.2f} s"]
        self.check(system, source)
        system.remove(source)
        return Sample(copied + waited, **details)

    def await_rclone(self, port: int, source: str, limit: float) -> None:
        """Waits until nothing is left in rclone's cache that is not in the bucket. Its counts miss what is in
        between."""
        end = time.monotonic() + limit
        while True:
            request = urllib.request.Request(f"http://127.0.0.1:{port}/vfs/stats", data=b"", method="POST")
            with urllib.request.urlopen(request, timeout=limit) as answer:
                cache = json.load(answer).get("diskCache") or {}
            pending = cache.get("uploadsInProgress") or cache.get("uploadsQueued")
            if not pending and self.count(source) == len(self.files):
                return
            if time.monotonic() > end:
                raise TooSlow(limit)
            time.sleep(POLL_SECONDS)

    def progress(self, system: System, source: str) -> str:
        if system.is_peer:
            return f"{self.count(source):,} of {len(self.files):,} were there"
        return ""

    def count(self, source: str) -> int:
        return sum(not key.endswith("/") for key in Store(self.bench.environment).list(PEER_BUCKET, f"{source}/"))

    def check(self, system: System, source: str) -> None:
        if system.is_peer and self.count(source) != len(self.files):
            raise Failure(f"only {self.count(source):,} of {len(self.files):,} files are in the bucket")
        files = random.sample(self.files, min(SAMPLE_FILES, len(self.files)))
        with system.mount(source) as mounted:
            work("check_sample", self.bench.prepare_limit, root=mounted.point, files=files)
            if isinstance(system, Dewpoint):
                path = os.path.join(mounted.point, self.top)
                if os.path.isdir(path):
                    work("find", self.bench.prepare_limit, path=path, files=len(self.files), size=self.size)
        self.forget(system, source)

    def forget(self, system: System, source: str) -> None:
        """The server keeps everything in memory."""
        if system.is_peer or isinstance(system, Dewpoint):
            environment = self.bench.environment
            bucket = PEER_BUCKET if system.is_peer else DEWPOINT_BUCKET
            keys = Store(environment).list(bucket, f"{source}/")
            each(environment, keys, lambda store, key: store.delete(bucket, key))


class Memory(Row):
    key = "memory"
    unit = "B"
    has_many_files = True
    most_rounds = 1
    aims = (Aim("dewpoint", "≤", 100e6),)

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in super().systems(systems) if one.family != "native"]

    def prepare(self) -> None:
        self.title = f"resident memory with {self.scale.million:,} items, all of them listed"
        self.state = "Dewpoint: a generated container in a directory. Peers: what each item of a smaller tree costs, times as many."
        if self.scale.million < 1_000_000:
            self.scale_note = f"with {self.scale.million:,} items instead of 1,000,000"
        if any(system.is_peer for system in self.bench.systems):
            self.files = self.bench.data.tree()

    def sample(self, system: System) -> Sample:
        if isinstance(system, Dewpoint):
            found = self.bench.growth(self.scale.million)
            memory = found["memory"]
            return Sample(
                memory["resident"],
                notes=[f"{memory['anonymous'] / 1e6:.0f} MB of its own, {memory['peak'] / 1e6:.0f} MB at most"],
            )
        with system.mount(SOURCE) as mounted:
            before = machine.memory(mounted.pid)["resident"]
            path = os.path.join(mounted.point, "tree")
            size = sum(size for _, size, _ in self.files)
            work("find", self.scale.slow_limit, path=path, files=len(self.files), size=size)
            after = machine.memory(mounted.pid)["resident"]
        share = (after - before) / len(self.files)
        return Sample(
            before + share * self.scale.million,
            notes=[
                f"extrapolated: {share:,.0f} B for each of {len(self.files):,} items, {before / 1e6:.0f} MB without"
            ],
        )


class KnownMount(Row):
    key = "known-mount"
    unit = "s"
    has_many_files = True
    most_rounds = 1
    needs_server = False
    aims = (Aim("dewpoint", "≤", 1),)

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in super().systems(systems) if one.family == "dewpoint"]

    def prepare(self) -> None:
        self.title = (
            f"mounting a container with {self.scale.million:,} items that is known here, until its root is listed"
        )
        self.state = "Hot. Peers know nothing from one mount to the next."
        if self.scale.million < 1_000_000:
            self.scale_note = f"with {self.scale.million:,} items instead of 1,000,000"

    def sample(self, system: System) -> Sample:
        return Sample(self.bench.growth(self.scale.million)["knownMount"])


class NewMount(KnownMount):
    key = "new-mount"
    aims = (Aim("dewpoint", "≤", 2),)

    def prepare(self) -> None:
        super().prepare()
        self.title = (
            f"mounting a container with {self.scale.million:,} items with a new state, until its root is listed"
        )

    def sample(self, system: System) -> Sample:
        found = self.bench.growth(self.scale.million)
        return Sample(found["mount"] + found["firstList"])
