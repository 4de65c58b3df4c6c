"""The agent of a session: shows notifications, has thumbnails made when pictures arrive, and makes previews.

One thread for each mount follows its events; the main thread waits for mounts to come and go. Without a desktop it ends
at once.
"""

import html
import logging
import os
import select
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import mounts
from .cache import ThumbnailCache
from .control import Control, Fault, Stream
from .following import RECONNECTION_SECONDS
from .making import Making
from .mounts import Mount
from .notices import Notice, Notices
from .previews import PreviewMaker
from .sandbox import Sandbox
from .thumbnailers import Thumbnailers
from .thumbnails import FailedThumbnails, has_thumbnail, nudge

NAME = "org.dewpoint.Desktop"
STATUS_SECONDS = 30
# For so long after a change of the table of mounts the sockets of new mounts are looked for.
STARTING_SECONDS = 15
CALL_MILLISECONDS = 5000
DOWNLOADED = "NSURLUbiquitousItemDownloadingStatusKey"
CONFLICTS = "NSURLUbiquitousItemHasUnresolvedConflictsKey"
UPLOADING_ERROR = "NSURLUbiquitousItemUploadingErrorKey"
SYNCED = "NSURLIsUbiquitousItemKey"

log = logging.getLogger("dewpoint")


class Desktop:
    """The notifications of the session, over D-Bus. Where nobody shows them nothing happens."""

    def __init__(self) -> None:
        from gi.repository import Gio, GLib

        self._gio, self._glib = Gio, GLib
        self._bus = Gio.bus_get_sync(Gio.BusType.SESSION, None)
        self._ids: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def own_name(self) -> bool:
        """Whether this is the only agent of the session."""
        # 4: do not queue; 1: we own it now.
        answer = self._call("org.freedesktop.DBus", "/org/freedesktop/DBus", "RequestName", "(su)", (NAME, 4))
        return answer is not None and answer[0] == 1

    def show(self, notice: Notice) -> None:
        with self._lock:
            # The body may have markup, so a name must not look like some.
            values: tuple[object, ...] = (
                "Dewpoint", self._ids.get(notice.key, 0), "emblem-dewpoint-cloud", notice.title,
                html.escape(notice.body, quote=False), [],
                {
                    "urgency": self._glib.Variant("y", 2 if notice.is_urgent else 1),
                    "desktop-entry": self._glib.Variant("s", "dewpoint-desktop"),
                }, -1,
            )  # fmt: skip
            answer = self._call(
                "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "Notify", "(susssasa{sv}i)", values
            )
            if answer:
                self._ids[notice.key] = answer[0]

    def _call(self, service: str, path: str, method: str, signature: str, values: Any) -> Any:
        try:
            return self._bus.call_sync(
                service, path, service, method, self._glib.Variant(signature, values), None, self._gio.DBusCallFlags.NONE,
                CALL_MILLISECONDS, None,
            )  # fmt: skip
        except self._glib.Error as error:
            log.info("%s.%s: %s", service, method, error.message)
            return None


