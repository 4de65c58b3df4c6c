"""The file systems that are compared, and how each is mounted.

Every peer is measured twice: as it comes, and with the settings that its own documentation recommends for speed. A
source is the same tree for all: a directory, a prefix of a bucket, or a container in one.
"""

import contextlib
import dataclasses
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import machine
from .machine import Failure

if TYPE_CHECKING:
    from .bench import Bench

PEER_BUCKET = "bench-peers"
DEWPOINT_BUCKET = "bench-dewpoint"

# From `rclone mount --help`, version 1.75, and https://rclone.org/commands/rclone_mount/:
RCLONE_TUNED = [
    "--vfs-cache-mode", "full",  # "all reads and writes are buffered to and from disk"
    "--vfs-read-chunk-streams", "16",  # "For high performance object stores (eg AWS S3) a reasonable place to start
    "--vfs-read-chunk-size", "4M",  #    might be --vfs-read-chunk-streams 16 and --vfs-read-chunk-size 4M"
    "--vfs-fast-fingerprint",  # "If you are running a vfs cache over local, s3 or swift … using this flag is recommended"
    "--use-server-modtime",  # "S3 and Swift benefit hugely …, as each read of the modification time takes a transaction"
    "--transfers", "32",  # "can be set to adjust the number of parallel uploads of modified files from the cache"
    "--checkers", "32",  # what a rename of a directory works with
    "--vfs-write-back", "0s",  # "Time to writeback files after last use" (5 s): uploads start at once
    "--attr-timeout", "60s",  # "the kernel will call back to rclone less often making it more efficient"
    "--dir-cache-time", "1h",  # listed directories stay listed
    "--max-read-ahead", "1M",  # "bytes that can be prefetched for sequential reads" (128 KiB)
]  # fmt: skip
# Where what others change is to be seen soon, no cache may live long: "changes made directly on the cloud storage …
# will only be picked up once the directory cache expires if the backend configured does not support polling", and S3
# has no polling.
RCLONE_FOLLOWING = ["--dir-cache-time", "1s", "--attr-timeout", "1s"]

# From s3fs(1), version 1.90:
S3FS_TUNED = [
    "parallel_count=16",  # "necessary to set this value depending on a CPU and a network band" (5)
    "multireq_max=64",  # "maximum number of parallel request for listing objects" (20)
    "max_stat_cache_size=1000000",  # "maximum number of entries in the stat cache" (100,000)
    "stat_cache_expire=3600",  # seconds (900)
    "enable_noobj_cache",  # without, "it increases ListBucket request and makes performance bad"
    "notsup_compat_dir",  # "by restricting s3fs to recognize only dir/ …, communication traffic can be reduced"
    "kernel_cache",  # of FUSE: what was read stays in the kernel's cache when a file is opened again
]
S3FS_FOLLOWING = ["stat_cache_expire=1"]
# What keeps old bytes in the kernel, and the absence of files in mind.
S3FS_STAYING = ("stat_cache_expire=3600", "kernel_cache", "enable_noobj_cache")


class Mounted:
    """A file system at a path, until it is left. `pid` and `port` are 0 where there is no process or port."""

    def __init__(
        self,
        point: str,
        pid: int = 0,
        command: Sequence[str] = (),
        seconds: float = 0.0,
        port: int = 0,
        whole: float | None = None,
    ) -> None:
        self.point, self.pid, self.command, self.port = point, pid, list(command), port
        # Until the mount answered, and until it had all there is.
        self.seconds, self.whole = seconds, whole


@dataclasses.dataclass(frozen=True)
class Wish:
    """What is to be mounted, and how."""

    source: str
    environment: Mapping[str, str] | None = None
    # The name under which a cache or a state stays.
    keep: str | None = None
    # Whether what others change is to be seen soon.
    following: bool = False
    directory: str | None = None
    # Whether the peer is asked what it has left to do.
    control: bool = False
    # Of Dewpoint, besides those of the system.
    options: Sequence[str] = ()


