"""The states of the directories that a program shows, kept current by the events of their mounts.

A directory is listed with one request; afterwards only what changes is asked for again. Runs in the helper of a file
manager; see helper.
"""

import collections
import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import mounts
from .control import Control, Fault, Stream
from .mounts import Mount
from .states import State, state, words

# Directories of one mount whose states are kept, and the items in them all; beyond, the least recently used is dropped.
KNOWN_DIRECTORIES = 128
KNOWN_ITEMS = 400_000
# Changes are gathered for this time before they are asked about: a save is several.
GATHERING_SECONDS = 0.1
# With more changed names than this in a directory it is listed again.
SINGLE_ITEMS = 20
# How long a daemon that ended is waited for: after each attempt twice as long, at most so.
RECONNECTION_SECONDS = (0.5, 5.0)
# Mounts that are followed; beyond, the one that was first shown is dropped.
FOLLOWED_MOUNTS = 64
# How long a reading of the table of mounts is used, in seconds.
TABLE_SECONDS = 1.0

log = logging.getLogger("dewpoint")


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of an item."""

    state: State
    words: str
    kind: str
    is_pinned: bool
    preview: str | None = None
    """Where the bytes are not local but a preview of them can be had: which bytes they are."""

    @staticmethod
    def of(status: dict[str, Any]) -> "Shown":
        is_distant = status.get("hasPreview") is True and status.get("downloadingStatus") == "NotDownloaded"
        return Shown(
            state(status), words(status), status.get("kind", "file"), bool(status.get("pinned")),
            str(status.get("etag", "")) or "-" if is_distant else None,
        )  # fmt: skip


# What is shown of items by name; None of one of which nothing is known any more.
Items = Mapping[str, Shown | None]
# Is told of the items in a directory, an absolute path of bytes.
Changed = Callable[[bytes, Items], None]


class Places:
    """Finds the container of a path; reads the table of mounts at most once in TABLE_SECONDS."""

    def __init__(
        self, read: Callable[[], list[Mount]] = mounts.table, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._read, self._now = read, now
        self._lock = threading.Lock()
        self._mounts: list[Mount] = []
        self._since: float | None = None

    def of(self, path: bytes) -> tuple[Mount, str] | None:
        """The mount of a path of bytes, and the path below its root as text; None outside of all containers."""
        with self._lock:
            now = self._now()
            if self._since is None or now - self._since > TABLE_SECONDS:
                self._mounts, self._since = self._read(), now
            table = self._mounts
        found = mounts.container(path, table)
        return (found[0], os.fsdecode(found[1])) if found else None


class States:
    """The states of the items in the directories that are shown, on all mounts.

    `changed(directory, items)` is called on other threads: the absolute path of a directory, in bytes, and what is to
    be shown now of the items that changed, by name; None for one of which nothing is known any more.
    """

    def __init__(
        self, changed: Changed, places: Places | None = None, control: Callable[[Mount], Control] = Control
    ) -> None:
        self._changed, self._control = changed, control
        self._places = places or Places()
        self._lock = threading.Lock()
        self._followers: dict[bytes, Follower] = {}

    def show(self, directory: bytes) -> None:
        """Follows a directory, an absolute path of bytes, from now on; does nothing outside of containers."""
        place = self._places.of(directory)
        if place:
            self._follower(place[0]).show(place[1])

    def of(self, path: bytes) -> Shown | None:
        """What is shown of the item at an absolute path of bytes; None while that is not known, and elsewhere."""
        place = self._places.of(path)
        return self._follower(place[0]).of(place[1]) if place else None

    def refresh(self, path: bytes) -> None:
        """Looks at an item again, for a change of which there is no event."""
        place = self._places.of(path)
        if place:
            self._follower(place[0]).note(place[1])

    def place(self, path: bytes) -> tuple[Control, str] | None:
        """The control API for the item at an absolute path of bytes, and its path there; None outside of containers."""
        place = self._places.of(path)
        return (self._control(place[0]), place[1]) if place else None

    def close(self) -> None:
        with self._lock:
            followers, self._followers = self._followers, {}
        for follower in followers.values():
            follower.close()

    def _follower(self, mount: Mount) -> "Follower":
        dropped = None
        with self._lock:
            follower = self._followers.get(mount.point)
            if follower is None:
                if len(self._followers) == FOLLOWED_MOUNTS:
                    dropped = self._followers.pop(next(iter(self._followers)))
                follower = self._followers[mount.point] = Follower(mount, self._changed, self._control)
        if dropped:
            dropped.close()
        return follower


class Follower:
    """The known directories of one mount, also while it is away: it may come back below an open window."""

    def __init__(self, mount: Mount, changed: Changed, control: Callable[[Mount], Control] = Control) -> None:
        self.mount, self._changed = mount, changed
        self._control = control(mount)
        self._wake = threading.Condition()
        # By directory, by name; None while it was never listed.
        self._known: collections.OrderedDict[str, dict[str, Shown] | None] = collections.OrderedDict()
        self._stale: set[str] = set()  # directories to list
        self._dirty: dict[str, set[str]] = collections.defaultdict(set)  # directory → names to ask about
        self._stream: Stream | None = None
        # Whether no event is missed any more: what is listed before that could stay old.
        self._is_following = False
        self._is_closed = False
        threading.Thread(target=self._run, name="dewpoint-states", daemon=True).start()

    def show(self, directory: str) -> None:
        with self._wake:
            self._known.setdefault(directory, None)
            self._known.move_to_end(directory)
            self._stale.add(directory)
            self._drop_oldest()
            self._wake.notify()

    def of(self, path: str) -> Shown | None:
        directory, _, name = path.rpartition("/")
        with self._wake:
            return (self._known.get(directory) or {}).get(name)

    def close(self) -> None:
        with self._wake:
            self._is_closed = True
            stream = self._stream
            self._wake.notify()
        if stream:
            stream.close()

    def _drop_oldest(self) -> None:
        total = sum(len(items or ()) for items in self._known.values())
        while len(self._known) > KNOWN_DIRECTORIES or (total > KNOWN_ITEMS and len(self._known) > 1):
            directory, items = self._known.popitem(last=False)
            total -= len(items or ())
            self._stale.discard(directory)
            self._dirty.pop(directory, None)

    # The thread that asks

    def _run(self) -> None:
        pause = RECONNECTION_SECONDS[0]
        while not self._is_closed:
            try:
                with self._control.stream("/v1/events", path="") as stream:
                    with self._wake:
                        if self._is_closed:
                            return
                        self._stream = stream
                        self._is_following = False
                        self._stale.update(self._known)
                    reader = threading.Thread(target=self._read, args=(stream,), name="dewpoint-events", daemon=True)
                    reader.start()
                    pause = RECONNECTION_SECONDS[0]
                    self._ask_while_connected()
            except Fault as fault:
                log.info("%s: %s", os.fsdecode(self.mount.point), fault)
            except Exception:  # a defect of ours is not to leave the emblems as they are
                log.exception("following %s failed", os.fsdecode(self.mount.point))
            self._forget()
            end = time.monotonic() + pause
            with self._wake:
                # What is shown meanwhile wakes us, and is no reason to try earlier.
                while not self._is_closed and (left := end - time.monotonic()) > 0:
                    self._wake.wait(left)
            pause = min(pause * 2, RECONNECTION_SECONDS[1])

    def _ask_while_connected(self) -> None:
        while True:
            with self._wake:
                while not (self._has_work() or self._is_closed or self._stream is None):
                    self._wake.wait()
                if self._is_closed or self._stream is None:
                    return
                is_new = any(self._known.get(directory) is None for directory in self._stale)
            if not is_new:
                time.sleep(GATHERING_SECONDS)
            with self._wake:
                stale, self._stale = self._stale, set()
                dirty, self._dirty = self._dirty, collections.defaultdict(set)
            for directory in stale:
                self._list(directory)
            for directory, names in dirty.items():
                if directory in stale:
                    continue
                if len(names) > SINGLE_ITEMS:
                    self._list(directory)
                else:
                    self._ask(directory, names)

    def _has_work(self) -> bool:
        return self._is_following and bool(self._stale or self._dirty)

    def _list(self, directory: str) -> None:
        try:
            items = {name: Shown.of(status) for name, status in self._control.directory(directory).items()}
        except Fault as fault:
            if fault.code in ("unreachable", "timedOut"):
                raise
            items = {}  # deleted meanwhile, or no directory any more
        with self._wake:
            if directory not in self._known:
                return
            before = self._known[directory] or {}
            self._known[directory] = items
            self._drop_oldest()
        names = items.keys() | before.keys()
        self._tell(directory, {name: items.get(name) for name in names if items.get(name) != before.get(name)})

    def _ask(self, directory: str, names: Iterable[str]) -> None:
        found: dict[str, Shown | None] = {}
        for name in names:
            try:
                found[name] = Shown.of(self._control.get("/v1/items/status", path=_join(directory, name)))
            except Fault as fault:
                if fault.code in ("unreachable", "timedOut"):
                    raise
                found[name] = None
        changed = {}
        with self._wake:
            items = self._known.get(directory)
            if items is None:
                return
            for name, shown in found.items():
                if items.get(name) != shown:
                    changed[name] = shown
                if shown is None:
                    items.pop(name, None)
                else:
                    items[name] = shown
        self._tell(directory, changed)

    def _forget(self) -> None:
        """Without its daemon nothing is known of a mount: emblems of an old state would mislead."""
        with self._wake:
            self._stream = None
            self._dirty.clear()
            known = [(directory, list(items)) for directory, items in self._known.items() if items]
            for directory in self._known:
                self._known[directory] = None
            self._stale.update(self._known)
        for directory, names in known:
            self._tell(directory, dict.fromkeys(names))

    def _tell(self, directory: str, items: Items) -> None:
        if items and not self._is_closed:
            self._changed(os.path.join(self.mount.point, os.fsencode(directory)).rstrip(b"/"), items)

    # The thread that reads events

    def _read(self, stream: Stream) -> None:
        try:
            for event in stream:
                if event.get("event") == "following":
                    with self._wake:
                        self._is_following = True
                        self._wake.notify()
                    continue
                for key in ("path", "from"):
                    if key in event:
                        self.note(event[key], is_new=event.get("event") == "appeared")
        except Fault as fault:
            log.info("%s: %s", os.fsdecode(self.mount.point), fault)
        finally:
            with self._wake:
                if self._stream is stream:
                    self._stream = None
                self._wake.notify()

    def note(self, path: str, is_new: bool = False) -> None:
        """Something was said of the item at a path: what is shown of it may be old."""
        directory, _, name = path.rpartition("/")
        with self._wake:
            # With more names than that, the directory is listed whatever they are.
            if path and directory in self._known and len(self._dirty[directory]) <= SINGLE_ITEMS:
                self._dirty[directory].add(name)
            # What is said of a directory can concern everything in it: it was moved, pinned, paused.
            if path and not is_new:
                self._stale.update(known for known in self._known if known == path or known.startswith(path + "/"))
            if self._dirty or self._stale:
                self._wake.notify()


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
