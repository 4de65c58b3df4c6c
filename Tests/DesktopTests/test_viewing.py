import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from dewpoint_desktop import previews, viewing
from dewpoint_desktop.cache import Pixels, ThumbnailCache, exact_time, png
from dewpoint_desktop.control import Control, Fault
from dewpoint_desktop.following import Follower, Shown
from dewpoint_desktop.thumbnails import FailedThumbnails, texts_of, uri_of
from dewpoint_desktop.viewing import PreviewViewer

from .daemon import FakeDaemon, status
from .pictures import SANDBOX, Decoded, needs_sandbox, picture, turned

WAIT_SECONDS = 10
QUIET_SECONDS = 0.3
# A time with parts of a second that is no number of the machine's.
TIME = 1_700_000_000_123_456_789
# Asks Tumbler for thumbnails of URIs, and prints for each size how many are ready and how many failed.
TUMBLER_CLIENT = """
import sys
from gi.repository import Gio, GLib
name, path = "org.freedesktop.thumbnails.Thumbnailer1", "/org/freedesktop/thumbnails/Thumbnailer1"
bus, loop, uris = Gio.bus_get_sync(Gio.BusType.SESSION), GLib.MainLoop(), sys.argv[1:]
def receive(connection, sender, path, interface, signal, values):
    if signal in found:
        found[signal].update(values.unpack()[1])
    elif signal == "Finished":
        loop.quit()
bus.signal_subscribe(name, name, None, None, None, 0, receive)
for size in ("normal", "large"):
    found = {"Ready": set(), "Error": set()}
    order = GLib.Variant("(asasssu)", (uris, ["image/jpeg"] * len(uris), size, "foreground", 0))
    bus.call_sync(name, path, name, "Queue", order, None, 0, 10000, None)
    GLib.timeout_add_seconds(15, loop.quit)
    loop.run()
    print(size, len(found["Ready"]), len(found["Error"]))
"""


def place_of(directory: str, path: bytes, size: str = "large") -> str:
    return f"{directory}/{size}/{hashlib.md5(uri_of(path).encode()).hexdigest()}.png"