class System:
    """One way to have files. `label` names it in tables; `family` is what --without takes."""

    is_peer = False
    # Whether it is of no use without the S3 server.
    needs_server = False

    def __init__(self, bench: "Bench", label: str, family: str) -> None:
        self.bench, self.label, self.family = bench, label, family
        self.work = os.path.join(bench.work, label.replace(" ", "-"))

    def commands(self) -> str | None:
        """How it is mounted, for the report."""
        return None

    def mount(self, source: str, **wishes: Any) -> contextlib.AbstractContextManager[Mounted]:
        """`wishes`: fields of Wish."""
        return self.mounted(Wish(source, **wishes))

    def mounted(self, wish: Wish) -> contextlib.AbstractContextManager[Mounted]:
        raise NotImplementedError

    def remove(self, source: str) -> None:
        """What is in the store, where only one piece of work needed it."""
        if self.is_peer and self.bench.server:
            self.bench.server.remove(PEER_BUCKET, f"{source}/")

    @contextlib.contextmanager
    def scratch(self, keep: str | None = None) -> Iterator[tuple[str, str]]:
        """A mountpoint, and a directory for a cache or a state: a new one, or one that is kept under a name."""
        self.bench.count += 1
        base = os.path.join(self.work, str(self.bench.count))
        point = os.path.join(base, "mount")
        cache = os.path.join(self.work, keep) if keep else os.path.join(base, "cache")
        os.makedirs(point)
        os.makedirs(cache, exist_ok=True)
        self.bench.points.add(point)
        try:
            yield point, cache
        finally:
            machine.take_down(point)
            if not machine.is_mounted(point):
                self.bench.points.discard(point)
                self.bench.remove(base)


class Native(System):
    """ext4 itself, or whatever the working directory is on."""

    def __init__(self, bench: "Bench") -> None:
        super().__init__(bench, "native", "native")

    @contextlib.contextmanager
    def mounted(self, wish: Wish) -> Iterator[Mounted]:
        path = os.path.join(self.bench.work, "native", wish.source)
        os.makedirs(path, exist_ok=True)
        yield Mounted(path)


class Dewpoint(System):
    def __init__(self, bench: "Bench", label: str = "dewpoint", options: Sequence[str] = ()) -> None:
        super().__init__(bench, label, "dewpoint")
        self.binary, self.options = bench.dewpoint, list(options)

    def url(self, source: str, directory: str | None = None) -> str:
        return f"file://{directory}" if directory else f"s3://{DEWPOINT_BUCKET}/{source}"

    def create(self, source: str, directory: str | None = None) -> None:
        environment = {**os.environ, **self.bench.server.environment} if self.bench.server else None
        machine.run(*self.creation(source, directory), environment=environment)

    def creation(self, source: str, directory: str | None = None) -> list[str]:
        return [self.binary, "container", "create", self.url(source, directory), "--id", "iCloud.org.dewpoint.Bench"]

    def command(self, url: str, point: str, state: str) -> list[str]:
        options = [word for option in self.options for word in ("-o", option)]
        return [self.binary, "mount", url, point, "--state", state, *options]

    def commands(self) -> str:
        return " ".join(self.command(self.url("SOURCE"), "POINT", "STATE"))

    @contextlib.contextmanager
    def mounted(self, wish: Wish) -> Iterator[Mounted]:
        environment = wish.environment
        if environment is None and self.bench.server:
            environment = self.bench.server.environment
        with self.scratch(wish.keep) as (point, state):
            command = self.command(self.url(wish.source, wish.directory), point, state)
            command += [word for option in wish.options for word in ("-o", option)]
            start = time.perf_counter()
            machine.run(*command, seconds=self.bench.mount_limit, environment={**os.environ, **(environment or {})})
            seconds = time.perf_counter() - start
            pid = self.process(state)
            self.bench.daemons.add(pid)
            try:
                # A new device gets the end of the log after it has mounted; it is measured when it has the whole tree.
                self.sync(point, self.bench.mount_limit)
                yield Mounted(point, pid, command, seconds, whole=time.perf_counter() - start)
            finally:
                self.unmount(point, pid)

    def remove(self, source: str) -> None:
        if self.bench.server:
            self.bench.server.remove(DEWPOINT_BUCKET, self.url(source).partition(f"{DEWPOINT_BUCKET}/")[2] + "/")

    @staticmethod
    def process(state: str) -> int:
        with open(os.path.join(state, "lock"), encoding="ascii") as file:
            return int(file.read())

    def unmount(self, point: str, pid: int) -> None:
        try:
            if machine.is_mounted(point):
                machine.run(self.binary, "unmount", point, seconds=machine.UNMOUNT_SECONDS)
        except Failure as problem:
            self.bench.skip("an orderly unmount of dewpoint", str(problem))
            machine.take_down(point)
        self.bench.end_daemon(pid)

    def sync(self, point: str, seconds: float) -> None:
        machine.run(self.binary, "sync", point, "--wait", seconds=seconds)


