#!/usr/bin/env python3
"""Rebuilds the tree of a Dewpoint container from its directory, with nothing but Python's standard library.

    restore.py CONTAINER OUTPUT_DIR [--at SEQUENCE] [--keep-set-id]
    restore.py CONTAINER --verify-only [--at SEQUENCE]

CONTAINER is a directory, or s3://BUCKET/PREFIX with [--endpoint URL] [--region REGION], which needs the package boto3 and
keys where AWS's tools find them. Without boto3, copy the bucket first: aws s3 sync s3://BUCKET/PREFIX DIRECTORY
Where objects were adopted, which lie in the bucket beside the container, copy those too, each to COPY/KEY, and give --adopted COPY.

It follows the page "The container format" and shares no code with Dewpoint: the way out for those who no longer want or
have it, and an independent check of those who do. The container is only read. OUTPUT_DIR must be missing or empty, and
nothing outside of it is written, whatever names the container has. What is damaged is reported and left out, and the
rest is restored.

Exit status: 0 when all is well, 1 when something was damaged or could not be restored, 2 for wrong arguments.
"""

import argparse
import base64
import binascii
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
XATTR_BYTE_LIMIT = 64 << 10
NAME_BYTE_LIMIT = 255
TARGET_BYTE_LIMIT = 4095
LOST_AND_FOUND = "lost+found"
STEP_BYTE_COUNT = 1 << 20
SNAPSHOT_KINDS = {0: "file", 1: "directory", 2: "symbolicLink"}


class Damage(Exception):
    """Something in the container is not as the format says."""


# Reading objects


class Directory:
    """A container in a directory."""

    def __init__(self, path, copy):
        self.path = path
        self.copy = copy

    def __str__(self):
        return self.path

    def sizes(self, prefix):
        """The length of each object below a prefix such as `log`, by its name."""
        try:
            with os.scandir(os.path.join(self.path, prefix)) as entries:
                return {entry.name: entry.stat().st_size for entry in entries}
        except FileNotFoundError:
            return {}

    def open(self, key):
        """An object as an open file; FileNotFoundError when there is none."""
        return open(os.path.join(self.path, key), "rb")

    def read(self, key, offset, count):
        """At most `count` bytes of an object; FileNotFoundError when there is none."""
        return self.read_file(os.path.join(self.path, key), offset, count)

    def read_neighbour(self, key, offset, count):
        """The same of an object that lies in the bucket beside the container."""
        if self.copy is None:
            raise Damage(f"its bytes are those of the object {key!r}, beside the container; copy it, and give --adopted COPY")
        return self.read_file(os.path.join(self.copy, key), offset, count)

    @staticmethod
    def read_file(path, offset, count):
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                return file.read(count)
        except (IsADirectoryError, NotADirectoryError):
            raise FileNotFoundError(path)


class Bucket:
    """A container in a bucket. What is read is fetched in large pieces, the last of which is kept."""

    PIECE_BYTE_COUNT = 16 << 20

    def __init__(self, url, endpoint, region):
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
        self.piece = (None, 0, b"")

    def __str__(self):
        return self.url

    def sizes(self, prefix):
        start = f"{self.prefix}{prefix}/"
        try:
            pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=start)
            return {item["Key"][len(start) :]: item["Size"] for page in pages for item in page.get("Contents", [])}
        except self.failures as error:
            sys.exit(f"{self.url}: {error}")

    def open(self, key):
        file = tempfile.TemporaryFile(prefix="restore-")
        try:
            self.client.download_fileobj(self.bucket, self.prefix + key, file)
        except self.failures as error:
            self.refuse(key, error)
        file.seek(0)
        return file

    def read(self, key, offset, count):
        return self.read_neighbour(self.prefix + key, offset, count)

    def read_neighbour(self, key, offset, count):
        name, start, data = self.piece
        if name != key or not start <= offset or offset + count > start + len(data):
            data, start = self.fetch(key, offset, max(count, self.PIECE_BYTE_COUNT)), offset
            self.piece = (key, start, data)
        return data[offset - start : offset - start + count]

    def fetch(self, key, offset, count):
        try:
            answer = self.client.get_object(
                Bucket=self.bucket, Key=key, Range=f"bytes={offset}-{offset + count - 1}"
            )
            return answer["Body"].read(count)
        except self.failures as error:
            # Nothing there at all, or nothing from here on.
            if self.code(error) == "InvalidRange":
                return b""
            self.refuse(key, error)

    def refuse(self, key, error):
        if self.code(error) in ("NoSuchKey", "404"):
            raise FileNotFoundError(key)
        # Neither a key, a right nor the network comes back by going on.
        sys.exit(f"{self.url}: {key}: {error}")

    @staticmethod
    def code(error):
        return getattr(error, "response", {}).get("Error", {}).get("Code")