class WithMount(unittest.TestCase):
    """The directory of the tests is the mount: its files have sizes and times, and no bytes."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.point, self.cached = f"{directory.name}/mount", f"{directory.name}/cache"
        os.mkdir(self.point)
        self.daemon = FakeDaemon(directory.name, os.fsencode(self.point))
        self.addCleanup(self.daemon.stop)
        self.daemon.previews = {}
        self.control = Control(self.daemon.mount, self.daemon.environment)

    def path(self, name: str) -> bytes:
        return os.fsencode(f"{self.point}/{name}")

    def add(self, name: str, preview: bytes | None, size: int = 5000, **values: object) -> None:
        assert self.daemon.previews is not None
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            os.truncate(file.fileno(), size)
        os.utime(path, ns=(TIME, TIME))
        self.daemon.items[name] = status(name, hasPreview=preview is not None, etag="1", **values)
        if preview is not None:
            self.daemon.previews[name] = preview

    def thumbnail(self, name: str, size: str = "large") -> str:
        return place_of(self.cached, self.path(name), size)


@needs_sandbox
class ViewingTests(WithMount):
    def setUp(self) -> None:
        super().setUp()
        self.nudged: list[bytes] = []
        self.viewer = PreviewViewer(
            lambda path: (self.control, os.path.relpath(os.fsdecode(path), self.point).removeprefix(".")), SANDBOX,
            ThumbnailCache(self.cached), FailedThumbnails(self.cached), self.nudged.append,
        )  # fmt: skip

    def show(self, directory: str = "") -> None:
        """As the helper of a file manager does when a directory is shown."""
        follower = Follower(self.daemon.mount, self.viewer.offer, lambda _: self.control)
        self.addCleanup(follower.close)
        follower.show(directory)

    def wait(self, *names: str) -> None:
        end = time.monotonic() + WAIT_SECONDS
        expected = {self.path(name) for name in names}
        while not expected <= set(self.nudged) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(QUIET_SECONDS)
        self.assertEqual(set(self.nudged), expected)

    def requests(self) -> list[list[str]]:
        return [sorted(order["paths"]) for route, order in self.daemon.posted if route == "/v1/previews"]

    def test_what_is_not_local_and_has_a_preview_gets_thumbnails(self) -> None:
        self.add("d/a b.jpg", picture(256, 192))
        self.add("d/none.jpg", None)
        self.add("d/local.jpg", picture(256, 192), downloadingStatus="Current")
        self.add("d/text.txt", picture(256, 192))
        self.show("d")
        self.wait("d/a b.jpg")
        self.assertEqual(self.requests(), [["d/a b.jpg"]])
        for size, pixels in (("normal", (128, 96)), ("large", (256, 192))):
            place = self.thumbnail("d/a b.jpg", size)
            self.assertEqual(stat.S_IMODE(os.stat(place).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(place)).st_mode), 0o700)
            shown = Decoded(Path(place).read_bytes(), "png")
            self.assertEqual((shown.size, shown.color(0.1, 0.5), shown.color(0.9, 0.5)), (pixels, "red", "blue"))
            self.assertEqual(
                texts_of(place),
                {
                    b"Thumb::URI": uri_of(self.path("d/a b.jpg")).encode(), b"Thumb::MTime": b"1700000000",
                    b"Thumb::Size": b"5000", b"Thumb::Mimetype": b"image/jpeg", b"Software": b"Dewpoint",
                },
            )  # fmt: skip
        self.assertEqual(os.listdir(f"{self.cached}/large"), [os.path.basename(self.thumbnail("d/a b.jpg"))])

    def test_glib_takes_them_for_its_own(self) -> None:
        name = "\xdc; '#%?*[1].jpg"
        self.add(name, picture(256, 192))
        self.show()
        self.wait(name)
        os.rename(self.cached, f"{self.point}/../thumbnails")
        code = (
            "import sys\nfrom gi.repository import Gio\n"
            "found = Gio.File.new_for_path(sys.argv[1]).query_info('thumbnail::*', 0, None)\n"
            "print(found.get_attribute_boolean('thumbnail::is-valid'), found.get_attribute_byte_string('thumbnail::path'))"
        )
        said = subprocess.run(
            [sys.executable, "-c", code, self.path(name)], capture_output=True, text=True, timeout=30, check=True,
            env={**os.environ, "XDG_CACHE_HOME": os.path.dirname(self.point), "LC_ALL": "C.UTF-8"},
        ).stdout  # fmt: skip
        self.assertRegex(said, r"True .*/large/[0-9a-f]{32}\.png")

    def test_1000_pictures_are_five_requests_and_there_within_seconds(self) -> None:
        preview = picture(256, 192)
        for number in range(1000):
            self.add(f"{number:04}.jpg", preview)
        started = time.monotonic()
        self.show()
        end = started + 60
        while len(self.nudged) < 1000 and time.monotonic() < end:
            time.sleep(0.01)
        print(f"1,000 thumbnails were written within {time.monotonic() - started:.1f} s", file=sys.stderr)
        self.assertEqual(len(set(self.nudged)), 1000)
        # A window shows the first ones: these do not wait for the others.
        self.assertEqual(sorted(len(paths) for paths in self.requests()), [64, 168, 256, 256, 256])
        self.assertIn([f"{number:04}.jpg" for number in range(64)], self.requests())

    def test_no_request_is_longer_than_a_daemon_takes_whatever_the_names_are(self) -> None:
        # Six bytes of JSON for each of these letters, which have two bytes in a name.
        letter = "\xdc"
        directory, names = letter * 120, [f"{number:03}{letter * 100}.jpg" for number in range(100)]
        for name in names:
            self.add(f"{directory}/{name}", picture(16, 16))
        self.show(directory)
        self.wait(*(f"{directory}/{name}" for name in names))
        asked = self.requests()
        self.assertEqual(sorted(path for paths in asked for path in paths), [f"{directory}/{name}" for name in names])
        self.assertLess(max(len(json.dumps({"paths": paths})) for paths in asked), 64 << 10)
        self.assertEqual(len(asked), 3)

    def test_what_has_thumbnails_is_not_asked_for_until_its_bytes_change(self) -> None:
        self.add("a.jpg", picture(256, 192))
        self.show()
        self.wait("a.jpg")
        self.show()
        self.wait("a.jpg")
        self.assertEqual(len(self.requests()), 1)
        os.truncate(self.path("a.jpg"), 6000)
        os.utime(self.path("a.jpg"), ns=(TIME, TIME + 10**9))
        self.daemon.items["a.jpg"]["etag"] = "2"
        self.daemon.tell(path="a.jpg")
        end = time.monotonic() + WAIT_SECONDS
        while len(self.nudged) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(texts_of(self.thumbnail("a.jpg"))[b"Thumb::MTime"], b"1700000001")

    def test_what_another_program_removes_right_afterwards_is_written_again(self) -> None:
        # As Tumbler does when it has tried to read a file that is not local.
        for name in ("a.jpg", "b.jpg"):
            self.add(name, picture(256, 192))
        with mock.patch.object(viewing, "CHECK_SECONDS", (0.5, 1)):
            self.show()
            self.wait("a.jpg", "b.jpg")
            for size in ("normal", "large"):
                os.unlink(self.thumbnail("b.jpg", size))
            time.sleep(0.5 + QUIET_SECONDS)
        self.assertEqual([os.path.basename(path) for path in self.nudged], [b"a.jpg", b"b.jpg", b"b.jpg"])
        self.assertTrue(os.path.exists(self.thumbnail("b.jpg")))
        self.assertEqual(self.requests(), [["a.jpg", "b.jpg"], ["b.jpg"]])

    def test_what_changes_while_its_preview_is_fetched_gets_no_thumbnail_of_the_old_bytes(self) -> None:
        self.add("a.jpg", picture(256, 192))
        real = self.control.post

        def change(*words: Any) -> Any:
            os.utime(self.path("a.jpg"), ns=(TIME, TIME + 1))
            return real(*words)

        with mock.patch.object(self.control, "post", change):
            self.show()
            self.wait()

    def test_the_sizes_for_screens_of_many_pixels_are_written_where_they_are_used(self) -> None:
        os.makedirs(f"{self.cached}/x-large")
        Path(f"{self.cached}/x-large/another.png").touch()
        self.add("a.jpg", picture(256, 192))
        self.show()
        self.wait("a.jpg")
        self.assertTrue(os.path.exists(self.thumbnail("a.jpg", "x-large")))
        self.assertFalse(os.path.exists(f"{self.cached}/xx-large"))
        # Once it is local, a better one can be made.
        ThumbnailCache(self.cached).forget_enlarged(self.path("a.jpg"))
        self.assertEqual(os.listdir(f"{self.cached}/x-large"), ["another.png"])
        self.assertTrue(os.path.exists(self.thumbnail("a.jpg")))

    def test_the_record_of_a_failure_is_removed(self) -> None:
        self.add("a.jpg", picture(256, 192))
        record = place_of(f"{self.cached}/fail", self.path("a.jpg"), "gnome-thumbnail-factory")
        os.makedirs(os.path.dirname(record))
        Path(record).touch()
        self.show()
        self.wait("a.jpg")
        self.assertFalse(os.path.exists(record))

    def test_what_is_no_picture_is_left_out_and_the_others_are_not(self) -> None:
        good = picture(256, 192)
        bad = {
            "damaged": good[:300], "garbage": b"\xff\xd8\xff" + os.urandom(5000), "png": picture(64, 64, "png"), "empty": b"",
            "long": good[:2] + b"\xff\xfe\xff\xf0" + bytes(65518) + good[2:], "start": b"\xff\xd8\xff",
        }  # fmt: skip
        for name, preview in bad.items():
            self.add(f"{name}.jpg", preview)
            self.add(f"{name}-good.jpg", good)
        self.show()
        self.wait(*(f"{name}-good.jpg" for name in bad))

    def test_one_that_ends_the_process_costs_only_itself(self) -> None:
        good = picture(256, 192)
        for name in "abcdef":
            self.add(f"{name}.jpg", turned(good, 1, b"evil") if name in "bd" else good)
        # A decoder with a hole: such a preview ends it.
        path = Path(self.point).parent / "decoding.py"
        text = Path(previews.DECODER).read_text()
        path.write_text(text.replace("    loader =", "    if b'evil' in data:\n        os.abort()\n    loader =", 1))
        with mock.patch.object(viewing, "DECODER", str(path)):
            self.show()
            self.wait("a.jpg", "c.jpg", "e.jpg", "f.jpg")

    def test_a_decoder_that_answers_what_it_likes_writes_no_thumbnail(self) -> None:
        self.add("a.jpg", picture(256, 192))
        for number, body in enumerate((
            "import os, struct; os.write(1, struct.pack('>II', 100000, 100000) + bytes(1 << 20))",
            "import os\nwhile True: os.write(1, bytes(1 << 16))",
            "import os, struct\nfor _ in range(2): os.write(1, struct.pack('>II', 300, 100) + bytes(90000))",
            "import os, struct; os.write(1, struct.pack('>II', 10, 10) + bytes(10))",
            "pass",
        )):  # fmt: skip
            with self.subTest(number=number):
                path = Path(self.point).parent / f"{number}.py"
                path.write_text(body)
                with mock.patch.object(viewing, "DECODER", str(path)):
                    self.show()
                    self.wait()
                self.assertFalse(os.path.exists(f"{self.cached}/large"))

    def test_what_a_daemon_answers_is_not_believed(self) -> None:
        self.add("a.jpg", picture(256, 192))
        self.add("d/b.jpg", picture(256, 192))
        answers: list[Any] = [
            [], {}, {"previews": 1}, {"previews": [1]}, {"previews": [{"path": "a.jpg", "preview": "%%"}]},
            {"previews": [{"path": 1, "preview": "/9j/"}]}, {"previews": [{"path": "a.jpg", "preview": "A" * 99999}]},
            {"previews": [{"path": "../x.jpg", "byteCount": 3, "preview": "/9j/"}]},
        ]  # fmt: skip
        for answer in answers:
            with (
                self.subTest(answer=answer),
                mock.patch.object(self.control, "post", return_value=answer),
                mock.patch.object(viewing, "ATTEMPTS", 1),
            ):
                self.show()
                self.wait()

    def test_a_daemon_that_knows_no_previews_is_asked_once(self) -> None:
        self.add("a.jpg", picture(256, 192))
        self.daemon.previews = None
        with mock.patch.object(viewing, "RETRY_SECONDS", 0.05):
            self.show()
            self.wait()
        self.assertEqual(len(self.requests()), 1)

    def test_a_store_that_does_not_answer_is_asked_again_a_few_times(self) -> None:
        self.add("a.jpg", picture(256, 192))
        with (
            mock.patch.object(viewing, "RETRY_SECONDS", 0.005),
            mock.patch.object(self.control, "post", side_effect=Fault("unreachable", "no network")) as post,
        ):
            self.show()
            self.wait()
        self.assertEqual(post.call_count, viewing.ATTEMPTS)

    def test_a_directory_that_waits_holds_up_no_other_one(self) -> None:
        self.add("a/1.jpg", picture(256, 192))
        self.add("b/2.jpg", picture(256, 192))
        real = self.control.post

        def post(route: str, body: Any, seconds: float = 0) -> Any:
            if body["paths"] == ["a/1.jpg"]:
                raise Fault("unreachable", "no network")
            return real(route, body, seconds)

        with mock.patch.object(self.control, "post", post):
            self.show("a")
            time.sleep(QUIET_SECONDS)
            self.show("b")
            self.wait("b/2.jpg")

    def test_no_more_is_fetched_in_a_minute_than_is_allowed(self) -> None:
        preview = turned(picture(256, 192), 1, bytes(14_000))
        with mock.patch.object(viewing, "MINUTE_BYTES", 4 * previews.PREVIEW_BYTES), mock.patch.object(
            viewing, "MINUTE_SECONDS", 4.0
        ), mock.patch.object(viewing, "BATCH_PATHS", 2):  # fmt: skip
            self.viewer._left, self.viewer._since = 0, time.monotonic()
            for number in range(4):
                self.add(f"{number}.jpg", preview)
            started = time.monotonic()
            self.show()
            self.wait(*(f"{number}.jpg" for number in range(4)))
        self.assertGreater(time.monotonic() - started, 3)

    def test_what_waits_is_bounded_and_the_directory_shown_last_comes_first(self) -> None:
        shown = Shown.of(status("a.jpg", hasPreview=True))
        with mock.patch.object(viewing, "WANTED_FILES", 100), mock.patch.object(self.viewer, "_run"):
            for directory in (b"/1", b"/2", b"/3"):
                self.viewer.offer(directory, {f"{number}.jpg": shown for number in range(60)})
            self.assertEqual({key: len(names) for key, names in self.viewer._wanted.items()}, {b"/2": 40, b"/3": 60})


class CacheTests(unittest.TestCase):
    def pixels(self) -> Iterator[Pixels]:
        for width, height in ((1, 1), (1, 50), (50, 1), (256, 192), (97, 3)):
            yield Pixels(width, height, os.urandom(3 * width * height))

    @needs_sandbox
    def test_pixels_come_back_as_they_were(self) -> None:
        for pixels in self.pixels():
            found = Decoded(png(pixels, None, {}), "png")
            self.assertEqual((found.size, found.rows()), ((pixels.width, pixels.height), pixels.data))

    def test_pixels_that_are_not_so_many_are_refused(self) -> None:
        for width, height, count in ((0, 0, 0), (2, 2, 11), (2, 2, 13)):
            with self.assertRaises(ValueError):
                Pixels(width, height, bytes(count))

    def test_tumbler_and_all_others_find_the_time_that_they_compare(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            for microseconds in (0, 1, 123_456, 999_999, 500_000):
                os.utime(file.name, ns=(TIME, 1_700_000_000_000_000_000 + microseconds * 1000 + 789))
                exact = exact_time(os.stat(file.name))
                # As Tumbler counts: seconds + 1e-6 * microseconds.
                self.assertEqual(float(exact or 1_700_000_000), 1_700_000_000 + 1e-6 * microseconds)
        data = png(Pixels(1, 1, b"abc"), "1.5", {"Thumb::URI": "file:///a", "Thumb::MTime": "1"})
        places = [
            data.index(text) for text in (b"zTXtThumb::MTime", b"tEXtThumb::URI", b"tEXtThumb::MTime\x001", b"IDAT")
        ]
        self.assertEqual(places, sorted(places))

    @unittest.skipUnless(
        shutil.which("dbus-run-session")
        and os.path.exists("/usr/share/dbus-1/services/org.xfce.Tumbler.Thumbnailer1.service"),
        "tumbler is not installed",
    )
    def test_tumbler_itself_takes_them_for_its_own(self) -> None:
        # It is asked for thumbnails of files that are no pictures: it could make none.
        with tempfile.TemporaryDirectory() as directory:
            cache = ThumbnailCache(f"{directory}/thumbnails")
            pictures = {size: Pixels(size, size, bytes(3 * size * size)) for size in (128, 256)}
            paths = [os.fsencode(f"{directory}/a b;{number}.jpg") for number in range(20)]
            for number, path in enumerate(paths):
                Path(os.fsdecode(path)).write_bytes(b"none")
                os.utime(path, ns=(TIME, TIME + number * 1_234_567))
                cache.write(path, os.stat(path), "image/jpeg", pictures)
            names = ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR")
            environment = {**os.environ, **dict.fromkeys(names, directory)}
            environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
            said = subprocess.run(
                ["dbus-run-session", "--", sys.executable, "-c", TUMBLER_CLIENT, *map(uri_of, paths)], env=environment,
                capture_output=True, text=True, timeout=60, check=False,
            ).stdout  # fmt: skip
            self.assertEqual(said.split(), ["normal", "20", "0", "large", "20", "0"])

    def test_a_cache_that_cannot_be_written_is_no_thumbnail_and_no_rest_of_one(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            cache = ThumbnailCache(directory)
            pictures = dict.fromkeys((128, 256), Pixels(1, 1, b"abc"))
            with mock.patch.object(os, "replace", side_effect=OSError), self.assertRaises(OSError):
                cache.write(b"/a.jpg", os.stat(directory), "image/jpeg", pictures)
            self.assertEqual(os.listdir(f"{directory}/normal"), [])

    def test_qt_writes_one_byte_of_a_uri_otherwise(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            ThumbnailCache(directory).write(
                b"/a;b.jpg", os.stat(directory), "image/jpeg", dict.fromkeys((128, 256), Pixels(1, 1, b"abc"))
            )
            found = {
                texts_of(f"{directory}/normal/{name}")[b"Thumb::URI"] for name in os.listdir(f"{directory}/normal")
            }
            self.assertEqual(found, {b"file:///a%3Bb.jpg", b"file:///a;b.jpg"})
