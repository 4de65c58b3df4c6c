import errno
import os
import tempfile
import threading
import time
import unittest
from typing import Any
from unittest import mock

from dewpoint_desktop import making
from dewpoint_desktop.control import Control
from dewpoint_desktop.making import Making
from dewpoint_desktop.notices import Notice
from dewpoint_desktop.previews import PreviewMaker, Source
from dewpoint_desktop.session import MountWatch
from dewpoint_desktop.thumbnails import FailedThumbnails

from .daemon import FakeDaemon, status

WAIT_SECONDS = 5
QUIET_SECONDS = 0.3


class FakeMaker(PreviewMaker):
    """Makes a preview of the bytes of a file by copying them; of those with `bad` in them none."""

    def __init__(self) -> None:
        self.made: list[str] = []

    @property
    def is_usable(self) -> bool:
        return True

    def makes(self, name: str) -> bool:
        return name.endswith(".jpg")

    def preview(self, source: Source, name: str) -> bytes | None:
        self.made.append(name)
        data = os.pread(source.descriptor, 100, 0)
        return None if b"bad" in data else data


class MakingTests(unittest.TestCase):
    """The directory of the tests is the mount; its attributes are those of a daemon that takes previews."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.point = f"{directory.name}/mount"
        os.mkdir(self.point)
        self.daemon = FakeDaemon(directory.name, os.fsencode(self.point))
        self.addCleanup(self.daemon.stop)
        self.control = Control(self.daemon.mount, self.daemon.environment)
        self.maker = FakeMaker()
        self.making = Making(self.maker, settled_seconds=0, gathering_seconds=0)
        self.addCleanup(self.making.close)
        self.given: dict[str, bytes] = {}
        # What setting the attribute of a name answers, once for each.
        self.refusals: dict[str, list[int]] = {}
        self.is_old = False
        for patch in (
            mock.patch.object(os, "setxattr", self.set_attribute),
            mock.patch.object(os, "getxattr", self.get_attribute),
            mock.patch.object(making, "FULL_SECONDS", (0.2, 0.4)),
            mock.patch.object(making, "REST", 0),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def set_attribute(self, descriptor: int, name: str, value: bytes) -> None:
        path = os.path.relpath(os.readlink(f"/proc/self/fd/{descriptor}"), self.point)
        if refusals := self.refusals.get(path):
            number = refusals.pop(0)
            raise OSError(number, os.strerror(number))
        self.given[path] = value
        self.assertIn(name, ("user.dewpoint.preview", "system.dewpoint.preview"))
        self.daemon.items[path]["hasPreview"] = True

    def get_attribute(self, _: int, name: str) -> bytes:
        self.assertEqual(name, "user.dewpoint.hasPreview")
        if self.is_old:
            raise OSError(errno.ENODATA, "no such attribute")
        return b"0"

    def add(self, path: str, data: bytes = b"picture", modified: int = 10, **values: object) -> None:
        place = f"{self.point}/{path}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(data)
        text = f"2026-01-01T00:00:{modified}Z"
        self.daemon.items[path] = status(path, **{"downloadingStatus": "Current", "modified": text, **values})
        directory = os.path.dirname(path)
        while directory:
            self.daemon.items.setdefault(directory, status(directory, kind="directory", modified=text))
            directory = os.path.dirname(directory)

    def wait(self, *paths: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while set(self.given) != set(paths) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(QUIET_SECONDS)
        self.assertEqual(set(self.given), set(paths))

    def test_a_sweep_makes_what_is_missing_the_newest_first(self) -> None:
        self.add("a.jpg", modified=12)
        self.add("c.jpg", modified=11)
        self.add("old/b.jpg", modified=10)
        self.add("new/deep/d.jpg", modified=20)
        self.add("e.txt")
        self.add("f.jpg", hasPreview=True)
        self.add("g.jpg", downloadingStatus="NotDownloaded")
        self.add("h.jpg", isUbiquitousItem=False)
        self.add("i.jpg", isExcludedFromSync=True)
        self.add("j.jpg", isDownloading=True)
        self.making.sweep(self.control)
        self.wait("a.jpg", "c.jpg", "old/b.jpg", "new/deep/d.jpg")
        self.assertEqual(self.maker.made, ["a.jpg", "c.jpg", "new/deep/d.jpg", "old/b.jpg"])
        self.assertEqual(self.given["a.jpg"], b"picture")

    def test_previews_are_given_together(self) -> None:
        for name in "abcde":
            self.add(f"{name}.jpg")
        self.making = Making(self.maker, settled_seconds=0, gathering_seconds=1)
        self.addCleanup(self.making.close)
        counts = []
        with mock.patch.object(making, "GATHERED_PREVIEWS", 3):
            self.making.sweep(self.control)
            started = time.monotonic()
            while len(self.given) < 5 and time.monotonic() < started + WAIT_SECONDS:
                counts.append(len(self.given))
                time.sleep(0.1)
        self.wait(*(f"{name}.jpg" for name in "abcde"))
        # Three as soon as there are so many, the others after the time.
        self.assertLess(sum(counts.count(number) for number in (1, 2, 4)), 3)
        self.assertGreater(counts.count(3), 5)
        self.assertEqual(len(self.maker.made), 5)

    def test_one_of_bytes_that_are_others_meanwhile_is_not_given(self) -> None:
        self.add("a.jpg", b"before")
        self.making = Making(self.maker, settled_seconds=0, gathering_seconds=0.5)
        self.addCleanup(self.making.close)
        self.making.sweep(self.control)
        end = time.monotonic() + WAIT_SECONDS
        while not self.maker.made and time.monotonic() < end:
            time.sleep(0.01)
        self.add("a.jpg", b"afterwards")
        self.wait_for_given("a.jpg", b"afterwards")

    def wait_for_given(self, path: str, preview: bytes) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while path not in self.given and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.given.get(path), preview)

    def test_what_changes_or_arrives_gets_one_by_its_event(self) -> None:
        shown: list[Notice] = []
        watch = MountWatch(
            self.daemon.mount, shown.append, FailedThumbnails("/none"), lambda _: self.control, self.making
        )
        self.addCleanup(watch.close)
        end = time.monotonic() + WAIT_SECONDS
        while not watch.is_following and time.monotonic() < end:
            time.sleep(0.01)
        self.add("a.jpg")
        self.add("b.jpg", downloadingStatus="NotDownloaded")
        self.daemon.tell(path="a.jpg")
        self.daemon.tell(path="b.jpg")
        self.wait("a.jpg")
        self.daemon.items["b.jpg"]["downloadingStatus"] = "Current"
        self.daemon.tell(path="b.jpg", keys=["NSURLUbiquitousItemDownloadingStatusKey"])
        self.wait("a.jpg", "b.jpg")
        # Its own event is no reason to make it again.
        self.daemon.tell(path="b.jpg")
        self.wait("a.jpg", "b.jpg")
        self.assertEqual(self.maker.made, ["a.jpg", "b.jpg"])

    def test_one_that_failed_is_tried_again_only_when_the_file_has_changed(self) -> None:
        self.add("a.jpg", b"bad picture")
        self.making.sweep(self.control)
        self.wait()
        for _ in range(3):
            self.making.offer(self.daemon.mount.point, "a.jpg")
        self.making.sweep(self.control)
        self.wait()
        self.assertEqual(self.maker.made, ["a.jpg"])
        self.add("a.jpg", b"good")
        self.making.offer(self.daemon.mount.point, "a.jpg")
        self.wait("a.jpg")

    def test_a_refused_preview_is_not_made_again(self) -> None:
        for number in (errno.E2BIG, errno.EINVAL, errno.ENOTSUP):
            self.add(f"{number}.jpg")
            self.refusals[f"{number}.jpg"] = [number]
        self.making.sweep(self.control)
        self.wait()
        self.making.sweep(self.control)
        self.wait()
        self.assertEqual(len(self.maker.made), 3)

    def test_a_daemon_that_is_full_is_given_time_and_then_everything(self) -> None:
        for number in range(10, 20):
            self.add(f"{number}.jpg", modified=number)
        self.refusals["19.jpg"] = [errno.EBUSY, errno.EBUSY]
        self.refusals["15.jpg"] = [errno.EBUSY]
        with mock.patch.object(making, "FULL_SECONDS", (1, 1)):
            self.making.sweep(self.control)
            time.sleep(0.5)
            # What waits is not made for nothing.
            self.assertEqual(self.maker.made, ["19.jpg"])
            self.wait(*(f"{number}.jpg" for number in range(10, 20)))
        self.assertEqual(len(self.maker.made), 13)

    def test_a_file_that_may_not_be_written_gets_one_all_the_same(self) -> None:
        self.add("a.jpg")
        self.refusals["a.jpg"] = [errno.EACCES]
        self.making.sweep(self.control)
        self.wait("a.jpg")

    def test_for_a_file_of_another_user_none_is_made(self) -> None:
        self.add("a.jpg")
        with mock.patch.object(os, "geteuid", lambda: os.stat(self.point).st_uid + 1):
            self.making.sweep(self.control)
            self.wait()
        self.assertEqual(self.maker.made, [])
        self.making.sweep(self.control)
        self.wait("a.jpg")

    def test_a_daemon_that_knows_no_previews_is_left_alone(self) -> None:
        self.is_old = True
        for number in range(20):
            self.add(f"d/{number}.jpg")
        self.making.sweep(self.control)
        self.wait()
        self.assertEqual(self.maker.made, [])
        count = len(self.daemon.requests)
        self.making.offer(self.daemon.mount.point, "d/1.jpg")
        self.wait()
        self.assertEqual(len(self.daemon.requests), count)
        # Its successor may know them.
        self.is_old = False
        self.making.sweep(self.control)
        self.wait(*(f"d/{number}.jpg" for number in range(20)))

    def test_a_mount_that_cannot_be_changed_is_left_alone(self) -> None:
        for name in ("a.jpg", "b.jpg"):
            self.add(name)
            self.refusals[name] = [errno.EROFS]
        self.making.sweep(self.control)
        self.wait()
        self.assertEqual(len(self.maker.made), 1)

    def test_what_is_still_being_written_waits(self) -> None:
        self.making = Making(self.maker, settled_seconds=1, gathering_seconds=0)
        self.addCleanup(self.making.close)
        self.add("a.jpg")
        started = time.monotonic()
        self.making.sweep(self.control)
        time.sleep(0.5)
        self.assertEqual(self.given, {})
        self.wait("a.jpg")
        self.assertGreater(time.monotonic() - started, 0.9)

    def test_a_daemon_that_ends_is_swept_when_it_comes_back(self) -> None:
        self.add("a.jpg")
        self.daemon.stop()
        self.making.sweep(self.control)
        self.wait()
        self.daemon.start()
        self.making.sweep(self.control)
        self.wait("a.jpg")

    def test_what_waits_is_bounded(self) -> None:
        with mock.patch.object(making, "QUEUE_FILES", 10):
            for number in range(10, 40):
                self.add(f"{number}.jpg", modified=number)
            self.making.sweep(self.control)
            self.wait(*(f"{number}.jpg" for number in range(30, 40)))

    def test_it_runs_at_the_lowest_priority(self) -> None:
        found: list[Any] = []
        real = self.maker.preview

        def look(source: Source, name: str) -> bytes | None:
            found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
            return real(source, name)

        self.add("a.jpg")
        with mock.patch.object(self.maker, "preview", look):
            self.making.sweep(self.control)
            self.wait("a.jpg")
        self.assertEqual(found, [19])
