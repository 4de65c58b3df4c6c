#!/usr/bin/env python3
"""Rebuilds the tree of a Dewpoint container from its directory, with nothing but Python's standard library.

    restore.py CONTAINER OUTPUT_DIR [--at SEQUENCE] [--keep-set-id]
    restore.py CONTAINER --verify-only [--at SEQUENCE]

CONTAINER is a directory, or s3://BUCKET/PREFIX with [--endpoint URL] [--region REGION], which needs the package boto3 and
keys where AWS's tools find them. Without boto3, copy the bucket first: aws s3 sync s3://BUCKET/PREFIX DIRECTORY
Where objects were adopted, which lie in the bucket beside the container, copy those too, each to COPY/KEY, and give --adopted COPY.

It follows the page "The container format" and shares no code with Dewpoint: the way out for those who no longer want or
have it, and an independent check of those who do. The container is only read. OUTPUT_DIR must be missing or empty, and
nothing outside of it is written, whatever names the container has. What is damaged or cannot be read is reported and left
out, and the rest is restored. Objects are regular files: links, pipes and devices in the container are damage.

Exit status: 0 when all is well, 1 when something was damaged or could not be restored, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import errno
import hashlib
import json
import os
import re
import resource
import sqlite3
import stat
import struct
import sys
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Dict, List, NoReturn, Union

FORMAT = 1
ROOT = "00000000-0000-0000-0000-000000000000"
CHUNK_BYTE_COUNT = 1 << 20
# Of a chunk in a packed content: the hash of its head follows.
HEAD_FLAG = 1 << 31
FILE_BYTE_LIMIT = 1 << 44
HIGHEST_NUMBER = 1 << 62
OFFSET_LIMIT = 1 << 62
TEXT_BYTE_LIMIT = 256 << 20
OBJECT_BYTE_LIMIT = 64 << 20
IDENTITY_BYTE_LIMIT = 64 << 10
ADOPTION_BYTE_LIMIT = 16 << 10
# Of one commit: Dewpoint writes at most 48 MiB of text, with at most half as many brackets, commas and colons.
COMMIT_TEXT_BYTE_LIMIT = 64 << 20
COMMIT_SIGN_LIMIT = 2 << 20
# Of a manifest, for each MiB of its file: a chunk or hole that is a run of its own takes some 200 bytes and 15 signs.
MANIFEST_BYTES_PER_PIECE = 1 << 10
MANIFEST_SIGNS_PER_PIECE = 64
SNAPSHOT_BYTE_LIMIT = 5 << 30
UNPACKED_SNAPSHOT_LIMIT = 64 << 30
# What a snapshot may unpack to, at the least, and for each of its bytes.
LEAST_UNPACKED_LIMIT = 64 << 20
UNPACKED_FACTOR = 64
ROW_BYTE_LIMIT = 128 << 20
# Steps of SQLite's virtual machine: of any snapshot, for each byte of one, and between two looks.
STEP_LIMIT = 100_000_000
STEPS_PER_BYTE = 60
STEPS_PER_LOOK = 100_000
# How many lines of one kind are printed, how much of one, and how much of a path.
LINE_LIMIT = 1000
LINE_LENGTH_LIMIT = 2000
SHOWN_PATH_LIMIT = 200
# How many levels of the output are open at a time.
OPEN_LEVEL_LIMIT = 64
XATTR_BYTE_LIMIT = 64 << 10
NAME_BYTE_LIMIT = 255
TARGET_BYTE_LIMIT = 4095
LOST_AND_FOUND = "lost+found"
STEP_BYTE_COUNT = 1 << 20
# A chunk or hole of a file in memory: whether it is in a pack, the pack, the offset, the byte count, the hash.
PIECE = struct.Struct("<?16sqq32s")
SNAPSHOT_KINDS = {0: "file", 1: "directory", 2: "symbolicLink"}


class Damage(Exception):
    """Something in the container is not as the format says."""


if TYPE_CHECKING:
    Container = Union["Directory", "Bucket"]
    Item = Dict[str, Any]
    # By the parent.
    Children = Dict[str, List[Item]]

# Reading objects


class Directory:
    """A container in a directory."""

    def __init__(self, path: str, copy: str | None) -> None:
        self.path = path
        self.copy = copy

    def __str__(self) -> str:
        return self.path

    def sizes(self, prefix: str) -> dict[str, int | None]:
        """The length of each object below a prefix such as `log`, by its name; None for what is no regular file."""
        try:
            with os.scandir(os.path.join(self.path, prefix)) as entries:
                return {entry.name: self.size(entry) for entry in entries}
        except FileNotFoundError:
            if os.path.lexists(os.path.join(self.path, prefix)):
                raise Damage(f"{prefix} is a link to nowhere")
            return {}
        except OSError as error:
            raise Damage(f"{prefix} cannot be listed: {error.strerror}")

    @staticmethod
    def size(entry: os.DirEntry[str]) -> int | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def open(self, key: str) -> IO[bytes]:
        """An object as an open file; FileNotFoundError when there is none."""
        return self.open_file(os.path.join(self.path, key))

    def read(self, key: str, offset: int, count: int) -> bytes:
        """At most `count` bytes of an object; FileNotFoundError when there is none."""
        return self.read_file(os.path.join(self.path, key), offset, count)

    def read_neighbour(self, key: str, offset: int, count: int) -> bytes:
        """The same of an object that lies in the bucket beside the container."""
        if self.copy is None:
            raise Damage(
                f"its bytes are those of the object {key!r}, beside the container; copy it, and give --adopted COPY"
            )
        return self.read_file(os.path.join(self.copy, key), offset, count)

    @classmethod
    def read_file(cls, path: str, offset: int, count: int) -> bytes:
        with cls.open_file(path) as file:
            file.seek(offset)
            return file.read(count)

    @staticmethod
    def open_file(path: str) -> IO[bytes]:
        """Opens a regular file. A pipe would wait for a writer, and a device or a link can lead anywhere."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):
                raise OSError(error.errno, "not a regular file", path)
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file", path)
        return open(descriptor, "rb")


