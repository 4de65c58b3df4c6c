"""Pictures for the tests, made without a library, and some that are meant to hurt."""

import struct
import unittest
import zlib
from pathlib import Path

from dewpoint_desktop.sandbox import Sandbox

try:
    import gi

    gi.require_version("GdkPixbuf", "2.0")
    from gi.repository import GdkPixbuf, GLib
except (ImportError, ValueError):
    GdkPixbuf = None

SANDBOX = Sandbox()
BOMB_PIXELS = 50_000
needs_sandbox = unittest.skipUnless(
    GdkPixbuf and SANDBOX.is_usable, "bubblewrap or GdkPixbuf is not installed, or the system makes no sandbox"
)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, body: bytes, depth: int = 8, color: int = 2) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def bomb() -> bytes:
    """A small file that is a picture of 50,000 by 50,000 pixels."""
    packer, row = zlib.compressobj(1), bytes(1 + BOMB_PIXELS // 8)
    body = b"".join(packer.compress(row * 100) for _ in range(BOMB_PIXELS // 100))
    return png(BOMB_PIXELS, BOMB_PIXELS, body + packer.flush(), depth=1, color=0)


def picture(width: int = 640, height: int = 480, kind: str = "jpeg") -> bytes:
    """Red on the left, blue on the right."""
    row = b"\xff\0\0" * (width // 2) + b"\0\0\xff" * (width - width // 2)
    pixels = GdkPixbuf.Pixbuf.new_from_bytes(
        GLib.Bytes.new(row * height), GdkPixbuf.Colorspace.RGB, False, 8, width, height, 3 * width
    )
    return bytes(pixels.save_to_bufferv(kind, [], [])[1])


def turned(jpeg: bytes, orientation: int, text: bytes = b"") -> bytes:
    """A JPEG that says how it is to be turned, and more about itself."""
    tags = struct.pack(">HHHII", 1, 0x0112, 3, 1, orientation << 16)
    exif = b"Exif\0\0MM\0*" + struct.pack(">I", 8) + tags + bytes(4)
    segments = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    return jpeg[:2] + segments + b"\xff\xfe" + struct.pack(">H", len(text) + 2) + text + jpeg[2:]


def document() -> bytes:
    """A PDF of one page with a grey square."""
    content = b"0.5 g 100 100 200 200 re f"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 400]/Contents 4 0 R>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
    ]
    text, places = b"%PDF-1.4\n", []
    for number, value in enumerate(objects, 1):
        places.append(len(text))
        text += b"%d 0 obj%s endobj\n" % (number, value)
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    return text + table + b"trailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(text)


class Decoded:
    """What a picture shows."""

    def __init__(self, data: bytes, kind: str = "jpeg") -> None:
        loader = GdkPixbuf.PixbufLoader.new_with_type(kind)
        loader.write(data)
        loader.close()
        self._pixels = loader.get_pixbuf()
        self.size = (self._pixels.get_width(), self._pixels.get_height())

    def rows(self) -> bytes:
        """The pixels without gaps."""
        data, stride, used = self._pixels.get_pixels(), self._pixels.get_rowstride(), 3 * self.size[0]
        return b"".join(data[start : start + used] for start in range(0, stride * self.size[1], stride))

    def color(self, across: float, down: float) -> str:
        """The colour at a place, from 0 to 1 both ways: red, blue or another."""
        x, y = int(across * (self.size[0] - 1)), int(down * (self.size[1] - 1))
        start = y * self._pixels.get_rowstride() + x * self._pixels.get_n_channels()
        red, green, blue = self._pixels.get_pixels()[start : start + 3]
        if green > 80:
            return "another"
        return "red" if red > 180 and blue < 80 else "blue" if blue > 180 and red < 80 else "another"


def thumbnailer(directory: str, name: str, script: str, kind: str = "image/png") -> None:
    """Installs a thumbnailer that is a script; `$1` is the picture, and `$2` the place for the PNG."""
    place = Path(directory, f"{name}.thumbnailer")
    place.write_text(f"[Thumbnailer Entry]\nExec=/bin/sh -c '{script}' sh %i %o\nMimeType={kind};\n")
