"""Makes previews: small JPEGs of pictures, videos and documents, for devices that do not have their bytes.

A thumbnailer of the desktop makes a PNG of the file, in a sandbox; another program makes a JPEG of that, in another
sandbox. Nothing in this process decodes anything. A file that is no picture, that is too large, that takes too long or
that changes meanwhile has no preview.
"""

import dataclasses
import mimetypes
import os
import stat
from collections.abc import Iterator

from .actions import PYTHON
from .sandbox import MIB, Failure, Limits, Sandbox
from .thumbnailers import Thumbnailers

# What a container takes for a preview.
PREVIEW_BYTES = 16_384
PREVIEW_PIXELS = 256
JPEG_SIGNATURE = b"\xff\xd8\xff"
# The longest file of each kind that is looked at, in bytes: of a video only parts are read.
SOURCE_BYTES = {"image": 256 * MIB, "video": 64 << 30, "application": 512 * MIB}
VECTOR_BYTES = 16 * MIB
# What a thumbnailer may use, and what makes the JPEG of its PNG.
THUMBNAILER_LIMITS = Limits(seconds=30, processor_seconds=20, answer_bytes=8 * MIB)
JPEG_LIMITS = Limits(
    seconds=10, processor_seconds=5, memory_bytes=512 * MIB, file_bytes=MIB, processes=8, answer_bytes=PREVIEW_BYTES
)
DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "decoding.py")
DECODER_COMMAND = (PYTHON, "-I", "/tmp/decoding.py")
_RESULT = "/tmp/preview.png"
# The thumbnailer's words are no part of the answer.
_SCRIPT = f'"$@" </dev/null >/dev/null 2>&1 && exec cat {_RESULT}'


@dataclasses.dataclass(frozen=True)
class Version:
    """Which bytes a file has, as far as its attributes say."""

    device: int
    inode: int
    modified: int
    """In nanoseconds."""
    size: int

    @staticmethod
    def of(found: os.stat_result) -> "Version":
        return Version(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


class Source:
    """A file that is open. It is found by its path once; what happens to its name afterwards does not matter."""

    def __init__(self, descriptor: int, version: Version) -> None:
        self.descriptor, self.version = descriptor, version

    @staticmethod
    def open(path: bytes) -> "Source | None":
        """The regular file at an absolute path of bytes; None for anything else, for which nothing waits."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            return None
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode):
            return Source(descriptor, Version.of(found))
        os.close(descriptor)
        return None

    @property
    def is_own(self) -> bool:
        """Whether its attributes are this user's to set."""
        return os.geteuid() in (0, os.fstat(self.descriptor).st_uid)

    @property
    def is_unchanged(self) -> bool:
        return Version.of(os.fstat(self.descriptor)) == self.version

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kind_of(name: str) -> str | None:
    """The MIME type that file managers give a name; None for one of which nobody makes thumbnails."""
    kind, encoding = mimetypes.guess_type(name)
    if encoding == "gzip" and kind == "image/svg+xml":
        return "image/svg+xml-compressed"
    if kind is None or encoding or not (kind.startswith(("image/", "video/")) or kind == "application/pdf"):
        return None
    return kind


def longest(kind: str) -> int:
    """The length of the longest file of a MIME type that is looked at, in bytes."""
    return VECTOR_BYTES if kind.startswith("image/svg") else SOURCE_BYTES[kind.partition("/")[0]]


class PreviewMaker:
    def __init__(self, sandbox: Sandbox, thumbnailers: Thumbnailers) -> None:
        self._sandbox, self._thumbnailers = sandbox, thumbnailers

    @property
    def is_usable(self) -> bool:
        return self._sandbox.is_usable

    def makes(self, name: str) -> bool:
        """Whether files with such a name may have a preview."""
        kind = kind_of(name)
        return kind is not None and bool(self._thumbnailers.of(kind)) and self.is_usable

    def preview(self, source: Source, name: str) -> bytes | None:
        """A preview of the bytes of a file, whose name says what they are; None when there is none."""
        kind = kind_of(name)
        if kind is None or not 0 < source.version.size <= longest(kind):
            return None
        for thumbnail in self._thumbnails(source, name, kind):
            try:
                preview = self._sandbox.answer(
                    [*DECODER_COMMAND, "jpeg", str(PREVIEW_BYTES), str(PREVIEW_PIXELS)], JPEG_LIMITS,
                    {DECODER_COMMAND[-1]: DECODER}, thumbnail, is_idle=True,
                )  # fmt: skip
            except Failure:
                continue
            if preview.startswith(JPEG_SIGNATURE) and len(preview) <= PREVIEW_BYTES:
                return preview if source.is_unchanged else None
        return None

    def _thumbnails(self, source: Source, name: str, kind: str) -> Iterator[bytes]:
        """The PNGs that thumbnailers make of a file."""
        place = f"/tmp/picture{_ending(name)}"
        for thumbnailer in self._thumbnailers.of(kind):
            command = thumbnailer.command(place, _RESULT, PREVIEW_PIXELS)
            try:
                yield self._sandbox.answer(
                    ["/bin/sh", "-c", _SCRIPT, "sh", *command],
                    THUMBNAILER_LIMITS,
                    {place: source.descriptor},
                    is_idle=True,
                )
            except Failure:
                continue


def _ending(name: str) -> str:
    """Some thumbnailers look at it; they see nothing else of a name."""
    ending = os.path.splitext(name)[1].lower()
    return ending if ending[1:].isalnum() and ending.isascii() else ""
