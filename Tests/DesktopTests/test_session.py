"""On a real mount: what the agent of a session shows."""

import os
import queue
import time

from dewpoint_desktop import mounts
from dewpoint_desktop.control import Control
from dewpoint_desktop.notices import Notice
from dewpoint_desktop.session import MountWatch
from dewpoint_desktop.thumbnails import FailedThumbnails

from .mounted import FOLLOWING_SECONDS, Mounted

QUIET_SECONDS = 1


class SessionTests(Mounted):
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
