import hashlib
import os
import struct
import tempfile
import unittest
import zlib

from dewpoint_desktop.thumbnails import FailedThumbnails, has_thumbnail, uri_of

try:
    from gi.repository import GLib
except ImportError:
    GLib = None


def png(**texts: str) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    for key, value in texts.items():
        head += chunk(b"tEXt", f"Thumb::{key}".encode() + b"\0" + value.encode())
    return head + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


class ThumbnailTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.failed = FailedThumbnails(directory.name)

    def record(self, path: bytes, program: str = "gnome-thumbnail-factory") -> str:
        uri = uri_of(path)
        place = f"{self.directory}/fail/{program}/{hashlib.md5(uri.encode()).hexdigest()}.png"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(png(MTime="1", URI=uri))
        return place

    def test_the_records_of_all_programs_are_removed_for_one_file(self) -> None:
        mine = [self.record(b"/mnt/a b/\xc3\xbc#1.jpg", program) for program in ("gnome-thumbnail-factory", "mate")]
        other = self.record(b"/mnt/other.jpg")
        self.assertTrue(self.failed.have(b"/mnt/a b/\xc3\xbc#1.jpg"))
        self.assertTrue(self.failed.forget(b"/mnt/a b/\xc3\xbc#1.jpg"))
        self.assertEqual([os.path.exists(place) for place in [*mine, other]], [False, False, True])
        self.assertFalse(self.failed.forget(b"/mnt/a b/\xc3\xbc#1.jpg"))

    def test_records_below_a_mount_are_found_by_what_they_say(self) -> None:
        self.record(b"/mnt/a b/\xff.jpg")
        self.record(b"/mnt/a bc/no.jpg")
        for name, text in [("empty", b""), ("text", b"hello"), ("cut", png(URI="file:///mnt/a%20b/cut")[:40])]:
            with open(f"{self.directory}/fail/gnome-thumbnail-factory/{name}.png", "wb") as file:
                file.write(text)
        self.assertEqual(self.failed.below(b"/mnt/a b"), {b"/mnt/a b/\xff.jpg"})

    def test_pictures_films_and_documents_have_thumbnails(self) -> None:
        found = [name for name in ("a.jpg", "b.MP4", "c.pdf", "d.txt", "e", "f.odt") if has_thumbnail(name)]
        self.assertEqual(found, ["a.jpg", "b.MP4", "c.pdf"])

    def test_without_a_cache_there_is_nothing(self) -> None:
        failed = FailedThumbnails(f"{self.directory}/none")
        self.assertFalse(failed.forget(b"/a"))
        self.assertEqual(failed.below(b"/"), set())

    @unittest.skipUnless(GLib, "python3-gi is not installed")
    def test_uris_are_those_of_glib(self) -> None:
        for path in [bytes(set(range(1, 256)) - {ord("/")}).join([b"/", b""]), "/mnt/Übersicht ;,~'\"[]".encode()]:
            self.assertEqual(uri_of(path), GLib.filename_to_uri(os.fsdecode(path), None))
