"""Makes the previews of what is local on the mounts, and gives them to the daemons, which upload them.

One file after another, for all mounts together, the newest first, on a thread and in programs of the lowest priority:
nobody waits for a preview. What is offered is what changed; once for each connection with a daemon also everything that
is there, directory by directory.
"""

import collections
import contextlib
import dataclasses
import errno
import heapq
import logging
import os
import threading
import time
from typing import Any

from .control import Control, Fault
from .previews import PreviewMaker, Source, Version

# Files that wait, of all mounts; beyond, the ones that wait longest are left to the next sweep.
QUEUE_FILES = 10_000
# Files of which it is remembered that there is no preview of their present bytes.
FAILED_FILES = 100_000
# Directories of one mount that a sweep has still to look at.
SWEPT_DIRECTORIES = 20_000
# A file that was changed less than so many seconds ago may be changed on.
SETTLED_SECONDS = 5
# What is made is given to the daemons together, so many or after so long: those are one object in the store, and are
# fetched with one request.
GATHERED_PREVIEWS = 64
GATHERING_SECONDS = 10.0
# A mount that takes no preview now is left alone for so long, after each further refusal twice as long, at most so.
FULL_SECONDS = (30, 600)
# After a directory was listed, and after a preview for as many times as long as it took: half of the time at most.
SWEEP_PAUSE_SECONDS = 0.05
REST = 1.0
LOWEST_PRIORITY = 19
ATTRIBUTE = "dewpoint.preview"
PRESENCE = "user.dewpoint.hasPreview"

log = logging.getLogger("dewpoint")


def wants_preview(status: dict[str, Any]) -> bool:
    """Whether an item, by the object that the control API sends of it, is a whole local file without a preview."""
    return (
        status.get("kind") == "file"
        and status.get("downloadingStatus") == "Current"
        and not status.get("isDownloading")
        and bool(status.get("isUbiquitousItem", True))
        and not status.get("isExcludedFromSync")
        and not status.get("hasPreview")
    )


@dataclasses.dataclass
class _Mount:
    """What is known of a mount that takes previews."""

    control: Control
    directories: dict[str, str] = dataclasses.field(default_factory=lambda: {"": ""})
    """Those that are still to be looked at, with their times."""
    is_refusing: bool = False
    """It takes none at all: an older daemon, or one that cannot change anything."""
    is_tested: bool = False
    resting_until: float = 0
    rest: float = dataclasses.field(default_factory=lambda: FULL_SECONDS[0])


@dataclasses.dataclass(frozen=True)
class _Made:
    """A preview that its daemon does not have yet. Its file is not kept open: a mount that is to go could not."""

    mount: _Mount
    path: str
    version: Version
    preview: bytes