def read_object(container, key):
    """The bytes of a whole object; FileNotFoundError when there is none."""
    data = container.read(key, 0, OBJECT_BYTE_LIMIT + 1)
    if len(data) > OBJECT_BYTE_LIMIT:
        raise Damage(f"{key}: longer than {OBJECT_BYTE_LIMIT} bytes")
    return data


def gunzip(data, key):
    """Unpacks exactly one gzip member."""
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        text = unpacker.decompress(data, TEXT_BYTE_LIMIT + 1)
    except zlib.error as error:
        raise Damage(f"{key}: {error}")
    if len(text) > TEXT_BYTE_LIMIT:
        raise Damage(f"{key}: unpacks to more than {TEXT_BYTE_LIMIT} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise Damage(f"{key}: not exactly one whole gzip member")
    return text


def parse(text, key):
    try:
        value = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damage(f"{key}: {error}")
    if not isinstance(value, dict):
        raise Damage(f"{key}: not a JSON object")
    return value


# Checking values. Each function returns the value or raises Damage.


def member(value, key, kind):
    """The member `key` of a JSON object, which must have the Python type `kind`."""
    found = value.get(key)
    if not isinstance(found, kind) or isinstance(found, bool) and kind is not bool:
        raise Damage(f"{key} is missing or not of its type")
    return found


def integer(value, key, low, high):
    found = member(value, key, int)
    if not low <= found <= high:
        raise Damage(f"{key} is {found}, not in {low}...{high}")
    return found


def identifier(value, key):
    text = member(value, key, str)
    if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
        raise Damage(f"{key} is not a UUID: {text!r}")
    return str(uuid.UUID(text))


def sha256(text):
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise Damage(f"not a SHA-256: {text!r}")
    return text


def utf8(text, what):
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Damage(f"{what} is not Unicode text")


def check_name(text):
    data = utf8(text, "name")
    if not 1 <= len(data) <= NAME_BYTE_LIMIT or text in (".", "..") or b"/" in data or b"\0" in data:
        raise Damage(f"bad name {text!r}")
    return data


def check_format(value, key):
    version = integer(value, "format", 1, 1 << 62)
    if version > FORMAT:
        sys.exit(f"{key} has format {version}; this script reads formats up to {FORMAT}. Use a newer one.")


def check_runs(runs):
    """Checks a chunk list and returns it flat: (pack or None, offset, byte count, hash) per chunk or hole."""
    if not isinstance(runs, list):
        raise Damage("runs is not a list")
    flat = []
    total = 0
    for run in runs:
        if not isinstance(run, dict):
            raise Damage("a run is not an object")
        # Only the last entry of a file may have an odd length.
        if total % CHUNK_BYTE_COUNT:
            raise Damage("a short chunk or hole before the end of the file")
        if run.get("zeros") is not None:
            count = integer(run, "zeros", 1, FILE_BYTE_LIMIT)
            flat.append((None, 0, count, None))
            total += count
        else:
            pack = identifier(run, "pack")
            offset = integer(run, "offset", 0, OFFSET_LIMIT)
            chunks = member(run, "chunks", list)
            if not chunks:
                raise Damage("a run without chunks")
            for chunk in chunks:
                if not isinstance(chunk, dict):
                    raise Damage("a chunk is not an object")
                if total % CHUNK_BYTE_COUNT:
                    raise Damage("a short chunk before the end of the file")
                count = integer(chunk, "byteCount", 1, CHUNK_BYTE_COUNT)
                flat.append((pack, offset, count, sha256(chunk.get("hash"))))
                offset += count
                total += count
            if offset > OFFSET_LIMIT:
                raise Damage("an offset that is too high")
        if total > FILE_BYTE_LIMIT:
            raise Damage(f"longer than {FILE_BYTE_LIMIT} bytes")
    return flat, total


def check_record(record, sequence):
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
            item["chunks"], total = check_runs(content.get("runs"))
            if total != item["size"]:
                raise Damage(f"size {item['size']}, but content of {total} bytes")
    elif item["size"]:
        raise Damage("only a file has a size")
    return item


# Snapshots


def unpack_snapshot(source, target, key):
    """Unpacks a gzip member from one open file into another, and checks the SHA-256 in its header."""
    header = source.read(10)
    if header[:3] != b"\x1f\x8b\x08" or len(header) < 10 or header[3] != 0x10:
        raise Damage(f"{key}: not gzip with a comment and nothing else in its header")
    comment = source.read(65)
    if len(comment) < 65 or comment[-1] != 0:
        raise Damage(f"{key}: the comment is not a SHA-256")
    source.seek(0)
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    digest = hashlib.sha256()
    try:
        while not unpacker.eof and (data := source.read(STEP_BYTE_COUNT)):
            while data and not unpacker.eof:
                piece = unpacker.decompress(data, STEP_BYTE_COUNT)
                data = unpacker.unconsumed_tail
                digest.update(piece)
                target.write(piece)
    except zlib.error as error:
        raise Damage(f"{key}: {error}")
    if not unpacker.eof or unpacker.unused_data or source.read(1):
        raise Damage(f"{key}: not exactly one whole gzip member")
    if digest.hexdigest().encode() != comment[:-1]:
        raise Damage(f"{key}: its SHA-256 is another")
    target.flush()


def unpack_content(data):
    """The runs of a packed content, as they stand in a record."""
    try:
        version, run_count = struct.unpack_from("<BI", data)
        if version != 1:
            raise Damage(f"a content of version {version}")
        offset, runs = 5, []
        for _ in range(run_count):
            if data[offset] == 0:
                runs.append({"zeros": struct.unpack_from("<q", data, offset + 1)[0]})
                offset += 9
                continue
            start, count = struct.unpack_from("<qI", data, offset + 17)
            run = {"pack": str(uuid.UUID(bytes=data[offset + 1 : offset + 17])), "offset": start, "chunks": []}
            offset += 29
            for _ in range(count):
                digest, byte_count = struct.unpack_from("<32sI", data, offset)
                run["chunks"].append({"hash": digest.hex(), "byteCount": byte_count & ~HEAD_FLAG})
                offset += 68 if byte_count & HEAD_FLAG else 36
            runs.append(run)
    except (struct.error, IndexError, ValueError) as error:
        raise Damage(f"a content that cannot be read: {error}")
    if offset != len(data):
        raise Damage("a content with something behind it")
    return runs


def snapshot_record(row, xattrs, device):
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
        "xattrs": {name: base64.b64encode(value).decode() for name, value in xattrs},
        "device": device,
        "base": 0,
    }
    if any(value is not None and not isinstance(value, bytes) for value in (content, manifest)):
        raise Damage("a content that is none")
    if target is not None:
        record["target"] = target
    if manifest is not None:
        record["content"] = {"manifest": manifest.hex()}
    elif content is not None:
        record["content"] = {"runs": unpack_content(content)}
    return record