class Foreground(System):
    """A peer that runs as a child of this program."""

    is_peer = True

    def command(self, wish: Wish, point: str, cache: str, environment: Mapping[str, str]) -> list[str]:
        raise NotImplementedError

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return environment

    @contextlib.contextmanager
    def mounted(self, wish: Wish) -> Iterator[Mounted]:
        environment = self.bench.environment if wish.environment is None else wish.environment
        with self.scratch(wish.keep) as (point, cache):
            command = self.command(wish, point, cache, environment)
            port = free_port() if wish.control else 0
            if wish.control:
                command += ["--rc", "--rc-no-auth", "--rc-addr", f"127.0.0.1:{port}"]
            log = os.path.join(self.work, f"log-{self.bench.count}")
            start = time.perf_counter()
            with open(log, "wb") as output:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **self.environment(environment)},
                    start_new_session=True,
                )
            self.bench.children.add(process)
            try:
                try:
                    machine.await_mount(point, process)
                except Failure as failure:
                    with open(log, encoding="utf-8", errors="replace") as output:
                        raise Failure(f"{failure}: {output.read().strip()[-300:]}") from None
                yield Mounted(point, process.pid, command, time.perf_counter() - start, port)
            finally:
                machine.take_down(point)
                machine.stop(process)
                self.bench.children.discard(process)


class Rclone(Foreground):
    needs_server = True

    def __init__(self, bench: "Bench", label: str, options: Sequence[str]) -> None:
        super().__init__(bench, label, "rclone")
        self.options = options

    def command(self, wish: Wish, point: str, cache: str, environment: Mapping[str, str]) -> list[str]:
        remote = wish.directory or f"bench:{PEER_BUCKET}/{wish.source}"
        more = RCLONE_FOLLOWING if wish.following and self.options else []
        return [
            self.bench.rclone or "rclone", "mount", remote, point, "--config", os.devnull, "--cache-dir", cache,
            *self.options, *more,
        ]  # fmt: skip

    def commands(self) -> str:
        return " ".join(["rclone", "mount", "REMOTE", "POINT", *self.options])

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        return {
            "RCLONE_CONFIG_BENCH_TYPE": "s3",
            "RCLONE_CONFIG_BENCH_PROVIDER": "Ceph",
            "RCLONE_CONFIG_BENCH_ENV_AUTH": "true",
            "RCLONE_CONFIG_BENCH_ENDPOINT": environment["AWS_ENDPOINT_URL"],
            **environment,
        }


class S3fs(Foreground):
    needs_server = True

    def __init__(self, bench: "Bench", label: str, options: Sequence[str], has_cache: bool) -> None:
        super().__init__(bench, label, "s3fs")
        self.options, self.has_cache = options, has_cache

    def words(self, cache: str, url: str, following: bool) -> list[str]:
        options = [f"url={url}", "use_path_request_style", *self.options]
        if self.has_cache:
            # "local folder to use for local file cache"
            options.append(f"use_cache={cache}")
        if following and self.options:
            options = [one for one in options if one not in S3FS_STAYING] + S3FS_FOLLOWING
        return [word for option in options for word in ("-o", option)]

    def command(self, wish: Wish, point: str, cache: str, environment: Mapping[str, str]) -> list[str]:
        words = self.words(cache, environment["AWS_ENDPOINT_URL"], wish.following)
        return ["s3fs", f"{PEER_BUCKET}:/{wish.source}", point, "-f", *words]

    def commands(self) -> str:
        return " ".join(["s3fs", "BUCKET:/SOURCE", "POINT", "-f", *self.words("CACHE", "URL", False)])


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def all_systems(bench: "Bench") -> list[System]:
    """Every system that a run can have, in the order of tables."""
    return [
        Native(bench),
        Dewpoint(bench),
        # What those get who may not have the kernel read downloaded files by itself (no CAP_SYS_ADMIN, or a kernel
        # before 6.9).
        Dewpoint(bench, "dewpoint cached", ["off=passthrough"]),
        Rclone(bench, "rclone", []),
        Rclone(bench, "rclone tuned", RCLONE_TUNED),
        S3fs(bench, "s3fs", [], has_cache=False),
        S3fs(bench, "s3fs tuned", S3FS_TUNED, has_cache=True),
    ]