class MountWatch:
    """Follows one mount until it is gone."""

    def __init__(
        self,
        mount: Mount,
        show: Callable[[Notice], None],
        thumbnails: FailedThumbnails,
        control: Callable[[Mount], Control] = Control,
        making: Making | None = None,
    ) -> None:
        self._mount, self._show, self._thumbnails, self._making = mount, show, thumbnails, making
        self._control = control(mount)
        self._notices = Notices()
        self._noting = threading.Lock()
        self._stream: Stream | None = None
        self.is_closed = False
        self.is_following = False
        threading.Thread(target=self._run, name="dewpoint-mount", daemon=True).start()

    def close(self) -> None:
        self.is_closed = True
        if self._making:
            self._making.drop(self._mount.point)
        if self._stream:
            self._stream.close()

    def _run(self) -> None:
        pause = RECONNECTION_SECONDS[0]
        while not self.is_closed:
            try:
                with self._control.stream("/v1/events", path="") as self._stream:
                    pause = RECONNECTION_SECONDS[0]
                    self._sweep()
                    if self._making:
                        self._making.sweep(self._control)
                    for event in self._stream:
                        self.is_following = True
                        self._take(event)
            except Fault as fault:
                log.info("%s: %s", os.fsdecode(self._mount.point), fault)
            time.sleep(pause)
            pause = min(pause * 2, RECONNECTION_SECONDS[1])

    def check(self) -> None:
        """Asks for the container's state, and shows what is due."""
        try:
            status = self._control.get("/v1/status")
        except Fault:
            return  # the mount is going, or coming
        with self._noting:
            due = self._notices.status(os.fsdecode(self._mount.point), status, time.monotonic())
        for notice in due:
            self._show(notice)

    def _sweep(self) -> None:
        """Pictures may have arrived when nobody followed."""
        for path in self._thumbnails.below(self._mount.point):
            self._arrived(os.fsdecode(path[len(self._mount.point.rstrip(b"/")) + 1 :]))

    def _take(self, event: dict[str, Any]) -> None:
        keys, path = event.get("keys") or [], event.get("path")
        if self._making and path and event.get("event") != "deleted":
            self._making.offer(self._mount.point, path)
        if event.get("event") != "ubiquityAttributes" or not path:
            return
        try:
            if DOWNLOADED in keys:
                self._arrived(path)
            if CONFLICTS in keys or UPLOADING_ERROR in keys or SYNCED in keys:
                self._note(path)
        except Fault as fault:
            if fault.code in ("unreachable", "timedOut"):
                raise

    def _arrived(self, path: str) -> None:
        file = os.path.join(self._mount.point, os.fsencode(path))
        if not (has_thumbnail(path) or self._thumbnails.have(file)):
            return
        try:
            status = self._control.get("/v1/items/status", path=path)
        except Fault as fault:
            if fault.code in ("unreachable", "timedOut"):
                raise
            return  # gone meanwhile
        if status.get("downloadingStatus") == "Current" and not status.get("isDownloading"):
            self._thumbnails.forget(file)
            ThumbnailCache().forget_enlarged(file)
            nudge(file)

    def _note(self, path: str) -> None:
        status = self._control.get("/v1/items/status", path=path)
        container, name = os.fsdecode(self._mount.point), os.path.basename(path)
        with self._noting:
            if status.get("conflictCount", 0) > 0:
                self._notices.conflict(container, name)
            else:
                self._notices.resolved(container, name)
            # What a person has excluded by name is no news.
            if status.get("isUbiquitousItem", True) or status.get("isExcludedFromSync"):
                self._notices.returned(container, name)
            else:
                self._notices.departed(container, name)
        self.check()


def watch(show: Callable[[Notice], None], thumbnails: FailedThumbnails, making: Making) -> None:
    """Watches all mounts whose daemons answer to this user, for ever."""
    watches: dict[bytes, MountWatch] = {}
    checked, starting = float(-STATUS_SECONDS), time.monotonic() + STARTING_SECONDS
    # The kernel reports a change of the table of mounts as an urgent event.
    with open(mounts.TABLE, "rb") as table:
        poll = select.poll()
        poll.register(table, select.POLLPRI)
        while True:
            here = {mount.point: mount for mount in mounts.containers() if mounts.find_socket(mount)}
            for point in watches.keys() - here.keys():
                watches.pop(point).close()
            for point in here.keys() - watches.keys():
                watches[point] = MountWatch(here[point], show, thumbnails, making=making)
            now = time.monotonic()
            if now - checked >= STATUS_SECONDS:
                checked = now
                for following in list(watches.values()):
                    following.check()
            # A daemon's socket comes a moment after its mount.
            wait = 1 if now < starting else checked + STATUS_SECONDS - now
            if poll.poll(max(wait, 0.1) * 1000):
                starting = time.monotonic() + STARTING_SECONDS
                time.sleep(1)  # many mounts at once are one change


def has_desktop(environment: Mapping[str, str] = os.environ) -> bool:
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def main() -> int:
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if not has_desktop():
        print("There is no desktop in this session: no notifications and no thumbnails.")
        return 0
    desktop = Desktop()
    if not desktop.own_name():
        print("The agent runs already in this session.")
        return 0
    watch(desktop.show, FailedThumbnails(), Making(PreviewMaker(Sandbox(), Thumbnailers())))
    return 0


def notify_once(text: str) -> int:
    if not has_desktop():
        print(text)
        return 0
    Desktop().show(Notice(("action", ""), "Dewpoint", text))
    return 0