class Restore:
    def __init__(self, container, keep_set_id):
        self.container = container
        self.keep_set_id = keep_set_id
        self.items = {}
        # The nonce of the commit that the items stand at, where it is known.
        self.nonce = None
        # The adopted objects that are packs; None for a pack of the container's own.
        self.neighbours = {}
        self.damage_count = 0
        self.note_count = 0
        self.file_count = self.byte_count = 0

    def damaged(self, text):
        self.damage_count += 1
        print(f"damaged: {printable(text)}", file=sys.stderr)

    def note(self, text):
        self.note_count += 1
        print(f"note: {printable(text)}", file=sys.stderr)

    # Replaying the log

    def read_identity(self):
        try:
            identity = parse(read_object(self.container, "container.json"), "container.json")
            check_format(identity, "container.json")
            return member(identity, "id", str)
        except FileNotFoundError:
            sys.exit(f"{self.container}: there is no container.json, so this is not a container")
        except Damage as damage:
            # The log has all that is needed to restore.
            self.damaged(f"container.json: {damage}")
            return "?"

    def replay(self, at):
        sizes = self.container.sizes("log")
        sizes = {int(name): size for name, size in sizes.items() if re.fullmatch("[0-9]{20}", name)}
        numbers = sorted(sizes)
        numbers = [number for number in numbers if 0 < number <= HIGHEST_NUMBER and (at is None or number <= at)]
        trimmed = {number for number in numbers if sizes[number] == 0}
        whole = numbers and not trimmed and numbers == list(range(1, len(numbers) + 1))
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
        return expected - 1

    def read_newest_snapshot(self, at):
        """Takes the items of the newest snapshot that can be read, and returns its number; 0 when there is none."""
        names = self.container.sizes("snapshot")
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

    def read_snapshot(self, number):
        key = f"snapshot/{number:020}"
        with tempfile.NamedTemporaryFile(prefix="restore-") as file:
            with self.container.open(key) as source:
                unpack_snapshot(source, file, key)
            database = sqlite3.connect(f"file:{file.name}?mode=ro&immutable=1", uri=True)
            try:
                return self.read_rows(database, number)
            finally:
                database.close()

    def read_rows(self, database, number):
        meta = dict(database.execute("SELECT key, value FROM meta"))
        check_format(meta, f"snapshot {number}")
        if meta.get("number") != number:
            raise Damage(f"it says that it is snapshot {meta.get('number')}")
        device = identifier(meta, "device")
        self.nonce = identifier(meta, "nonce") if meta.get("nonce") is not None else None
        xattrs = {}
        for item, name, value in database.execute("SELECT item, name, value FROM xattrs"):
            xattrs.setdefault(item, []).append((name, value))
        items = {}
        columns = "item, parent, name, kind, mode, modified, size, target, content, manifest"
        for row in database.execute(f"SELECT {columns} FROM items"):
            item = check_record(snapshot_record(row, xattrs.get(row[0], []), device), number)
            items[item["id"]] = item
        if len(items) != meta.get("items"):
            raise Damage(f"it has {len(items)} items, not {meta.get('items')}")
        return items

    def apply(self, number):
        key = f"log/{number:020}"
        commit = parse(gunzip(read_object(self.container, key), key), key)
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
        seen = set()
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

    def tree(self):
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
            path = {}
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
        children = {}
        lost = set(lost)
        for item_id, parent in parents.items():
            children.setdefault(LOST_AND_FOUND if item_id in lost else parent, []).append(self.items[item_id])
        for parent, items in children.items():
            self.make_names_unique(parent, items)
        return children

    def make_names_unique(self, parent, items):
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

    def chunks(self, item):
        if "chunks" in item:
            return item["chunks"]
        key = f"manifests/{item['manifest']}"
        try:
            text = gunzip(read_object(self.container, key), key)
        except FileNotFoundError:
            raise Damage(f"{key} is missing")
        if hashlib.sha256(text).hexdigest() != item["manifest"]:
            raise Damage(f"{key}: its hash is another")
        flat, total = check_runs(parse(text, key).get("runs"))
        if total != item["size"]:
            raise Damage(f"size {item['size']}, but {key} has {total} bytes")
        return flat

    def neighbour(self, pack):
        """The key in the bucket of the adopted object that is a pack; None for one that lies in packs/."""
        # Version 8 and the usual variant: only such a pack may be adopted.
        if pack[14] != "8" or pack[19] not in "89ab":
            return None
        if pack not in self.neighbours:
            key = f"adopted/{pack}"
            try:
                found = member(parse(read_object(self.container, key), key), "key", str)
            except FileNotFoundError:
                found = None
            if found is not None and ("\0" in found or {"", ".", ".."} & set(found.split("/"))):
                raise Damage(f"{key}: {found!r} is no key")
            self.neighbours[pack] = found
        return self.neighbours[pack]

    def read_chunk(self, pack, offset, count, digest):
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

    def copy(self, item, file):
        """Verifies a file's chunks and writes them to `file`, if there is one."""
        position = 0
        for pack, offset, count, digest in self.chunks(item):
            if pack is not None:
                data = self.read_chunk(pack, offset, count, digest)
                if file is not None:
                    written = 0
                    while written < count:
                        written += os.pwrite(file, data[written:], position + written)
            position += count
        if file is not None:
            os.ftruncate(file, position)
        self.file_count += 1
        self.byte_count += position

    def verify(self, children):
        for items in children.values():
            for item in items:
                if item["kind"] == "file":
                    try:
                        self.copy(item, None)
                    except Damage as damage:
                        self.damaged(f"file {item['id']} {item['name']!r}: {damage}")

    # Writing. Every call names one component relative to an open directory, so no name and no link leads outside.

    def write(self, children, output):
        os.makedirs(output, mode=0o755, exist_ok=True)
        root = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
        if os.listdir(root):
            sys.exit(f"{output} is not empty")
        self.fill(root, os.fsencode(output), children, ROOT)
        lost = children.get(LOST_AND_FOUND)
        if lost:
            name = LOST_AND_FOUND.encode()
            while os.path.lexists(os.path.join(os.fsencode(output), name)):
                name += b"+"
            os.mkdir(name, 0o700, dir_fd=root)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
            self.fill(inner, name, children, LOST_AND_FOUND)
            os.close(inner)
        os.close(root)

    def fill(self, directory, path, children, item_id):
        """Writes all that lies in a directory. A directory gets its mode and time when its contents are there."""
        stack = [(directory, path, iter(children.get(item_id, [])), None)]
        while stack:
            directory, path, rest, owner = stack[-1]
            item = next(rest, None)
            if item is None:
                stack.pop()
                if owner is not None:
                    try:
                        self.finish(owner, directory, path)
                    except OSError as error:
                        self.damaged(f"directory {owner['id']} {path!r}: {error}")
                    os.close(directory)
                continue
            item_path = path + b"/" + item["output name"]
            try:
                inner = self.write_item(item, directory, item_path)
                if inner is not None:
                    stack.append((inner, item_path, iter(children.get(item["id"], [])), item))
            except (Damage, OSError) as error:
                self.damaged(f"{item['kind']} {item['id']} {item_path!r}: {error}")

    def write_item(self, item, directory, path):
        """Writes one item; returns the open directory if it is one."""
        name = item["output name"]
        if item["kind"] == "directory":
            os.mkdir(name, 0o700, dir_fd=directory)
            return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
        if item["kind"] == "symbolicLink":
            os.symlink(item["target"], name, dir_fd=directory)
            os.utime(name, ns=(item["modified"],) * 2, dir_fd=directory, follow_symlinks=False)
            if item["xattrs"]:
                self.note(f"{path!r}: Linux keeps no user attributes on symbolic links")
            return None
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
        try:
            self.copy(item, file)
            self.finish(item, file, path)
        except BaseException:
            # Half a file under the file's name would look like the file.
            os.unlink(name, dir_fd=directory)
            raise
        finally:
            os.close(file)
        return None

    def finish(self, item, file, path):
        for name, value in item["xattrs"].items():
            try:
                os.setxattr(file, name, value)
            except OSError as error:
                self.note(f"{path!r}: attribute {name!r} not restored: {error.strerror}")
        mode = item["mode"]
        set_id = stat.S_ISUID | stat.S_ISGID
        if item["kind"] == "file" and mode & set_id and os.geteuid() == 0 and not self.keep_set_id:
            self.note(f"{path!r}: mode {mode:04o} without its set-id bits, since its owner is now root")
            mode &= ~set_id
        os.fchmod(file, mode)
        os.utime(file, ns=(item["modified"],) * 2)


def label(value):
    return value.get("id", "without an id") if isinstance(value, dict) else "without an id"


def printable(text):
    """Text for a terminal: a hostile name must not move the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def main():
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
        container = Bucket(arguments.container, arguments.endpoint, arguments.region)
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