class Making:
    def __init__(
        self,
        maker: PreviewMaker,
        settled_seconds: float = SETTLED_SECONDS,
        gathering_seconds: float = GATHERING_SECONDS,
    ) -> None:
        self._maker, self._settled_seconds, self._gathering_seconds = maker, settled_seconds, gathering_seconds
        self._made: list[_Made] = []
        self._made_since = 0.0
        self._wake = threading.Condition()
        self._mounts: dict[bytes, _Mount] = {}
        # Mountpoint and path; the last one is made first.
        self._queue: collections.OrderedDict[tuple[bytes, str], None] = collections.OrderedDict()
        # What is queued later, and when.
        self._later: list[tuple[float, tuple[bytes, str]]] = []
        self._failed: collections.OrderedDict[Version, None] = collections.OrderedDict()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def sweep(self, control: Control) -> None:
        """Makes what is missing below a mount, and of what is offered from now on."""
        if not self._maker.is_usable:
            return
        with self._wake:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dewpoint-making", daemon=True)
                self._thread.start()
            self._mounts[control.mount.point] = _Mount(control)
            self._wake.notify()

    def offer(self, point: bytes, path: str) -> None:
        """The item at a path of a mount may lack a preview now."""
        if self._maker.makes(path):
            with self._wake:
                self._add((point, path))
                self._wake.notify()

    def drop(self, point: bytes) -> None:
        with self._wake:
            self._mounts.pop(point, None)

    def close(self) -> None:
        with self._wake:
            self._is_closed = True
            self._wake.notify()

    def _add(self, key: tuple[bytes, str]) -> None:
        self._queue[key] = None
        self._queue.move_to_end(key)
        if len(self._queue) > QUEUE_FILES:
            self._queue.popitem(last=False)

    # The thread that makes them

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)
        while True:
            try:
                with self._wake:
                    if not self._wait():
                        return
                    key = self._queue.popitem()[0] if self._queue else None
                if self._is_gathered:
                    self._give_gathered()
                if key:
                    self._take(*key)
                elif self._has_directories:
                    self._sweep_on()
            except Fault as fault:
                log.info("previews: %s", fault)
            except Exception:  # a defect of ours is not to end all previews of the session
                log.exception("making a preview failed")

    def _wait(self) -> bool:
        """Whether there is something to do; False at the end."""
        while not self._is_closed:
            now = time.monotonic()
            while self._later and self._later[0][0] <= now:
                self._add(heapq.heappop(self._later)[1])
            if self._queue or self._has_directories or self._is_gathered:
                return True
            due = [due for due, _ in self._later[:1]]
            if self._made:
                due.append(self._made_since + self._gathering_seconds)
            self._wake.wait(min(due) - now if due else None)
        return False

    @property
    def _has_directories(self) -> bool:
        return any(mount.directories and not mount.is_refusing for mount in self._mounts.values())

    @property
    def _is_gathered(self) -> bool:
        """Whether what was made is given now."""
        is_late = time.monotonic() >= self._made_since + self._gathering_seconds
        return len(self._made) >= GATHERED_PREVIEWS or (bool(self._made) and is_late)

    def _sweep_on(self) -> None:
        """Looks at one more directory, the one with the newest time."""
        with self._wake:
            mount = next(
                (mount for mount in self._mounts.values() if mount.directories and not mount.is_refusing), None
            )
            if mount is None:
                return
            path = max(mount.directories, key=mount.directories.__getitem__)
            del mount.directories[path]
        found = []
        try:
            items = mount.control.directory(path)
        except Fault as fault:
            if fault.code in ("unreachable", "timedOut"):
                # It is swept again when it answers.
                mount.directories.clear()
            raise
        for name, status in items.items():
            whole = f"{path}/{name}" if path else name
            if status.get("kind") == "directory":
                if len(mount.directories) < SWEPT_DIRECTORIES and status.get("isUbiquitousItem", True):
                    mount.directories[whole] = str(status.get("modified", ""))
            elif wants_preview(status) and self._maker.makes(name):
                found.append((str(status.get("modified", "")), whole))
        with self._wake:
            for _, whole in sorted(found):
                self._add((mount.control.mount.point, whole))
        time.sleep(SWEEP_PAUSE_SECONDS)

    def _take(self, point: bytes, path: str) -> None:
        """Makes the preview of one file, if it lacks one and can have one."""
        mount = self._mounts.get(point)
        if mount is None or mount.is_refusing:
            return
        if mount.resting_until > time.monotonic():
            self._try_later((point, path), mount.resting_until)
            return
        status = mount.control.get("/v1/items/status", path=path)
        source = Source.open(os.path.join(point, os.fsencode(path))) if wants_preview(status) else None
        if source is None:
            return
        with source:
            if source.version in self._failed or not source.is_own or not self._takes_any(mount, source):
                return
            if any((made.mount, made.path, made.version) == (mount, path, source.version) for made in self._made):
                return
            # A time in the future says nothing.
            age = time.time() - source.version.modified / 1e9
            if 0 <= age < self._settled_seconds:
                self._try_later((point, path), time.monotonic() + self._settled_seconds - age)
                return
            started = time.monotonic()
            preview = self._maker.preview(source, path)
            if preview is not None:
                if not self._made:
                    self._made_since = time.monotonic()
                self._made.append(_Made(mount, path, source.version, preview))
            elif source.is_unchanged:
                self._fail(source.version)
            else:
                self._try_later((point, path), time.monotonic() + self._settled_seconds)
        time.sleep((time.monotonic() - started) * REST)

    def _takes_any(self, mount: _Mount, source: Source) -> bool:
        """Whether the daemon knows previews at all: a previous version does not."""
        if not mount.is_tested:
            mount.is_tested = True
            try:
                os.getxattr(source.descriptor, PRESENCE)
            except OSError as error:
                mount.is_refusing = error.errno in (errno.ENODATA, errno.ENOTSUP)
        return not mount.is_refusing

    def _give_gathered(self) -> None:
        gathered, self._made = self._made, []
        for made in gathered:
            point = made.mount.control.mount.point
            # One that is gone meanwhile, or was connected again, is swept again.
            if self._mounts.get(point) is not made.mount:
                continue
            source = Source.open(os.path.join(point, os.fsencode(made.path)))
            if source is None:
                continue
            with source:
                if made.mount.resting_until > time.monotonic():
                    self._try_later((point, made.path), made.mount.resting_until)
                elif source.version == made.version:
                    self._give(made.mount, made.path, source, made.preview)
                else:
                    self.offer(point, made.path)

    def _give(self, mount: _Mount, path: str, source: Source, preview: bytes) -> None:
        try:
            try:
                os.setxattr(source.descriptor, f"user.{ATTRIBUTE}", preview)
            except PermissionError:
                # The kernel refuses it for a file that may not be written; the daemon lets the owner do it.
                os.setxattr(source.descriptor, f"system.{ATTRIBUTE}", preview)
            mount.rest = FULL_SECONDS[0]
        except OSError as error:
            match error.errno:
                case errno.EBUSY:
                    mount.resting_until = time.monotonic() + mount.rest
                    mount.rest = min(mount.rest * 2, FULL_SECONDS[1])
                    self._try_later((mount.control.mount.point, path), mount.resting_until)
                case errno.EROFS:
                    mount.is_refusing = True
                case _:
                    log.info("%s: %s", path, error)
                    self._fail(source.version)

    def _fail(self, version: Version) -> None:
        self._failed[version] = None
        if len(self._failed) > FAILED_FILES:
            self._failed.popitem(last=False)

    def _try_later(self, key: tuple[bytes, str], due: float) -> None:
        with self._wake:
            if len(self._later) < QUEUE_FILES:
                heapq.heappush(self._later, (due, key))