class Bucket:
    """A container in a bucket. What is read is fetched in large pieces, the last of which is kept."""

    PIECE_BYTE_COUNT = 16 << 20

    def __init__(self, url: str, endpoint: str | None, region: str | None) -> None:
        try:
            import boto3
            import botocore.exceptions
        except ImportError:
            sys.exit(
                "containers in buckets need the Python package boto3: install it, or copy the bucket into a directory "
                f"first, with: aws s3 sync {url} DIRECTORY"
            )
        self.url = url
        self.bucket, _, prefix = url[len("s3://") :].partition("/")
        self.prefix = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        self.client = boto3.client("s3", endpoint_url=endpoint, region_name=region)
        self.failures = (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError)
        self.piece = ("", 0, b"")

    def __str__(self) -> str:
        return self.url

    def sizes(self, prefix: str) -> dict[str, int | None]:
        start = f"{self.prefix}{prefix}/"
        try:
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start)
            return {item["Key"][len(start) :]: item["Size"] for page in pages for item in page.get("Contents", [])}
        except self.failures as error:
            sys.exit(f"{self.url}: {error}")

    def open(self, key: str) -> IO[bytes]:
        file = tempfile.TemporaryFile(prefix="restore-")
        try:
            self.client.download_fileobj(self.bucket, self.prefix + key, file)
        except self.failures as error:
            self.refuse(key, error)
        file.seek(0)
        return file

    def read(self, key: str, offset: int, count: int) -> bytes:
        return self.read_neighbour(self.prefix + key, offset, count)

    def read_neighbour(self, key: str, offset: int, count: int) -> bytes:
        name, start, data = self.piece
        if name != key or not start <= offset or offset + count > start + len(data):
            data, start = self.fetch(key, offset, max(count, self.PIECE_BYTE_COUNT)), offset
            self.piece = (key, start, data)
        return data[offset - start : offset - start + count]

    def fetch(self, key: str, offset: int, count: int) -> bytes:
        try:
            answer = self.client.get_object(Bucket=self.bucket, Key=key, Range=f"bytes={offset}-{offset + count - 1}")
            data: bytes = answer["Body"].read(count)
            return data
        except self.failures as error:
            # Nothing there at all, or nothing from here on.
            if self.code(error) == "InvalidRange":
                return b""
            self.refuse(key, error)

    def refuse(self, key: str, error: Exception) -> NoReturn:
        if self.code(error) in ("NoSuchKey", "404"):
            raise FileNotFoundError(key)
        # Neither a key, a right nor the network comes back by going on.
        sys.exit(f"{self.url}: {key}: {error}")

    @staticmethod
    def code(error: Exception) -> str | None:
        found: str | None = getattr(error, "response", {}).get("Error", {}).get("Code")
        return found


def read_object(container: Container, key: str, limit: int = OBJECT_BYTE_LIMIT) -> bytes:
    """The bytes of a whole object; FileNotFoundError when there is none."""
    data = container.read(key, 0, limit + 1)
    if len(data) > limit:
        raise Damage(f"{key}: longer than {limit} bytes")
    return data


def gunzip(data: bytes, key: str, limit: int, sign_limit: int) -> bytearray:
    """Unpacks exactly one gzip member of JSON, which must not have more text or more values than its limits allow.

    Values are counted by their signs: each but the first comes after a bracket, a comma or a colon. So a text that
    would take many times its length as Python's objects is refused before it is parsed.
    """
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    text = bytearray()
    try:
        for start in range(0, len(data), STEP_BYTE_COUNT):
            rest = data[start : start + STEP_BYTE_COUNT]
            while rest:
                text += unpacker.decompress(rest, STEP_BYTE_COUNT)
                rest = unpacker.unconsumed_tail
                if len(text) > limit:
                    raise Damage(f"{key}: unpacks to more than {limit} bytes")
                if unpacker.unused_data:
                    raise Damage(f"{key}: not exactly one whole gzip member")
    except (zlib.error, EOFError) as error:
        raise Damage(f"{key}: {error}")
    if not unpacker.eof:
        raise Damage(f"{key}: not exactly one whole gzip member")
    if text.count(b'"') > 2 * sign_limit or (
        count_signs(text) > sign_limit and count_signs(STRING.sub(b"", text)) > sign_limit
    ):
        raise Damage(f"{key}: has more than {sign_limit} values")
    return text


STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def count_signs(text: bytes | bytearray) -> int:
    return sum(map(text.count, b"[{,:"))


def parse(text: bytes | bytearray, key: str, hook: Callable[[dict[str, Any]], Any] | None = None) -> dict[str, Any]:
    try:
        value = json.loads(text.decode("utf-8"), object_hook=hook)
    except (ValueError, RecursionError) as error:
        raise Damage(f"{key}: {error}")
    if not isinstance(value, dict):
        raise Damage(f"{key}: not a JSON object")
    return value


