"""Thumbnails that were refused while a picture was not local are made once it is, or written from its preview.

A thumbnailer that may not download fails, and the file manager records that for good: as long as the time of the file
stays the same, GNOME and others do not try again, and a download does not change it. So when the bytes arrive the
records are removed, and the file is touched in a way that file managers notice and that changes nothing: a request to
download what is local already is a change of attributes to inotify. The file manager then makes the thumbnail itself.

The records are described in the Thumbnail Managing Standard of freedesktop.org: `fail/PROGRAM/MD5.png`, where MD5 is
that of the file's URI, and the PNG names the URI in a text chunk.
"""

import contextlib
import hashlib
import mimetypes
import os
import struct
import urllib.parse
from collections.abc import Iterator, Mapping

# Records of failures that are looked through when the agent starts or a container is mounted.
SWEPT_RECORDS = 20_000
# The text chunks come before the picture.
HEAD_BYTES = 8 << 10
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# What g_filename_to_uri() leaves as it is.
_URI_SAFE = "!*'()/&=:@+$,~-_."
NUDGE = ("user.dewpoint.download", b"1")
# What is excluded from sync is local, so of a file that is not this changes nothing.
DISTANT_NUDGE = ("user.dewpoint.isExcludedFromSync", b"0")


def cache_directory(environment: Mapping[str, str] = os.environ) -> str:
    home = environment.get("HOME") or os.path.expanduser("~")
    return os.path.join(environment.get("XDG_CACHE_HOME") or f"{home}/.cache", "thumbnails")


def uri_of(path: bytes) -> str:
    """The URI of an absolute path of bytes, exactly as GLib writes it: its hash is the name of the record."""
    return "file://" + urllib.parse.quote(path, safe=_URI_SAFE)


class FailedThumbnails:
    def __init__(self, directory: str | None = None) -> None:
        self._directory = os.path.join(directory or cache_directory(), "fail")

    def have(self, path: bytes) -> bool:
        """Whether there is a record of a file, an absolute path of bytes."""
        return any(os.path.lexists(record) for record in self._records_of(path))

    def forget(self, path: bytes) -> bool:
        """Removes the records of a file, an absolute path of bytes. Whether there were any."""
        removed = False
        for record in self._records_of(path):
            try:
                os.unlink(record)
                removed = True
            except OSError:
                pass  # no record, or one that is not ours
        return removed

    def _records_of(self, path: bytes) -> list[str]:
        name = hashlib.md5(uri_of(path).encode("ascii"), usedforsecurity=False).hexdigest() + ".png"
        return [os.path.join(self._directory, program, name) for program in self._programs()]

    def below(self, point: bytes) -> set[bytes]:
        """The files below a mountpoint of which there are records, as absolute paths of bytes."""
        found = set()
        for record in self._records():
            path = _path_in(record)
            if path and path.startswith(point.rstrip(b"/") + b"/"):
                found.add(path)
        return found

    def _programs(self) -> list[str]:
        try:
            return os.listdir(self._directory)
        except OSError:
            return []

    def _records(self) -> Iterator[str]:
        count = 0
        for program in self._programs():
            try:
                entries = os.scandir(os.path.join(self._directory, program))
            except OSError:
                continue
            with entries:
                for entry in entries:
                    if count == SWEPT_RECORDS:
                        return
                    if entry.name.endswith(".png"):
                        count += 1
                        yield entry.path


def has_thumbnail(name: str) -> bool:
    """Whether file managers make thumbnails of files with such a name: not all record a failure."""
    kind = mimetypes.guess_type(name)[0] or ""
    return kind.startswith(("image/", "video/")) or kind == "application/pdf"


def nudge(path: bytes) -> None:
    """Makes file managers look at a local file again, without a change of it."""
    with contextlib.suppress(OSError):  # read-only, or gone: shown again when the directory is
        os.setxattr(path, *NUDGE)


def nudge_distant(path: bytes) -> None:
    """The same for a file that is not local, without a download of it."""
    name, value = DISTANT_NUDGE
    with contextlib.suppress(OSError):
        # It may have been downloaded and excluded meanwhile.
        if os.getxattr(path, name, follow_symlinks=False) == value:
            os.setxattr(path, name, value, follow_symlinks=False)


def _path_in(record: str) -> bytes | None:
    """The path of bytes that a record is about; None if it says none."""
    uri = texts_of(record).get(b"Thumb::URI", b"")
    return urllib.parse.unquote_to_bytes(uri[7:]) if uri.startswith(b"file:///") else None


def texts_of(record: str) -> dict[bytes, bytes]:
    """What the text chunks of a PNG before its pixels say; nothing for a file that is none."""
    texts: dict[bytes, bytes] = {}
    try:
        with open(record, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return texts
    if not head.startswith(PNG_SIGNATURE):
        return texts
    offset = len(PNG_SIGNATURE)
    while offset + 8 <= len(head):
        length, kind = struct.unpack_from(">I4s", head, offset)
        if kind in (b"IDAT", b"IEND"):
            break
        if kind == b"tEXt":
            key, _, value = head[offset + 8 : offset + 8 + length].partition(b"\0")
            texts[key] = value
        offset += length + 12
    return texts
