"""On a real mount: what the agent of a session shows."""

import ctypes
import os
import queue
import struct
import time
from typing import Any

from dewpoint_desktop import mounts
from dewpoint_desktop.control import Control
from dewpoint_desktop.notices import Notice
from dewpoint_desktop.session import MountWatch
from dewpoint_desktop.thumbnails import FailedThumbnails, nudge, nudge_distant

from .mounted import FOLLOWING_SECONDS, Mounted

QUIET_SECONDS = 1
IN_ATTRIB = 4


class SessionTests(Mounted):
    def status(self, name: str) -> dict[str, Any]:
        (mount,) = [mount for mount in mounts.containers() if mount.point == self.point.encode()]
        status: dict[str, Any] = Control(mount, self.environment).get("/v1/items/status", path=name)
        return status

    def agent(self) -> "queue.Queue[Notice]":
        (mount,) = [mount for mount in mounts.containers() if mount.point == self.point.encode()]
        shown: queue.Queue[Notice] = queue.Queue()
        watch = MountWatch(
            mount, shown.put, FailedThumbnails(f"{self.work}/cache"), lambda mount: Control(mount, self.environment)
        )
        self.addCleanup(watch.close)
        deadline = time.monotonic() + FOLLOWING_SECONDS
        while not watch.is_following:
            self.assertLess(time.monotonic(), deadline, "the agent does not follow the mount")
            time.sleep(0.05)
        return shown

    def test_a_move_to_where_nothing_is_synced_is_notified_and_what_was_excluded_by_name_is_not(self) -> None:
        for name in ("report", "excluded"):
            with open(f"{self.point}/{name}", "w") as file:
                file.write("text")
        self.dewpoint("sync", self.point, "--wait")
        shown = self.agent()
        os.setxattr(f"{self.point}/excluded", "user.dewpoint.isExcludedFromSync", b"1")
        os.rename(f"{self.point}/report", f"{self.point}/report.nosync")
        notice = shown.get(timeout=FOLLOWING_SECONDS)
        self.assertEqual(notice.title, "No longer synced in Desktop")
        self.assertIn("report.nosync. What was moved stays on this device only", notice.body)
        self.assertNotIn("excluded", notice.body)
        with self.assertRaises(queue.Empty):
            shown.get(timeout=QUIET_SECONDS)

    def test_a_file_manager_is_made_to_look_again_and_nothing_is_downloaded_or_uploaded_for_it(self) -> None:
        self.away("distant", "local")
        self.dewpoint("download", "--wait", f"{self.point}/local")
        library = ctypes.CDLL(None, use_errno=True)
        watch = library.inotify_init1(os.O_NONBLOCK)
        self.addCleanup(os.close, watch)
        self.assertGreater(library.inotify_add_watch(watch, os.fsencode(self.point), IN_ATTRIB), 0)
        before = {name: self.status(name) for name in ("distant", "local")}
        nudge_distant(os.fsencode(f"{self.point}/distant"))
        nudge(os.fsencode(f"{self.point}/local"))
        events, names = os.read(watch, 4096), []
        while events:
            _, mask, _, length = struct.unpack_from("=iIII", events)
            names.append((events[16 : 16 + length].rstrip(b"\0"), mask))
            events = events[16 + length :]
        self.assertEqual(names, [(b"distant", IN_ATTRIB), (b"local", IN_ATTRIB)])
        time.sleep(QUIET_SECONDS)
        self.assertEqual({name: self.status(name) for name in ("distant", "local")}, before)
        self.assertEqual(before["distant"]["downloadingStatus"], "NotDownloaded")
        self.assertTrue(before["distant"]["isUploaded"])
        # What was excluded meanwhile stays so.
        os.setxattr(f"{self.point}/local", "user.dewpoint.isExcludedFromSync", b"1")
        nudge_distant(os.fsencode(f"{self.point}/local"))
        self.assertEqual(os.getxattr(f"{self.point}/local", "user.dewpoint.isExcludedFromSync"), b"1")