# Checking values. Each function returns the value or raises Damage.


def member(value: dict[str, Any], key: str, kind: Any) -> Any:
    """The member `key` of a JSON object, which must have the Python type `kind`."""
    found = value.get(key)
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        raise Damage(f"{key} is missing or not of its type")
    return found


def integer(value: dict[str, Any], key: str, low: int, high: int) -> int:
    found: int = member(value, key, int)
    if not low <= found <= high:
        raise Damage(f"{key} is {found}, not in {low}...{high}")
    return found


def identifier(value: dict[str, Any], key: str) -> str:
    text = member(value, key, str)
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise Damage(f"{key} is not a UUID: {text!r}")
    return str(uuid.UUID(text))


def sha256(text: Any) -> str:
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise Damage(f"not a SHA-256: {text!r}")
    return text


def utf8(text: str, what: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Damage(f"{what} is not Unicode text")


def check_name(text: str) -> bytes:
    data = utf8(text, "name")
    if not 1 <= len(data) <= NAME_BYTE_LIMIT or text in (".", "..") or b"/" in data or b"\0" in data:
        raise Damage(f"bad name {text!r}")
    return data


def check_format(value: dict[str, Any], key: str) -> None:
    version = integer(value, "format", 1, 1 << 62)
    if version > FORMAT:
        sys.exit(f"{key} has format {version}; this script reads formats up to {FORMAT}. Use a newer one.")


class Pieces:
    """The chunks and holes of a file in order, packed: a Python object for each would take ten times as much.

    Adjacent holes are one.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self.total = 0
        self.hole = 0

    def add(self, count: int, pack: bytes | None = None, offset: int = 0, digest: bytes = b"") -> None:
        # Only the last entry of a file may have an odd length.
        if self.total % CHUNK_BYTE_COUNT:
            raise Damage("a short chunk or hole before the end of the file")
        self.total += count
        if self.total > FILE_BYTE_LIMIT:
            raise Damage(f"longer than {FILE_BYTE_LIMIT} bytes")
        if pack is None:
            self.hole += count
            return
        self.end_hole()
        self.data += PIECE.pack(True, pack, offset, count, digest)

    def end_hole(self) -> None:
        if self.hole:
            self.data += PIECE.pack(False, b"", 0, self.hole, b"")
            self.hole = 0

    def finish(self, size: int, what: str) -> bytes:
        self.end_hole()
        if self.total != size:
            raise Damage(f"size {size}, but {what} of {self.total} bytes")
        return bytes(self.data)


def compact(value: dict[str, Any]) -> Any:
    """A hole or a chunk as a tuple, which JSON has not; any other object as it is. A list has millions of them."""
    if "runs" in value or "chunks" in value:
        return value
    is_hole, is_chunk = value.get("zeros") is not None, "hash" in value
    # With both, it depends on where it is.
    if is_hole and not is_chunk:
        return (value["zeros"],)
    if is_chunk and not is_hole:
        return (value.get("byteCount"), value["hash"])
    return value


def check_count(value: Any, limit: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= limit:
        raise Damage(f"a chunk or hole of {value!r} bytes")
    return value


def check_runs(runs: Any, size: int, what: str = "content") -> bytes:
    """Checks a chunk list, and returns its pieces."""
    if not isinstance(runs, list):
        raise Damage("runs is not a list")
    pieces = Pieces()
    for run in runs:
        if isinstance(run, dict) and run.get("zeros") is not None:
            run = (run["zeros"],)
        if isinstance(run, tuple) and len(run) == 1:
            pieces.add(check_count(run[0], FILE_BYTE_LIMIT))
        elif not isinstance(run, dict):
            raise Damage("a run is not an object")
        else:
            pack = uuid.UUID(identifier(run, "pack")).bytes
            offset = integer(run, "offset", 0, OFFSET_LIMIT)
            chunks = member(run, "chunks", list)
            if not chunks:
                raise Damage("a run without chunks")
            for chunk in chunks:
                if isinstance(chunk, dict):
                    chunk = (chunk.get("byteCount"), chunk.get("hash"))
                if not isinstance(chunk, tuple) or len(chunk) != 2:
                    raise Damage("a chunk without a hash")
                count = check_count(chunk[0], CHUNK_BYTE_COUNT)
                pieces.add(count, pack, offset, bytes.fromhex(sha256(chunk[1])))
                offset += count
            if offset > OFFSET_LIMIT:
                raise Damage("an offset that is too high")
    return pieces.finish(size, what)


def check_record(record: Any, sequence: int) -> Item:
    if not isinstance(record, dict):
        raise Damage("a record is not an object")
    item = {
        "id": identifier(record, "id"),
        "parent": identifier(record, "parent"),
        "name": check_name(member(record, "name", str)),
        "kind": member(record, "kind", str),
        "mode": integer(record, "mode", 0, 0o7777),
        "modified": integer(record, "modified", -(1 << 63), (1 << 63) - 1),
        "size": integer(record, "size", 0, FILE_BYTE_LIMIT),
        "xattrs": {},
    }
    if item["kind"] not in ("file", "directory", "symbolicLink"):
        raise Damage(f"kind {item['kind']!r} never travels")
    if item["id"] == ROOT or item["id"] == item["parent"]:
        raise Damage("the root, or an item in itself")
    identifier(record, "device")
    if integer(record, "base", 0, (1 << 64) - 1) >= sequence:
        raise Damage("based on a commit that is not earlier")
    for name, value in member(record, "xattrs", dict).items():
        data = utf8(name, "attribute name")
        if not data.startswith(b"user.") or len(data) == 5 or len(data) > NAME_BYTE_LIMIT or b"\0" in data:
            raise Damage(f"bad attribute {name!r}")
        if data.startswith(b"user.dewpoint."):
            raise Damage(f"attribute {name!r} never travels")
        try:
            item["xattrs"][data] = base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise Damage(f"attribute {name!r} is not base64")
        if len(item["xattrs"][data]) > XATTR_BYTE_LIMIT:
            raise Damage(f"attribute {name!r} is too long")
    target, content = record.get("target"), record.get("content")
    if (target is not None) != (item["kind"] == "symbolicLink"):
        raise Damage("a target that should not be there, or is missing")
    if (content is not None) != (item["kind"] == "file"):
        raise Damage("content that should not be there, or is missing")
    if target is not None:
        item["target"] = utf8(member(record, "target", str), "target")
        if not 1 <= len(item["target"]) <= TARGET_BYTE_LIMIT or b"\0" in item["target"]:
            raise Damage("a target that no symbolic link can have")
    if content is not None:
        if not isinstance(content, dict):
            raise Damage("content is not an object")
        if content.get("manifest") is not None:
            item["manifest"] = sha256(content["manifest"])
        else:
            # A row of a snapshot has them packed.
            runs, size = content.get("runs"), item["size"]
            item["pieces"] = unpack_content(runs, size) if isinstance(runs, bytes) else check_runs(runs, size)
    elif item["size"]:
        raise Damage("only a file has a size")
    return item


# Snapshots


def unpack_snapshot(source: IO[bytes], target: IO[bytes], key: str) -> None:
    """Unpacks a gzip member from one open file into another, and checks the SHA-256 in its header."""
    header = source.read(10)
    if header[:3] != b"\x1f\x8b\x08" or len(header) < 10 or header[3] != 0x10:
        raise Damage(f"{key}: not gzip with a comment and nothing else in its header")
    comment = source.read(65)
    if len(comment) < 65 or comment[-1] != 0:
        raise Damage(f"{key}: the comment is not a SHA-256")
    packed = source.seek(0, os.SEEK_END)
    source.seek(0)
    if packed > SNAPSHOT_BYTE_LIMIT:
        raise Damage(f"{key}: longer than {SNAPSHOT_BYTE_LIMIT} bytes")
    limit = min(UNPACKED_SNAPSHOT_LIMIT, LEAST_UNPACKED_LIMIT + UNPACKED_FACTOR * packed)
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    digest = hashlib.sha256()
    total = 0
    try:
        while not unpacker.eof and (data := source.read(STEP_BYTE_COUNT)):
            while data and not unpacker.eof:
                piece = unpacker.decompress(data, STEP_BYTE_COUNT)
                data = unpacker.unconsumed_tail
                total += len(piece)
                if total > limit:
                    raise Damage(f"{key}: unpacks to more than {limit} bytes")
                digest.update(piece)
                target.write(piece)
    except zlib.error as error:
        raise Damage(f"{key}: {error}")
    if not unpacker.eof or unpacker.unused_data or source.read(1):
        raise Damage(f"{key}: not exactly one whole gzip member")
    if digest.hexdigest().encode() != comment[:-1]:
        raise Damage(f"{key}: its SHA-256 is another")
    target.flush()


def unpack_content(data: bytes, size: int) -> bytes:
    """Checks a packed content, and returns its pieces."""
    pieces = Pieces()
    try:
        version, run_count = struct.unpack_from("<BI", data)
        if version != 1:
            raise Damage(f"a content of version {version}")
        offset = 5
        for _ in range(run_count):
            if data[offset] == 0:
                count = struct.unpack_from("<q", data, offset + 1)[0]
                if not 1 <= count <= FILE_BYTE_LIMIT:
                    raise Damage(f"a hole of {count} bytes")
                pieces.add(count)
                offset += 9
                continue
            start, count = struct.unpack_from("<qI", data, offset + 17)
            pack = data[offset + 1 : offset + 17]
            if start < 0 or count == 0:
                raise Damage("a run that is none")
            offset += 29
            for _ in range(count):
                digest, byte_count = struct.unpack_from("<32sI", data, offset)
                offset += 68 if byte_count & HEAD_FLAG else 36
                byte_count &= ~HEAD_FLAG
                if not 1 <= byte_count <= CHUNK_BYTE_COUNT:
                    raise Damage(f"a chunk of {byte_count} bytes")
                pieces.add(byte_count, pack, start, digest)
                start += byte_count
            if start > OFFSET_LIMIT:
                raise Damage("an offset that is too high")
    except (struct.error, IndexError) as error:
        raise Damage(f"a content that cannot be read: {error}")
    if offset != len(data):
        raise Damage("a content with something behind it")
    return pieces.finish(size, "content")


def open_snapshot(path: str) -> sqlite3.Connection:
    """A connection to an unpacked snapshot: plain tables alone, and work in proportion to its length."""
    database = sqlite3.connect(f"file:{path}?mode=rw", uri=True)
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.execute("PRAGMA journal_mode = OFF")
        if hasattr(database, "setlimit"):
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, ROW_BYTE_LIMIT)
        looks = (STEP_LIMIT + STEPS_PER_BYTE * os.path.getsize(path)) // STEPS_PER_LOOK

        def look() -> bool:
            nonlocal looks
            looks -= 1
            return looks < 0

        database.set_progress_handler(look, STEPS_PER_LOOK)
        # A view, a trigger, a virtual table or a generated column would be foreign code.
        for kind, name, text in database.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
            if kind == "index":
                if text is not None:
                    database.execute('DROP INDEX "' + name.replace('"', '""') + '"')
            elif kind != "table" or re.match(r"\s*CREATE\s+VIRTUAL\b", text or "", re.IGNORECASE):
                raise Damage("it has objects other than tables and indexes")
        for table in ("meta", "items", "xattrs"):
            if database.execute("SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden <> 0", (table,)).fetchone()[0]:
                raise Damage(f"{table} has a hidden column")
        database.execute("CREATE UNIQUE INDEX restore_xattrs ON xattrs(item, name)")
        return database
    except BaseException:
        database.close()
        raise


def snapshot_record(row: Sequence[Any], xattrs: list[Any], device: str) -> dict[str, Any]:
    """A row of a snapshot, as its record stands in the log."""
    item, parent, name, kind, mode, modified, size, target, content, manifest = row
    if not isinstance(item, bytes) or not isinstance(parent, bytes) or len(item) != 16 or len(parent) != 16:
        raise Damage("an identity that is none")
    record = {
        "id": str(uuid.UUID(bytes=item)),
        "parent": str(uuid.UUID(bytes=parent)),
        "name": name,
        "kind": SNAPSHOT_KINDS.get(kind, str(kind)),
        "mode": mode,
        "modified": modified,
        "size": size,
        "xattrs": {key: base64.b64encode(value).decode() for key, value in xattrs},
        "device": device,
        "base": 0,
    }
    if not isinstance(name, str) or not isinstance(target, (str, type(None))):
        raise Damage("a text that is none")
    if any(not isinstance(key, str) or not isinstance(value, bytes) for key, value in xattrs):
        raise Damage("an attribute that is none")
    if any(value is not None and not isinstance(value, bytes) for value in (content, manifest)):
        raise Damage("a content that is none")
    if target is not None:
        record["target"] = target
    if manifest is not None:
        record["content"] = {"manifest": manifest.hex()}
    elif content is not None:
        record["content"] = {"runs": content}
    return record


class Restore:
    def __init__(self, container: Container, keep_set_id: bool) -> None:
        self.container = container
        self.keep_set_id = keep_set_id
        self.items: dict[str, Item] = {}
        # The nonce of the commit that the items stand at, where it is known.
        self.nonce: str | None = None
        # The adopted objects that are packs; None for a pack of the container's own.
        self.neighbours: dict[str, str | None] = {}
        self.damage_count = 0
        self.note_count = 0
        self.file_count = self.byte_count = 0

    def damaged(self, text: str) -> None:
        self.damage_count += 1
        if self.damage_count <= LINE_LIMIT:
            print(f"damaged: {printable(text[:LINE_LENGTH_LIMIT])}", file=sys.stderr)
        elif self.damage_count == LINE_LIMIT + 1:
            print("damaged: more, which is only counted", file=sys.stderr)

    def note(self, text: str) -> None:
        self.note_count += 1
        if self.note_count <= LINE_LIMIT:
            print(f"note: {printable(text[:LINE_LENGTH_LIMIT])}", file=sys.stderr)
        elif self.note_count == LINE_LIMIT + 1:
            print("note: there are more", file=sys.stderr)

    def sizes(self, prefix: str) -> dict[str, int | None]:
        """The length of each object of the container below a prefix; none, and damage, if it cannot be listed."""
        try:
            return self.container.sizes(prefix)
        except Damage as damage:
            self.damaged(str(damage))
            return {}

    # Replaying the log

    def read_identity(self) -> str:
        try:
            identity = parse(read_object(self.container, "container.json", IDENTITY_BYTE_LIMIT), "container.json")
            check_format(identity, "container.json")
            found: str = member(identity, "id", str)
            return found
        except FileNotFoundError:
            sys.exit(f"{self.container}: there is no container.json, so this is not a container")
        except (Damage, OSError) as error:
            # The log has all that is needed to restore.
            self.damaged(f"container.json: {error}")
            return "?"

    def replay(self, at: int | None) -> int:
        names = self.sizes("log")
        for name in sorted(
            name for name, size in names.items() if size is None and not re.fullmatch("[0-9]{20}", name)
        ):
            self.damaged(f"log/{name}: not a regular file")
        sizes = {int(name): size for name, size in names.items() if re.fullmatch("[0-9]{20}", name)}
        numbers = sorted(sizes)
        numbers = [number for number in numbers if 0 < number <= HIGHEST_NUMBER and (at is None or number <= at)]
        trimmed = {number for number in numbers if sizes[number] == 0}
        irregular = any(sizes[number] is None for number in numbers)
        whole = numbers and not trimmed and not irregular and numbers == list(range(1, len(numbers) + 1))
        expected = (0 if whole else self.read_newest_snapshot(at)) + 1
        for number in numbers:
            if number < expected:
                continue
            if number in trimmed:
                self.damaged(f"commit {number} was trimmed, but no readable snapshot covers it")
                self.nonce = None
                expected = number + 1
                continue
            if number != expected:
                self.damaged(f"log: commits {expected} to {number - 1} are missing")
                self.nonce = None
            expected = number + 1
            try:
                self.apply(number)
            except (Damage, OSError) as error:
                self.damaged(f"commit {number}: {error}")
                self.nonce = None
        if at is not None and expected <= at:
            self.damaged(f"log: it ends at commit {expected - 1}, before commit {at}")
        if expected == 1 and at is None and (self.sizes("packs") or self.sizes("manifests")):
            self.damaged("log: there are bytes of files, but neither a commit nor a snapshot that can be read")
        return expected - 1

    def read_newest_snapshot(self, at: int | None) -> int:
        """Takes the items of the newest snapshot that can be read, and returns its number; 0 when there is none."""
        names = self.sizes("snapshot")
        numbers = sorted((int(name) for name in names if re.fullmatch("[0-9]{20}", name)), reverse=True)
        for number in numbers:
            if not 0 < number <= HIGHEST_NUMBER or (at is not None and number > at):
                continue
            try:
                self.items = self.read_snapshot(number)
                return number
            except (Damage, OSError, sqlite3.Error) as error:
                self.damaged(f"snapshot {number}: {error}")
                self.nonce = None
        return 0

    def read_snapshot(self, number: int) -> dict[str, Item]:
        key = f"snapshot/{number:020}"
        with tempfile.NamedTemporaryFile(prefix="restore-") as file:
            with self.container.open(key) as source:
                unpack_snapshot(source, file, key)
            database = open_snapshot(file.name)
            try:
                return self.read_rows(database, number)
            finally:
                database.close()

    def read_rows(self, database: sqlite3.Connection, number: int) -> dict[str, Item]:
        meta = dict(database.execute("SELECT key, value FROM meta"))
        check_format(meta, f"snapshot {number}")
        if meta.get("number") != number:
            raise Damage(f"it says that it is snapshot {meta.get('number')}")
        device = identifier(meta, "device")
        self.nonce = identifier(meta, "nonce") if meta.get("nonce") is not None else None
        items, xattr_count = {}, 0
        columns = "item, parent, name, kind, mode, modified, size, target, content, manifest"
        for row in database.execute(f"SELECT {columns} FROM items"):
            xattrs = database.execute("SELECT name, value FROM xattrs WHERE item = ?", row[:1]).fetchall()
            xattr_count += len(xattrs)
            item = check_record(snapshot_record(row, xattrs, device), number)
            items[item["id"]] = item
        if len(items) != meta.get("items"):
            raise Damage(f"it has {len(items)} items, not {meta.get('items')}")
        if database.execute("SELECT count(*) FROM xattrs").fetchone()[0] != xattr_count:
            raise Damage("it has attributes without an item")
        return items

    def apply(self, number: int) -> None:
        key = f"log/{number:020}"
        commit = parse(gunzip(read_object(self.container, key), key, COMMIT_TEXT_BYTE_LIMIT, COMMIT_SIGN_LIMIT), key)
        check_format(commit, key)
        if member(commit, "sequence", int) != number:
            raise Damage(f"it says that it is commit {commit['sequence']}")
        identifier(commit, "device")
        nonce = identifier(commit, "nonce")
        previous = identifier(commit, "previous") if commit.get("previous") is not None else None
        if None not in (previous, self.nonce) and previous != self.nonce:
            self.damaged(
                f"log: commit {number} is not based on the commit {number - 1} that is in the log; "
                "changes may be missing"
            )
        self.nonce = nonce
        member(commit, "deviceName", str)
        integer(commit, "time", -(1 << 63), (1 << 63) - 1)
        records, tombstones = member(commit, "records", list), member(commit, "tombstones", list)
        seen: set[str] = set()
        for record in records:
            try:
                item = check_record(record, number)
                if item["id"] in seen:
                    raise Damage("a second record of one item")
                seen.add(item["id"])
                self.items[item["id"]] = item
            except Damage as damage:
                self.damaged(f"commit {number}, record {label(record)}: {damage}")
        for tombstone in tombstones:
            try:
                if not isinstance(tombstone, dict):
                    raise Damage("not an object")
                item_id = identifier(tombstone, "id")
                if integer(tombstone, "base", 0, (1 << 64) - 1) >= number or item_id in seen or item_id == ROOT:
                    raise Damage("it contradicts its commit")
                seen.add(item_id)
                self.items.pop(item_id, None)
            except Damage as damage:
                self.damaged(f"commit {number}, tombstone {label(tombstone)}: {damage}")

    # The tree

    def tree(self) -> Children:
        """The items by parent, in which everything hangs below the root and names are unique in each directory."""
        directories = {item_id for item_id, item in self.items.items() if item["kind"] == "directory"} | {ROOT}
        parents = {item_id: item["parent"] for item_id, item in self.items.items()}
        lost = []
        for item_id in sorted(parents):
            if parents[item_id] not in directories:
                self.damaged(f"item {item_id}: its directory {parents[item_id]} does not exist")
                lost.append(item_id)
        safe = {ROOT} | set(lost)
        for item_id in sorted(parents):
            path: dict[str, None] = {}
            while item_id not in safe and item_id not in path:
                path[item_id] = None
                item_id = parents[item_id]
            if item_id not in safe:
                # The way up came back to where it was. The smallest id of the cycle is where it is cut.
                walk = list(path)
                cycle = walk[walk.index(item_id) :]
                self.damaged(f"item {min(cycle)}: it lies in itself, by way of {len(cycle)} directories")
                lost.append(min(cycle))
            safe.update(path)
        children: Children = {}
        for item_id, parent in parents.items():
            children.setdefault(LOST_AND_FOUND if item_id in lost else parent, []).append(self.items[item_id])
        for parent, items in children.items():
            self.make_names_unique(parent, items)
        return children

    def make_names_unique(self, parent: str, items: list[dict[str, Any]]) -> None:
        items.sort(key=lambda item: (item["name"], item["id"]))
        taken = {item["name"] for item in items}
        seen = set()
        for item in items:
            name = item["name"]
            if parent == LOST_AND_FOUND:
                name = item["id"].encode()
            elif name in seen:
                self.damaged(f"item {item['id']}: another one in its directory has the name {name!r}")
                name = name[: NAME_BYTE_LIMIT - 40] + b" (" + item["id"].encode() + b")"
                while name in taken or name in seen:
                    name = name[:-1] + b"+)"
            seen.add(name)
            item["output name"] = name

    # Content

    def pieces(self, item: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The pieces of a file, each as PIECE has it."""
        return PIECE.iter_unpack(item["pieces"] if "pieces" in item else self.manifest(item))

    def manifest(self, item: dict[str, Any]) -> bytes:
        key = f"manifests/{item['manifest']}"
        # Every run but the last is a MiB or more, so the file's size limits how many there are.
        count = item["size"] // CHUNK_BYTE_COUNT + 2
        limit = min(TEXT_BYTE_LIMIT, IDENTITY_BYTE_LIMIT + MANIFEST_BYTES_PER_PIECE * count)
        try:
            text = gunzip(read_object(self.container, key), key, limit, MANIFEST_SIGNS_PER_PIECE * count)
        except FileNotFoundError:
            raise Damage(f"{key} is missing")
        if hashlib.sha256(text).hexdigest() != item["manifest"]:
            raise Damage(f"{key}: its hash is another")
        found = parse(text, key, compact)
        del text
        return check_runs(found.get("runs"), item["size"], key)

    def neighbour(self, pack: str) -> str | None:
        """The key in the bucket of the adopted object that is a pack; None for one that lies in packs/."""
        # Version 8 and the usual variant: only such a pack may be adopted.
        if pack[14] != "8" or pack[19] not in "89ab":
            return None
        if pack not in self.neighbours:
            key = f"adopted/{pack}"
            try:
                found = member(parse(read_object(self.container, key, ADOPTION_BYTE_LIMIT), key), "key", str)
            except FileNotFoundError:
                found = None
            if found is not None and ("\0" in found or {"", ".", ".."} & set(found.split("/"))):
                raise Damage(f"{key}: {found!r} is no key")
            self.neighbours[pack] = found
        return self.neighbours[pack]

    def read_chunk(self, pack: str, offset: int, count: int, digest: str) -> bytes:
        neighbour = self.neighbour(pack)
        key = f"packs/{pack}" if neighbour is None else f"the adopted object {neighbour!r}"
        try:
            if neighbour is None:
                data = self.container.read(key, offset, count)
            else:
                data = self.container.read_neighbour(neighbour, offset, count)
        except OSError as error:
            raise Damage(f"{key} at {offset}: {error.strerror or 'there is no such object'}")
        if len(data) != count or hashlib.sha256(data).hexdigest() != digest:
            raise Damage(f"{key}: the {count}-byte chunk at offset {offset} does not have the hash {digest}")
        return data

    def copy(self, item: dict[str, Any], file: int | None) -> None:
        """Verifies a file's chunks and writes them to `file`, if there is one."""
        position = 0
        for is_stored, pack, offset, count, digest in self.pieces(item):
            if is_stored:
                data = self.read_chunk(str(uuid.UUID(bytes=pack)), offset, count, digest.hex())
                if file is not None:
                    written = 0
                    while written < count:
                        written += os.pwrite(file, data[written:], position + written)
            position += count
        if file is not None:
            os.ftruncate(file, position)
        self.file_count += 1
        self.byte_count += position

    def verify(self, children: Children) -> None:
        for items in children.values():
            for item in items:
                if item["kind"] == "file":
                    try:
                        self.copy(item, None)
                    except (Damage, OSError) as error:
                        self.damaged(f"file {item['id']} {item['name']!r}: {error}")

    # Writing. Every call names one component relative to an open directory, so no name and no link leads outside.

    def write(self, children: Children, output: str) -> None:
        os.makedirs(output, mode=0o755, exist_ok=True)
        root = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
        if os.listdir(root):
            sys.exit(f"{output} is not empty")
        self.fill(Level(os.dup(root), os.fsencode(output), children.get(ROOT, [])), children)
        lost = children.get(LOST_AND_FOUND)
        if lost:
            name = LOST_AND_FOUND.encode()
            while os.path.lexists(os.path.join(os.fsencode(output), name)):
                name += b"+"
            os.mkdir(name, 0o700, dir_fd=root)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
            self.fill(Level(inner, name, lost), children)
        os.close(root)

    def fill(self, start: Level, children: Children) -> None:
        """Writes all that lies in a directory. A directory gets its mode and time when its contents are there."""
        stack = [start]
        while stack:
            level = stack[-1]
            item = next(level.rest, None)
            if item is None:
                stack.pop()
                if stack:
                    self.leave(level, stack)
                level.close()
                continue
            try:
                inner = self.write_item(item, level, stack)
            except (Damage, OSError) as error:
                # The path of a deep item is longer than any call takes.
                text = error.strerror if isinstance(error, OSError) and error.strerror else error
                self.damaged(f"{item['kind']} {item['id']} {shown(stack, item)}: {text}")
                continue
            if inner is not None:
                stack.append(Level(inner, item["output name"], children.get(item["id"], []), item))
                # So many levels stay open; the others are opened again from below.
                if len(stack) > OPEN_LEVEL_LIMIT + 1:
                    stack[-OPEN_LEVEL_LIMIT - 1].close()

    def leave(self, level: Level, stack: list[Level]) -> None:
        """Goes back to the directory above, with the one left finished."""
        above, owner = stack[-1], level.owner
        assert owner is not None, "only what fill() starts with has none"
        try:
            if above.file is None:
                above.reopen(level)
            if level.file is not None:
                self.finish(owner, level.file, stack)
        except OSError as error:
            self.damaged(f"directory {owner['id']} {shown(stack, owner)}: {error.strerror}")
        if above.file is None:
            above.rest = iter(())

    def write_item(self, item: dict[str, Any], level: Level, stack: list[Level]) -> int | None:
        """Writes one item; returns the open directory if it is one."""
        name, directory = item["output name"], level.file
        if item["kind"] == "directory":
            os.mkdir(name, 0o700, dir_fd=directory)
            return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        if item["kind"] == "symbolicLink":
            os.symlink(item["target"], name, dir_fd=directory)
            os.utime(name, ns=(item["modified"],) * 2, dir_fd=directory, follow_symlinks=False)
            if item["xattrs"]:
                self.note(f"{shown(stack, item)}: Linux keeps no user attributes on symbolic links")
            return None
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
        try:
            self.copy(item, file)
            self.finish(item, file, stack)
        except BaseException:
            # Half a file under the file's name would look like the file.
            os.unlink(name, dir_fd=directory)
            raise
        finally:
            os.close(file)
        return None

    def finish(self, item: dict[str, Any], file: int, stack: list[Level]) -> None:
        for name, value in item["xattrs"].items():
            try:
                os.setxattr(file, name, value)
            except OSError as error:
                self.note(f"{shown(stack, item)}: attribute {name!r} not restored: {error.strerror}")
        mode = item["mode"]
        set_id = stat.S_ISUID | stat.S_ISGID
        if item["kind"] == "file" and mode & set_id and os.geteuid() == 0 and not self.keep_set_id:
            self.note(f"{shown(stack, item)}: mode {mode:04o} without its set-id bits, since its owner is now root")
            mode &= ~set_id
        os.fchmod(file, mode)
        os.utime(file, ns=(item["modified"],) * 2)


class Level:
    """A directory that is being filled."""

    def __init__(self, file: int, name: bytes, items: list[dict[str, Any]], owner: Item | None = None) -> None:
        self.file: int | None = file
        self.name, self.owner = name, owner
        self.rest = iter(items)
        status = os.fstat(file)
        self.identity = (status.st_dev, status.st_ino)

    def close(self) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None

    def reopen(self, below: Level) -> None:
        if below.file is None:
            raise OSError(errno.ESTALE, "the way back to it was lost")
        file = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=below.file)
        status = os.fstat(file)
        if (status.st_dev, status.st_ino) != self.identity:
            os.close(file)
            raise OSError(errno.ESTALE, "it was moved while it was written")
        self.file = file


