"""Uploads over a round trip, with as much as a connection carries and with a limit for each, beside parallel PUTs."""

import os
import time
from collections.abc import Sequence

from .report import Aim, Sample
from .store import Store, each
from .systems import PEER_BUCKET, Native, System
from .trees import Upload

RAW = "eight PUTs"
RAW_WIDTH = 8
# Of one PUT: as much as Dewpoint puts into a pack.
RAW_BYTE_COUNT = 16 << 20
# What services give one connection.
LIMIT_MEGABYTES = 40


class Raw(Native):
    """Eight connections that write the same bytes as objects, and nothing else."""

    def __init__(self, system: Native) -> None:
        super().__init__(system.bench)
        self.label = RAW


class FarUpload(Upload):
    """Of some files. `limit`: megabytes a second of each connection; 0 for none."""

    most_rounds = 3
    limit = 0.0
    name = ""

    def systems(self, systems: Sequence[System]) -> list[System]:
        raw = [Raw(one) for one in systems if isinstance(one, Native)]
        return [*raw, *(one for one in super().systems(systems) if one.family in ("dewpoint", "rclone"))]

    def environment(self) -> dict[str, str]:
        return self.bench.delayed(self.limit)

    def prepare(self) -> None:
        self.files = self.choose()
        self.size = sum(size for _, size, _ in self.files)
        carried = f", {self.limit:g} MB/s a connection" if self.limit else ""
        self.title = f"cp of {self.name}, {self.bench.round_trip} ms from the store{carried}, until all is there"
        self.state = f"The source is hot. {RAW}: objects of at most {RAW_BYTE_COUNT >> 20} MiB, from memory."

    def choose(self) -> list[tuple[str, int, str]]:
        raise NotImplementedError

    def sample(self, system: System) -> Sample:
        return self.put(system.label) if isinstance(system, Raw) else super().sample(system)

    def put(self, label: str) -> Sample:
        source = f"raw-{self.bench.count}"
        self.bench.count += 1
        bodies: list[tuple[str, bytes]] = []
        for name, size, _ in self.files:
            with open(os.path.join(self.bench.data.native, name), "rb") as file:
                for place in range(0, size, RAW_BYTE_COUNT):
                    bodies.append((f"{source}/{name}/{place}", file.read(RAW_BYTE_COUNT)))

        def write(store: Store, body: tuple[str, bytes]) -> None:
            store.request("PUT", PEER_BUCKET, body[0], body=body[1]).read()

        start = time.perf_counter()
        each(self.environment(), bodies, write, RAW_WIDTH)
        seconds = time.perf_counter() - start
        each(self.bench.environment, bodies, lambda store, body: store.delete(PEER_BUCKET, body[0]))
        return Sample(seconds, notes=[label])


class UploadOne(FarUpload):
    key = "upload-one"
    top = "big.bin"
    aims = (Aim("dewpoint", "≤", 1.11, RAW), Aim("dewpoint", "≥", 1.2, "peer", kind="times"))

    def choose(self) -> list[tuple[str, int, str]]:
        file = self.bench.data.big()
        self.name = f"a file of {file[1] >> 20} MiB"
        return [file]


class UploadOneLimited(UploadOne):
    key = "upload-one-limited"
    limit = LIMIT_MEGABYTES


class UploadMany(FarUpload):
    key = "upload-many"
    top = "many"
    aims = (Aim("dewpoint", "≥", 1.2, "peer", kind="times"),)

    def choose(self) -> list[tuple[str, int, str]]:
        files = self.bench.data.many()
        self.name = f"{len(files)} files of 1 MiB"
        return files


class UploadManyLimited(UploadMany):
    key = "upload-many-limited"
    limit = LIMIT_MEGABYTES


class UploadTree(FarUpload):
    key = "upload-far"
    most_rounds = 1
    aims = Upload.aims

    def systems(self, systems: Sequence[System]) -> list[System]:
        return [one for one in super().systems(systems) if not isinstance(one, Raw)]

    def choose(self) -> list[tuple[str, int, str]]:
        files = self.bench.data.tree()
        self.name = f"{len(files):,} small files"
        return files


class UploadTreeLimited(UploadTree):
    key = "upload-far-limited"
    limit = LIMIT_MEGABYTES
