import os
import shutil
import socket
import tempfile
import threading
import time
import unittest
import zlib
from unittest import mock

from dewpoint_desktop import previews
from dewpoint_desktop.previews import PREVIEW_BYTES, PreviewMaker, Source, longest
from dewpoint_desktop.sandbox import MIB, Limits, Sandbox
from dewpoint_desktop.thumbnailers import Thumbnailer, Thumbnailers

from .pictures import SANDBOX, Decoded, bomb, document, needs_sandbox, picture, png, thumbnailer, turned

# Far more than any of them takes, and far less than one that is not bounded.
LIMIT_SECONDS = 90


class Making(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.maker = PreviewMaker(SANDBOX, Thumbnailers())

    def write(self, name: str, data: bytes) -> str:
        path = f"{self.directory}/{name}"
        with open(path, "wb") as file:
            file.write(data)
        return path

    def preview(self, name: str, data: bytes | None = None) -> bytes | None:
        if data is not None:
            self.write(name, data)
        source = Source.open(f"{self.directory}/{name}".encode())
        if source is None:
            return None
        with source:
            return self.maker.preview(source, name)

    def shown(self, name: str, data: bytes) -> Decoded:
        found = self.preview(name, data)
        assert found, f"{name} has no preview"
        self.assertLessEqual(len(found), PREVIEW_BYTES)
        return Decoded(found)


@needs_sandbox
class PreviewTests(Making):
    def test_a_picture_has_a_small_one(self) -> None:
        for name, kind in (("a.jpg", "jpeg"), ("b.png", "png"), ("c.tiff", "tiff"), ("d.bmp", "bmp")):
            with self.subTest(kind=kind):
                found = self.shown(name, picture(640, 480, kind))
                self.assertEqual(found.size, (256, 192))
                self.assertEqual([found.color(0.1, 0.5), found.color(0.9, 0.5)], ["red", "blue"])

    def test_one_that_cannot_be_compressed_is_made_to_fit(self) -> None:
        noise = b"".join(b"\0" + os.urandom(3 * 1000) for _ in range(1000))
        self.shown("a.png", png(1000, 1000, zlib.compress(noise)))

    def test_what_is_transparent_is_white(self) -> None:
        found = self.shown("a.png", png(64, 64, zlib.compress((b"\0" + bytes(4 * 64)) * 64), color=6))
        self.assertEqual(found.color(0.5, 0.5), "another")

    def test_it_is_turned_as_the_camera_says_and_says_nothing_else_of_it(self) -> None:
        data = turned(picture(640, 480), 6, b"where and by whom")
        found = self.preview("a.jpg", data)
        assert found
        self.assertEqual(Decoded(found).size, (192, 256))
        self.assertEqual([Decoded(found).color(0.5, 0.1), Decoded(found).color(0.5, 0.9)], ["red", "blue"])
        for secret in (b"Exif", b"where"):
            self.assertIn(secret, data)
            self.assertNotIn(secret, found)

    @unittest.skipUnless(shutil.which("ffmpegthumbnailer"), "ffmpegthumbnailer is not installed")
    def test_a_video_has_one(self) -> None:
        self.assertEqual(self.shown("a.mp4", picture(640, 480) * 30).size, (256, 192))

    @unittest.skipUnless(shutil.which("evince-thumbnailer"), "evince-thumbnailer is not installed")
    def test_a_document_has_one(self) -> None:
        self.assertEqual(self.shown("a.pdf", document()).size, (256, 171))

    def test_a_name_of_any_kind_is_no_name_in_the_sandbox(self) -> None:
        for name in ("--help.png", "a b'$(touch x)\".png", "%s%u.png", "-\n.png", "\udcff.png"):
            with self.subTest(name=name):
                path = os.fsencode(f"{self.directory}/{name}")
                with open(path, "wb") as file:
                    file.write(picture(kind="png"))
                source = Source.open(path)
                assert source
                with source:
                    self.assertIsNotNone(self.maker.preview(source, name))


@needs_sandbox
class HarmlessTests(Making):
    """What is no picture, or one that is meant to hurt, has no preview, does nothing and takes a bounded time."""

    def setUp(self) -> None:
        super().setUp()
        started = time.monotonic()
        self.addCleanup(lambda: self.assertLess(time.monotonic() - started, LIMIT_SECONDS))

    def none(self, name: str, data: bytes | None = None) -> None:
        self.assertIsNone(self.preview(name, data))

    def test_one_that_is_damaged_has_none(self) -> None:
        for name, data in (
            ("a.png", picture(kind="png")[:40]), ("a.jpg", b"\xff\xd8\xff" + os.urandom(5000)), ("a.tiff", os.urandom(5000)),
            ("a.pdf", b"%PDF-1.4\n" + os.urandom(5000)), ("a.mp4", os.urandom(5000)), ("a.svg", b"<svg"),
            ("a.gif", b"GIF89a" + os.urandom(500)),
        ):  # fmt: skip
            with self.subTest(name=name):
                self.none(name, data)

    def test_one_of_50000_by_50000_pixels_has_none(self) -> None:
        data = bomb()
        self.assertLess(len(data), 4 * MIB)
        self.none("a.png", data)

    def test_a_tiff_of_1_gb_is_not_even_looked_at(self) -> None:
        path = self.write("a.tiff", picture(kind="tiff"))
        os.truncate(path, 1 << 30)
        with mock.patch.object(SANDBOX, "answer", side_effect=AssertionError):
            self.none("a.tiff")
        # Up to the limit it is, and whatever comes of it comes in time.
        os.truncate(path, longest("image/tiff"))
        self.preview("a.tiff")

    def test_an_svg_reaches_no_file_and_no_server(self) -> None:
        secret = self.write("secret.png", picture(kind="png"))
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        reached: list[object] = []

        def accept() -> None:
            try:
                while True:
                    reached.append(listener.accept())
            except OSError:
                pass

        threading.Thread(target=accept, daemon=True).start()
        server = f"http://127.0.0.1:{listener.getsockname()[1]}/a.png"
        for reference in (server, f"file://{secret}", secret, "secret.png", "file:///etc/passwd", "/proc/self/environ"):
            with self.subTest(reference=reference):
                text = (
                    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="256" '
                    f'height="256"><image xlink:href="{reference}" href="{reference}" width="256" height="256"/>'
                    f'<style>@import url("{reference}");</style></svg>'
                )
                found = self.preview("a.svg", text.encode())
                if found:
                    self.assertEqual({Decoded(found).color(x, 0.5) for x in (0.1, 0.5, 0.9)}, {"another"})
        self.assertEqual(reached, [])

    def test_an_svg_that_names_entities_without_end_has_none(self) -> None:
        lines = ['<!ENTITY a "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">']
        lines += [f'<!ENTITY {b} "{f"&{a};" * 20}">' for a, b in zip("abcdefgh", "bcdefghi")]
        text = f'<!DOCTYPE svg [{"".join(lines)}]><svg xmlns="http://www.w3.org/2000/svg"><text>&i;</text></svg>'
        self.preview("a.svg", text.encode())

    def test_what_is_no_regular_file_is_not_waited_for(self) -> None:
        self.write("b.png", picture(kind="png"))
        os.symlink("b.png", f"{self.directory}/link.png")
        os.mkfifo(f"{self.directory}/pipe.png")
        os.mkdir(f"{self.directory}/directory.png")
        for name in ("link.png", "pipe.png", "directory.png", "missing.png"):
            with self.subTest(name=name):
                self.none(name)

    def test_an_empty_file_has_none(self) -> None:
        with mock.patch.object(SANDBOX, "answer", side_effect=AssertionError):
            self.none("a.png", b"")

    def test_one_that_changes_meanwhile_has_none(self) -> None:
        path = self.write("a.png", picture(kind="png"))
        real = SANDBOX.answer

        def change(*words: object, **values: object) -> bytes:
            answer = real(*words, **values)  # type: ignore[arg-type]
            with open(path, "ab") as file:
                file.write(b"more")
            return answer

        with mock.patch.object(SANDBOX, "answer", change):
            self.none("a.png")
        self.assertIsNotNone(self.preview("a.png"))


@needs_sandbox
class SandboxTests(Making):
    """Thumbnailers that do what they should not."""

    def run_thumbnailer(self, script: str, **limits: float) -> bytes | None:
        thumbnailer(self.directory, "test", script)
        self.maker = PreviewMaker(SANDBOX, Thumbnailers([self.directory]))
        with mock.patch.object(previews, "THUMBNAILER_LIMITS", Limits(**limits)):  # type: ignore[arg-type]
            return self.preview("a.png", picture(kind="png"))

    def test_one_that_copies_its_picture_is_enough(self) -> None:
        found = self.run_thumbnailer("cp $1 $2")
        assert found
        self.assertEqual(Decoded(found).size, (256, 192))

    def test_one_that_does_not_end_is_ended_with_all_that_it_started(self) -> None:
        started = time.monotonic()
        self.assertIsNone(self.run_thumbnailer("(sleep 61.5 &) ; sleep 61.5; cp $1 $2", seconds=1))
        self.assertLess(time.monotonic() - started, 10)
        time.sleep(0.2)
        self.assertEqual(running("61.5"), [])

    def test_each_limit_holds(self) -> None:
        python = "/usr/bin/python3 -c "
        for name, script, limits in (
            ("processor", 'timeout 50 sh -c "while :; do :; done"; cp $1 $2; exit 1', {"processor_seconds": 1}),
            ("memory", python + '"bytearray(1 << 29)" && cp $1 $2', {"memory_bytes": 256 * MIB}),
            ("file", "head -c 3000000 /dev/zero > $2", {"file_bytes": MIB}),
            ("temporary", "for i in 1 2 3 4 5; do head -c 30000000 /dev/zero > /tmp/$i || exit 1; done; cp $1 $2", {}),
            ("open files", python + '"[open(0, closefd=False) and open(\\"/dev/null\\").detach() for _ in range(99)]" && '
             "cp $1 $2", {"open_files": 40}),
            ("processes", "i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done; cp $1 $2", {"processes": 20}),
            ("answer", "cat $1 > $2; head -c 3000000 /dev/zero >> $2", {"answer_bytes": MIB}),
        ):  # fmt: skip
            with self.subTest(name=name):
                if name == "processes" and os.geteuid() == 0:
                    continue  # what root may do is not counted
                self.assertIsNone(self.run_thumbnailer(script, **limits))

    def test_nothing_is_seen_but_the_system_and_the_picture(self) -> None:
        home = os.path.expanduser("~")
        marker = f"{self.directory}/marker"
        for name, script in (
            ("home", f"ls {home}"), ("directory", f"ls {self.directory}"), ("password database", "cat /etc/passwd"),
            ("network", "grep -v -e lo: -e Inter -e face /proc/net/dev"), ("other processes", "test -e /proc/100"),
            ("writing the picture", "echo > $1"), ("writing the system", "echo > /usr/marker"),
            ("writing the directory", f"echo > {marker}"), ("environment", "env | grep -e DBUS -e DISPLAY -e MARKER"),
            ("namespaces", "unshare --user true"), ("devices", "ls /dev/fuse /dev/kmsg /dev/sda"),
        ):  # fmt: skip
            with self.subTest(name=name), mock.patch.dict(os.environ, {"MARKER": "1"}):
                self.assertIsNone(self.run_thumbnailer(f"{script} && cp $1 $2"))
                self.assertIsNotNone(self.run_thumbnailer(f"{script} || cp $1 $2"))
        self.assertFalse(os.path.exists(marker))


def running(argument: str) -> list[str]:
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if argument.encode() in words:
            found.append(number)
    return found


class WithoutSandboxTests(Making):
    def test_without_bubblewrap_nothing_is_run_and_the_log_says_so_once(self) -> None:
        self.maker = PreviewMaker(Sandbox("/none/bwrap"), Thumbnailers())
        with self.assertLogs("dewpoint") as said:
            for _ in range(3):
                self.assertFalse(self.maker.makes("a.svg"))
                self.assertIsNone(self.preview("a.svg", b"<svg/>"))
        self.assertEqual(len(said.output), 1)
        self.assertIn("bubblewrap", said.output[0])

    def test_where_bubblewrap_is_refused_nothing_is_run(self) -> None:
        place = self.write("bwrap", b"#!/bin/sh\necho no namespaces for you >&2\nexit 1\n")
        os.chmod(place, 0o755)
        with self.assertLogs("dewpoint") as said:
            self.assertFalse(Sandbox(place).is_usable)
        self.assertIn("no namespaces for you", said.output[0])


class ThumbnailerTests(Making):
    def test_the_first_of_a_type_comes_first_and_one_that_is_missing_not_at_all(self) -> None:
        for place in ("home", "system"):
            os.mkdir(f"{self.directory}/{place}")
        for place, name, exec_line in (
            ("home", "b", "/bin/cat %i"), ("system", "b", "/bin/false"), ("system", "a", "/bin/sh -c \"x 'y'\" %u"),
            ("home", "c", "/none/program %i"), ("home", "d", '/bin/cat "unfinished'), ("home", "e", ""),
        ):  # fmt: skip
            with open(f"{self.directory}/{place}/{name}.thumbnailer", "w") as file:
                file.write(f"# one\n[Thumbnailer Entry]\nExec={exec_line}\nMimeType=image/png;image/x;\n")
        self.write("home/f.thumbnailer", b"\xff\xfe\0[")
        found = Thumbnailers([f"{self.directory}/home", f"{self.directory}/system", f"{self.directory}/none"])
        self.assertEqual([each.words[0] for each in found.of("image/png")], ["/bin/cat", "/bin/sh"])
        self.assertEqual(
            found.of("image/x")[1].command("/tmp/a", "/tmp/b", 9), ["/bin/sh", "-c", "x 'y'", "file:///tmp/a"]
        )
        self.assertEqual(found.of("text/plain"), [])

    def test_each_field_of_a_command_line_is_filled_once(self) -> None:
        made = Thumbnailer(("p", "-s%s", "%%s", "%u%i", "%o", "50%", "%x")).command("/%s", "/o", 256)
        self.assertEqual(made, ["p", "-s256", "%s", "file:///%s/%s", "/o", "50%", "%x"])