def shown(stack: list[Level], item: dict[str, Any]) -> str:
    """The end of an item's path: a whole one may take a megabyte."""
    path = item["output name"]
    for level in reversed(stack):
        path = level.name + b"/" + path
        if len(path) > SHOWN_PATH_LIMIT:
            return repr(b"..." + path[-SHOWN_PATH_LIMIT:])
    return repr(path)


def label(value: Any) -> str:
    return value.get("id", "without an id") if isinstance(value, dict) else "without an id"


def printable(text: object) -> str:
    """Text for a terminal: a hostile name must not move the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("container", metavar="CONTAINER")
    parser.add_argument("output", metavar="OUTPUT_DIR", nargs="?")
    parser.add_argument("--verify-only", action="store_true", help="check every hash and write nothing")
    parser.add_argument("--at", metavar="SEQUENCE", type=int, help="the state after this commit instead of the newest")
    parser.add_argument("--keep-set-id", action="store_true", help="as root: keep set-id bits of files")
    parser.add_argument("--adopted", metavar="COPY", help="a directory with copies of adopted objects, at their keys")
    parser.add_argument("--endpoint", metavar="URL", help="where the bucket's service answers, if not Amazon's")
    parser.add_argument("--region", help="the bucket's region")
    arguments = parser.parse_args()
    if not arguments.verify_only and arguments.output is None:
        parser.error("OUTPUT_DIR is missing")
    # One descriptor stays open for every level of the tree.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    if arguments.container.lower().startswith("s3://"):
        container: Container = Bucket(arguments.container, arguments.endpoint, arguments.region)
    else:
        container = Directory(arguments.container, arguments.adopted)
    restore = Restore(container, arguments.keep_set_id)
    identity = restore.read_identity()
    newest = restore.replay(arguments.at)
    children = restore.tree()
    if arguments.verify_only:
        restore.verify(children)
    else:
        restore.write(children, arguments.output)
    verb = "verified" if arguments.verify_only else "restored"
    print(
        f"{printable(identity)}, commit {newest}: {len(restore.items)} items; {verb} {restore.file_count} files with "
        f"{restore.byte_count} bytes; {restore.damage_count} damaged"
    )
    sys.exit(1 if restore.damage_count else 0)


if __name__ == "__main__":
    main()
