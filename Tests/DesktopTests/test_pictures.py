"""On two real mounts: previews that one device makes are thumbnails on the other, without a download."""

import functools
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from dewpoint_desktop import mounts
from dewpoint_desktop.cache import ThumbnailCache
from dewpoint_desktop.control import Control
from dewpoint_desktop.following import States
from dewpoint_desktop.making import Making
from dewpoint_desktop.mounts import Mount
from dewpoint_desktop.previews import PreviewMaker
from dewpoint_desktop.session import MountWatch
from dewpoint_desktop.thumbnailers import Thumbnailers
from dewpoint_desktop.thumbnails import FailedThumbnails, uri_of
from dewpoint_desktop.viewing import PreviewViewer

from .mounted import Mounted
from .pictures import SANDBOX, Decoded, needs_sandbox, picture

PREVIEW_SECONDS = 60


@needs_sandbox
class PictureTests(Mounted):
    def setUp(self) -> None:
        super().setUp()
        # Where the bytes are, and where they are not.
        self.desk, self.laptop = self.point, f"{self.work}/laptop"
        os.mkdir(self.laptop)
        self.addCleanup(self.unmount_laptop)
        self.dewpoint("mount", self.url, self.laptop, "--state", f"{self.work}/state-2", "--device-name", "laptop")
        self.cached = f"{self.work}/thumbnails"

    def unmount_laptop(self) -> None:
        self.point = self.laptop
        self.unmount()
        self.point = self.desk

    def mounted(self, point: str) -> Mount:
        (mount,) = [mount for mount in mounts.containers() if mount.point == os.fsencode(point)]
        return mount

    def control(self, mount: Mount) -> Control:
        return Control(mount, self.environment)

    def start_agent(self) -> None:
        making = Making(PreviewMaker(SANDBOX, Thumbnailers()), settled_seconds=0, gathering_seconds=0.5)
        self.addCleanup(making.close)
        failed = FailedThumbnails(self.cached)
        watch = MountWatch(self.mounted(self.desk), lambda _: None, failed, self.control, making)
        self.addCleanup(watch.close)

    def show(self, directory: str) -> None:
        """As the helper of a file manager does."""

        def changed(directory: bytes, items: object) -> None:
            viewer.offer(directory, items)  # type: ignore[arg-type]

        states = States(changed, control=self.control)
        self.addCleanup(states.close)
        cache, failed = ThumbnailCache(self.cached), FailedThumbnails(self.cached)
        viewer = PreviewViewer(states.place, SANDBOX, cache, failed)
        states.show(os.fsencode(directory))

    def thumbnail(self, path: str) -> Path:
        name = hashlib.md5(uri_of(os.fsencode(path)).encode("ascii")).hexdigest()
        return Path(f"{self.cached}/large/{name}.png")

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PREVIEW_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), end, f"not within {PREVIEW_SECONDS} s: {what}")
            time.sleep(0.05)

    def has_preview(self, path: str) -> bool:
        try:
            return os.getxattr(path, "user.dewpoint.hasPreview") == b"1"
        except OSError:
            return False  # it has not come yet

    def test_what_one_device_makes_is_seen_on_the_other_without_a_download(self) -> None:
        os.mkdir(f"{self.desk}/d")
        files = {
            "d/a.jpg": picture(), "d/日本 #1;.png": picture(300, 600, "png"), "d/damaged.jpg": b"\xff\xd8\xff" + os.urandom(999),
        }  # fmt: skip
        for name, data in files.items():
            Path(self.desk, name).write_bytes(data)
        # One is there before the agent starts, and the others come while it runs.
        self.start_agent()
        shown = {"d/a.jpg": (256, 192), "d/日本 #1;.png": (128, 256), "d/later.jpg": (256, 256)}
        Path(self.desk, "d/later.jpg").write_bytes(picture(400, 400))
        for name in shown:
            self.wait(f"the preview of {name}", functools.partial(self.has_preview, f"{self.laptop}/{name}"))
        self.show(f"{self.laptop}/d")
        for name, size in shown.items():
            place = self.thumbnail(f"{self.laptop}/{name}")
            self.wait(f"the thumbnail of {name}", place.exists)
            found = Decoded(place.read_bytes(), "png")
            self.assertEqual((found.size, found.color(0.1, 0.5), found.color(0.9, 0.5)), (size, "red", "blue"))
        self.assertFalse(self.has_preview(f"{self.laptop}/d/damaged.jpg"))
        control = self.control(self.mounted(self.laptop))
        there = control.directory("d")
        self.assertEqual(there.keys(), {os.path.basename(name) for name in [*files, *shown]})
        self.assertEqual({item["downloadingStatus"] for item in there.values()}, {"NotDownloaded"})
