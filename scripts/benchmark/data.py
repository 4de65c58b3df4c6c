"""The trees that are read, renamed and copied: the same bytes for every system, and known by their hashes."""

import hashlib
import os
import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import machine
from .store import Store, each
from .systems import PEER_BUCKET, Dewpoint

if TYPE_CHECKING:
    from .bench import Bench, Scale

SOURCE = "main"
TREE_DIRECTORIES = 20
SEED = 20
DIRECTORY_METADATA = {"mode": 0o40755, "uid": 0, "gid": 0, "mtime": 1700000000}
FILE_METADATA = {"mode": 0o100644, "uid": 0, "gid": 0, "mtime": 1700000000}

# Name, size and SHA-256.
File = tuple[str, int, str]
Files = list[File]


class Data:
    """Makes each part when it is first asked for: on this machine's disk, in the peers' bucket, and in the
    container."""

    def __init__(self, bench: "Bench", scale: "Scale") -> None:
        self.bench, self.scale = bench, scale
        self.native = os.path.join(bench.work, "native", SOURCE)
        self.random = random.Random(SEED)
        self.parts: dict[str, Files] = {}
        # The addresses of the containers that were made.
        self.containers: set[str] = set()

    def big(self) -> File:
        """One large file, as (name, size, SHA-256)."""
        return self.part("big.bin", lambda: [self.write("big.bin", self.scale.big)])[0]

    def hot(self) -> File:
        """One file that fits into every cache."""
        return self.part("hot.bin", lambda: [self.write("hot.bin", self.scale.hot)])[0]

    def many(self) -> Files:
        """Files of 1 MiB."""
        return self.part("many", lambda: [self.write(f"many/{n:03}.bin", 1 << 20) for n in range(self.scale.many)])

    def cold(self) -> Files:
        """Files each of which is read for the first time once."""
        return self.part(
            "cold", lambda: [self.write(f"cold/{n:02}.bin", self.scale.cold) for n in range(self.scale.colds)]
        )

    def tree(self) -> Files:
        """Many small files in a few directories."""
        return self.part("tree", self.write_tree)

    def write_tree(self) -> Files:
        each_count = self.scale.items // TREE_DIRECTORIES
        return [
            self.write(f"tree/directory {one:02}/file {n:05}.txt", self.random.randrange(1, 4000))
            for one in range(TREE_DIRECTORIES)
            for n in range(each_count)
        ]

    def write(self, name: str, size: int) -> File:
        path = os.path.join(self.native, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        hasher = hashlib.sha256()
        with open(path, "wb") as file:
            for start in range(0, size, 1 << 24):
                block = self.random.randbytes(min(1 << 24, size - start))
                hasher.update(block)
                file.write(block)
        return name, size, hasher.hexdigest()

    def part(self, top: str, make: Callable[[], Files]) -> Files:
        if top not in self.parts:
            machine.say(f"  preparing {top}")
            self.parts[top] = make()
            # Raw GETs read what the peers read.
            if self.bench.server:
                self.put(self.parts[top], SOURCE)
            # Of those with the same container, the last one: the same daemon as the others, with other options.
            ours = {system.url(SOURCE): system for system in self.bench.systems if isinstance(system, Dewpoint)}
            for system in ours.values():
                self.upload(system, top)
        return self.parts[top]

    def put(self, files: Files, target: str) -> None:
        """Writes objects with what both peers note of a file: s3fs its mode and time, rclone its time; and the
        directories."""
        environment = self.bench.environment
        store = Store(environment)
        directories = {""}
        for name, _, _ in files:
            while name := os.path.dirname(name):
                directories.add(name)
        for directory in sorted(directories):
            store.put(PEER_BUCKET, f"{target}/{directory}".rstrip("/") + "/", b"", DIRECTORY_METADATA)

        def send(connection: Store, file: File) -> None:
            with open(os.path.join(self.native, file[0]), "rb") as source:
                connection.put(PEER_BUCKET, f"{target}/{file[0]}", source.read(), FILE_METADATA)

        each(environment, files, send)

    def upload(self, dewpoint: Dewpoint, top: str) -> None:
        if dewpoint.url(SOURCE) not in self.containers:
            dewpoint.create(SOURCE)
            self.containers.add(dewpoint.url(SOURCE))
        with dewpoint.mount(SOURCE, keep="filler") as mounted:
            limit = self.bench.prepare_limit
            machine.run("cp", "-r", "--", os.path.join(self.native, top), mounted.point, seconds=limit)
            dewpoint.sync(mounted.point, limit)
