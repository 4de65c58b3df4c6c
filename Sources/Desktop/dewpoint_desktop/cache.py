"""Writes thumbnails into the cache that all file managers of the desktop read, by the Thumbnail Managing Standard of
freedesktop.org: `SIZE/MD5.png`, where MD5 is that of the file's URI, with the URI and the time of the file in it.

What is written are pixels that another process has decoded: a PNG is made of them here, so that nothing that a picture
says of itself gets into it.
"""

import contextlib
import dataclasses
import hashlib
import os
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator

from .thumbnails import PNG_SIGNATURE, cache_directory, texts_of, uri_of

# Pixels a side at most, by directory.
SIZES = {"normal": 128, "large": 256}
# For screens of many pixels: written with what there is, where somebody has used them.
LARGER_SIZES = ("x-large", "xx-large")
SOFTWARE = "Dewpoint"
PIXEL_BYTES = 3
# What PNG says of a row that is as it is.
_PLAIN = b"\0"


@dataclasses.dataclass(frozen=True)
class Pixels:
    width: int
    height: int
    data: bytes
    """Red, green and blue, row by row, without gaps."""

    def __post_init__(self) -> None:
        if len(self.data) != self.width * self.height * PIXEL_BYTES or not self.data:
            raise ValueError("not so many pixels")


# By the pixels that a side has at most.
Pictures = dict[int, Pixels]


class ThumbnailCache:
    def __init__(self, directory: str | None = None) -> None:
        self._directory = directory or cache_directory()

    def missing(self, path: bytes, found: os.stat_result) -> list[str]:
        """The sizes in which a file, an absolute path of bytes, has no thumbnail of its present bytes."""
        return [size for size in self._sizes() if not all(self._is_valid(size, uri, found) for uri in uris_of(path))]

    def write(
        self, path: bytes, found: os.stat_result, kind: str, pictures: Pictures, sizes: Iterable[str] = SIZES
    ) -> None:
        for size in sizes:
            pixels = pictures[SIZES.get(size, max(SIZES.values()))]
            for uri in uris_of(path):
                texts = {
                    "Thumb::URI": uri, "Thumb::MTime": str(seconds_of(found)), "Thumb::Size": str(found.st_size),
                    "Thumb::Mimetype": kind, "Software": SOFTWARE,
                }  # fmt: skip
                self._put(size, uri, png(pixels, exact_time(found), texts))

    def forget_enlarged(self, path: bytes) -> None:
        """Removes those of previews that were too small for their sizes: of a local file, better ones can be made."""
        for size in LARGER_SIZES:
            for uri in uris_of(path):
                place = self._place(size, uri)
                if texts_of(place).get(b"Software") == SOFTWARE.encode("ascii"):
                    with contextlib.suppress(OSError):
                        os.unlink(place)

    def _place(self, size: str, uri: str) -> str:
        name = hashlib.md5(uri.encode("ascii"), usedforsecurity=False).hexdigest() + ".png"
        return os.path.join(self._directory, size, name)

    def _sizes(self) -> list[str]:
        return [*SIZES, *(size for size in LARGER_SIZES if _has_entries(os.path.join(self._directory, size)))]

    def _is_valid(self, kind: str, uri: str, found: os.stat_result) -> bool:
        texts = texts_of(self._place(kind, uri))
        # Some write parts of a second too.
        time, size = texts.get(b"Thumb::MTime", b"").partition(b".")[0], b"%d" % found.st_size
        return time == b"%d" % seconds_of(found) and texts.get(b"Thumb::Size", size) == size

    def _put(self, size: str, uri: str, data: bytes) -> None:
        place = self._place(size, uri)
        directory = os.path.dirname(place)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        # Readable for its owner only.
        descriptor, temporary = tempfile.mkstemp(prefix=".dewpoint-", suffix=".png", dir=directory)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise


def uris_of(path: bytes) -> Iterator[str]:
    """The URIs of a file, an absolute path of bytes: GLib's, and that of Qt where it is another one."""
    uri = uri_of(path)
    yield uri
    if b";" in path:
        yield uri.replace("%3B", ";")


def seconds_of(found: os.stat_result) -> int:
    """The time of a file, in whole seconds."""
    return found.st_mtime_ns // 1_000_000_000


def exact_time(found: os.stat_result) -> str | None:
    """The time as Tumbler compares it, which counts microseconds; None where there are none."""
    microseconds = found.st_mtime_ns // 1000 % 1_000_000
    # The same arithmetic, so that the same number comes of it.
    return repr(seconds_of(found) + 1e-6 * microseconds) if microseconds else None


def png(pixels: Pixels, exact: str | None, texts: dict[str, str]) -> bytes:
    """A PNG. Of a file's time the standard takes whole seconds and Tumbler all of it: that comes first, compressed, as GLib
    does not read it; Tumbler takes the first one, and Qt the last one."""
    stride = pixels.width * PIXEL_BYTES
    data = memoryview(pixels.data)
    rows = _PLAIN.join([b"", *[data[start : start + stride] for start in range(0, len(data), stride)]])
    chunks = [_chunk(b"IHDR", struct.pack(">IIBBBBB", pixels.width, pixels.height, 8, 2, 0, 0, 0))]
    if exact:
        chunks.append(_chunk(b"zTXt", b"Thumb::MTime\0\0" + zlib.compress(exact.encode("ascii"))))
    chunks += [_chunk(b"tEXt", f"{key}\0{value}".encode("latin-1", "replace")) for key, value in texts.items()]
    # Somebody waits for them: to pack the pixels takes longer than all else, and saves a third.
    chunks += [_chunk(b"IDAT", zlib.compress(rows, level=0)), _chunk(b"IEND", b"")]
    return PNG_SIGNATURE + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return b"".join((struct.pack(">I", len(data)), kind, data, struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))))


def _has_entries(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return any(True for _ in entries)
    except OSError:
        return False
