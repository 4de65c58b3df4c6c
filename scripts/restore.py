#!/usr/bin/env python3
"""Rebuilds the tree of a Dewpoint container from its directory, with nothing but Python's standard library.

    restore.py CONTAINER OUTPUT_DIR [--at SEQUENCE] [--keep-set-id] [--passphrase-file FILE]
    restore.py CONTAINER --verify-only [--at SEQUENCE] [--passphrase-file FILE]

CONTAINER is a directory, or s3://BUCKET/PREFIX with [--endpoint URL] [--region REGION], which needs the package boto3 and
keys where AWS's tools find them. Without boto3, copy the bucket first: aws s3 sync s3://BUCKET/PREFIX DIRECTORY
Where objects were adopted, which lie in the bucket beside the container, copy those too, each to COPY/KEY, and give --adopted COPY.

An encrypted container needs the package cryptography (apt install python3-cryptography), and its passphrase or recovery
code: the first line of FILE, or the environment variable DEWPOINT_PASSPHRASE, or the answer at the terminal.

It follows the page "The container format" and shares no code with Dewpoint: the way out for those who no longer want or
have it, and an independent check of those who do. The container is only read. OUTPUT_DIR must be missing or empty, and
nothing outside of it is written, whatever names the container has. What is damaged or cannot be read is reported and left
out, and the rest is restored. Objects are regular files: links, pipes and devices in the container are damage. So is, in an
encrypted one, what a device or passphrase that was revoked has signed and the rest contradicts; what only such a one has
signed, and nothing confirms, is restored, and named by a line that begins with "note:".

Exit status: 0 when all is well, 1 when something was damaged or could not be restored, 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import bisect
import errno
import getpass
import hashlib
import hmac
import importlib.util
import io
import json
import os
import re
import resource
import sqlite3
import stat
import struct
import sys
import tempfile
import unicodedata
import uuid
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Dict, List, NamedTuple, NoReturn, Union

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

# Of an encrypted container, in its container.json and its keyring.
SEALED_FORMAT = 2
KEYRING_BYTE_LIMIT = 1 << 20
KEYRING_VERSION_LIMIT = 100_000
MEMBER_LIMIT = 1000
# Of slots for passphrases, and as many for recovery codes.
PERSONAL_SLOT_LIMIT = 8
SCRYPT_BYTE_LIMIT = (1 << 30) + (1 << 20)
PASSPHRASE_BYTE_LIMIT = 1024
# Of a sealed object, after magic and version: epoch, salt, commitment, encrypted lengths.
HEADER = struct.Struct(">8xI32s32s32s")
# Before the bytes of commits and snapshots: magic, signer, number and hash of the keyring, predecessor, signature.
ENDORSEMENT = struct.Struct(">8s16sQ32s32s64s")
SIGNED_KEY = re.compile(r"(log|snapshot)/[0-9]{20}|container\.json")
SEGMENT_BYTE_COUNT = 64 << 10
TAG_BYTE_COUNT = 16
SEALED_BYTE_LIMIT = 5 << 40
# How many headers are remembered, of some 500 bytes each.
HEADER_LIMIT = 4096
# The digits of a recovery code, those that are read alike included, as those of RFC 4648.
CODE_DIGITS = bytes.maketrans(b"0123456789ABCDEFGHJKMNPQRSTVWXYZILO", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567BBA")


class Damage(Exception):
    """Something in the container is not as the format says."""


if TYPE_CHECKING:
    Container = Union["Directory", "Bucket", "Sealed"]
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
        sys.exit(f"{key} has format {version}, which this script does not read. Use a newer one.")


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


# Encrypted containers


def extract(salt: bytes, secret: bytes) -> bytes:
    """The first half of HKDF-SHA256 (RFC 5869)."""
    return hmac.digest(salt, secret, "sha256")


def expand(key: bytes, info: bytes, count: int) -> bytes:
    """The second half."""
    data = block = b""
    for index in range(1, -(-count // 32) + 1):
        block = hmac.digest(key, block + info + bytes([index]), "sha256")
        data += block
    return data[:count]


def decrypt(what: str, key: bytes, nonce: bytes, data: bytes, context: bytes = b"") -> bytes:
    """Opens AES-256-GCM: the ciphertext with its tag, bound to the context."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        plain: bytes = AESGCM(key).decrypt(nonce, data, context)
        return plain
    except (InvalidTag, ValueError):
        raise Damage(f"{what}: changed since it was sealed, or not sealed for this place")


def unwrap(private: bytes, encapsulated: bytes, wrapped: bytes, info: bytes) -> bytes:
    """Opens HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM."""
    from cryptography.hazmat.primitives.asymmetric import x25519
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    kem, suite = b"HPKE-v1KEM\x00\x20", b"HPKE-v1HPKE\x00\x20\x00\x01\x00\x02"

    def labeled(name: bytes, key: bytes, label: bytes, context: bytes, count: int) -> bytes:
        return expand(key, count.to_bytes(2, "big") + name + label + context, count)

    try:
        recipient = x25519.X25519PrivateKey.from_private_bytes(private)
        shared = recipient.exchange(x25519.X25519PublicKey.from_public_bytes(encapsulated))
    except ValueError:
        raise Damage("a slot with a key that is none")
    public = recipient.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    secret = labeled(kem, extract(b"", kem + b"eae_prk" + shared), b"shared_secret", encapsulated + public, 32)
    context = b"\0" + extract(b"", suite + b"psk_id_hash") + extract(b"", suite + b"info_hash" + info)
    secret = extract(secret, suite + b"secret")
    key, nonce = labeled(suite, secret, b"key", context, 32), labeled(suite, secret, b"base_nonce", context, 12)
    return decrypt("its slot", key, nonce, wrapped)


def decoded(value: dict[str, Any], key: str) -> bytes:
    """The bytes of a member in Base64."""
    try:
        return base64.b64decode(member(value, key, str), validate=True)
    except ValueError:
        raise Damage(f"{key} is not Base64")


def objects(value: dict[str, Any], key: str, limit: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = member(value, key, list)
    if len(found) > limit or not all(isinstance(one, dict) for one in found):
        raise Damage(f"{key} has more than {limit} entries, or one that is no object")
    return found


class Member(NamedTuple):
    """Of a keyring."""

    name: str
    agreement_key: bytes
    signing_key: bytes
    role: str
    enrolled_by: str
    revoked_at: int | None


class Secret(NamedTuple):
    """What a person knows: its kind is `passphrase` or `recovery`, as that of the slots that it opens."""

    kind: str
    data: bytes


class Keyring:
    """A version of the keyring. What breaks a rule raises Damage."""

    def __init__(self, data: bytes, container_id: uuid.UUID, number: int) -> None:
        self.hash = hashlib.sha256(data).digest()
        self.container_id, self.number = container_id, number
        shell = parse(data, "it")
        self.text, self.mac, self.signature = (decoded(shell, name) for name in ("keyring", "mac", "signature"))
        ring = parse(self.text, "its text")
        integer(ring, "format", SEALED_FORMAT, SEALED_FORMAT)
        integer(ring, "number", number, number)
        if identifier(ring, "container") != str(container_id):
            raise Damage("it is of another container")
        self.previous = decoded(ring, "previous") if ring.get("previous") is not None else None
        self.maker = identifier(ring, "maker")
        self.epoch = integer(ring, "epoch", 1, (1 << 32) - 1)
        self.secrets = decoded(ring, "secrets")
        entries = objects(ring, "members", MEMBER_LIMIT)
        self.members = {identifier(entry, "id"): self.read_member(entry) for entry in entries}
        if len(self.members) != len(entries):
            raise Damage("a member occurs twice")
        self.slots = objects(ring, "slots", MEMBER_LIMIT + 2 * PERSONAL_SLOT_LIMIT)
        for kind in "passphrase", "recovery":
            if sum(kind in member(slot, "kind", dict) for slot in self.slots) > PERSONAL_SLOT_LIMIT:
                raise Damage(f"more than {PERSONAL_SLOT_LIMIT} slots of the kind {kind}")

    @staticmethod
    def read_member(entry: dict[str, Any]) -> Member:
        name, role = member(entry, "name", str), member(entry, "role", str)
        if len(utf8(name, "name")) > NAME_BYTE_LIMIT or role not in ("writer", "reader", "person"):
            raise Damage("a member with a bad name or role")
        revoked_at = integer(entry, "revokedAt", 0, (1 << 32) - 1) if entry.get("revokedAt") is not None else None
        keys = decoded(entry, "agreementKey"), decoded(entry, "signingKey")
        return Member(name, *keys, role, identifier(entry, "enrolledBy"), revoked_at)

    def check_signature(self, members: dict[str, Member]) -> None:
        """Checks that one of the members made it who may."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519

        maker = members.get(self.maker)
        if maker is None or maker.role == "reader" or maker.revoked_at is not None:
            raise Damage("its maker is no member who may change it")
        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(maker.signing_key)
            key.verify(self.signature, b"dewpoint keyring v2\0" + self.text)
        except (InvalidSignature, ValueError):
            raise Damage("it is not signed by its maker")

    def check_succession(self, before: Keyring | None) -> None:
        """Checks that it follows from the version before; there is none before the first."""
        if self.previous != (before.hash if before else None):
            raise Damage("it does not follow from the version before")
        self.check_signature(before.members if before else self.members)
        if before is None:
            if self.epoch != 1:
                raise Damage(f"the first version with epoch {self.epoch}")
            return
        if not before.epoch <= self.epoch <= before.epoch + 1:
            raise Damage(f"epoch {self.epoch} after epoch {before.epoch}")
        for member_id, old in before.members.items():
            new = self.members.get(member_id)
            # Who is revoked does not get the key of the epoch that begins.
            if new and old.revoked_at is None and new.revoked_at == self.epoch == before.epoch + 1:
                new = new._replace(revoked_at=None)
            if new != old:
                raise Damage(f"it removes or changes the member {old.name}")
        for member_id, new in self.members.items():
            if member_id not in before.members and (new.enrolled_by != self.maker or new.revoked_at is not None):
                raise Damage(f"its maker did not enrol the member {new.name}")

    def open(self, secret: Secret, founder: bytes) -> dict[int, bytes]:
        """The keys of the epochs. `founder` is the signing key of the maker of version 1."""
        root, private, slot = self.open_slot(secret)
        context = b"dewpoint slot v2\0" + self.container_id.bytes
        key = unwrap(private, decoded(slot, "encapsulated"), decoded(slot, "wrapped"), context)
        context = b"dewpoint ring v2\0" + self.container_id.bytes
        secrets = decrypt("its secrets", key, self.secrets[:12], self.secrets[12:], context)
        # Anybody can wrap a ring of his own to the public key of a slot.
        if root != secrets[:32] + founder:
            raise Damage("it is not of the container for which the passphrase or recovery code was made")
        key = expand(extract(b"", secrets[:32]), b"dewpoint keyring v2\0" + self.container_id.bytes, 32)
        if not hmac.compare_digest(self.mac, hmac.digest(key, self.text, "sha256")):
            raise Damage("it was made without the key of the container")
        if len(secrets) % 36 != 32:
            raise Damage("its keys are not in their form")
        keys = dict(struct.iter_unpack(">I32s", secrets[32:]))
        if list(keys) != list(range(1, self.epoch + 1)):
            raise Damage("it lacks the key of an epoch")
        return keys

    def open_slot(self, secret: Secret) -> tuple[bytes, bytes, dict[str, Any]]:
        """The root and the X25519 key that the secret opens, and their slot."""
        context = b"dewpoint " + secret.kind.encode() + b" v2\0" + self.container_id.bytes
        keys = b""
        if secret.kind == "recovery":
            keys = expand(extract(b"", secret.data), context, 96)
        for slot in self.slots:
            if secret.kind not in slot["kind"]:
                continue
            details = member(slot["kind"], secret.kind, dict)
            wrapped = decoded(details, "wrapped")
            key = keys[:32] or scrypt(secret.data, details)
            try:
                opened = decrypt("its slot", key, wrapped[-12:], wrapped[:-12], context) + keys[32:]
            except Damage:
                continue
            if len(opened) != 128:
                raise Damage("a slot is not in its form")
            return opened[:64], opened[64:96], slot
        sys.exit(
            "the passphrase or recovery code is wrong, or is that of another container: check it and start again "
            "(a recovery code has 56 letters and digits)"
        )


def scrypt(passphrase: bytes, slot: dict[str, Any]) -> bytes:
    """The key for a slot. What would take less or more work than any Dewpoint writes is refused before it is done."""
    cost = member(slot, "cost", dict)
    rounds, parallelism = integer(cost, "rounds", 1 << 17, 1 << 20), integer(cost, "parallelism", 1, 4)
    if rounds & (rounds - 1):
        raise Damage(f"rounds is {rounds}, no power of 2")
    block, salt = integer(cost, "blockSize", 8, 8), decoded(slot, "salt")
    return hashlib.scrypt(passphrase, salt=salt, n=rounds, r=block, p=parallelism, maxmem=SCRYPT_BYTE_LIMIT, dklen=32)


class Entry(NamedTuple):
    """A commit or snapshot, signed by a member who might write under its version of the keyring."""

    key: str
    signer: str
    version: int
    predecessor: bytes
    # The hash of the sealed object.
    hash: bytes

    @property
    def is_snapshot(self) -> bool:
        return self.key.startswith("snapshot/")

    @property
    def number(self) -> int:
        return int(self.key[-20:])


class Authority:
    """Who might write when."""

    def __init__(self) -> None:
        # Of each version: the hash of its object, its epoch, and how many members it had: they are only added.
        self.versions: list[tuple[bytes, int, int]] = []
        self.members: dict[str, Member] = {}

    def add(self, ring: Keyring) -> None:
        self.versions.append((ring.hash, ring.epoch, len(ring.members)))
        self.members = ring.members

    def signing_key(self, signer: str, version: int, digest: bytes) -> bytes:
        """The key of a member who might write under a version of the keyring."""
        if not 1 <= version <= len(self.versions) or self.versions[version - 1][0] != digest:
            raise Damage(f"it was written under a keyring {version} that is not in the container")
        _, _, count = self.versions[version - 1]
        writer = self.members.get(signer)
        if writer is None or signer not in list(self.members)[:count]:
            raise Damage("it is signed by somebody who was no member")
        if writer.role == "reader" or self.was_revoked(signer, version):
            raise Damage(f"it is signed by {writer.name}, which might not write")
        return writer.signing_key

    def was_revoked(self, signer: str, version: int) -> bool:
        """Whether a member was revoked when a version of the keyring was made."""
        revoked_at = self.members[signer].revoked_at
        return revoked_at is not None and revoked_at <= self.versions[version - 1][1]

    def former(self, signer: str) -> str | None:
        """The name of a member who was revoked until now, and still has all keys of before."""
        writer = self.members[signer]
        return None if writer.revoked_at is None else writer.name

    def check(self, key: str, start: bytes, body: bytes, container_id: uuid.UUID) -> tuple[str, int, bytes]:
        """Checks what stands before the bytes of an object, given the hash of these.

        Returns who signed it, under which version of the keyring, and after what.
        """
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ed25519

        if len(start) != ENDORSEMENT.size or not start.startswith(b"DEWSIGN\2"):
            raise Damage(f"{key}: nobody has signed it")
        _, member_id, version, ring, predecessor, signature = ENDORSEMENT.unpack(start)
        signer = str(uuid.UUID(bytes=member_id))
        statement = b"dewpoint history v2\0" + container_id.bytes + start[8:96] + body + key.encode()
        try:
            signing_key = self.signing_key(signer, version, ring)
            ed25519.Ed25519PublicKey.from_public_bytes(signing_key).verify(signature, statement)
        except Damage as damage:
            raise Damage(f"{key}: {damage}")
        except (InvalidSignature, ValueError):
            raise Damage(f"{key}: its signature is wrong")
        return signer, version, predecessor


def commit_key(number: int) -> str:
    return f"log/{number:020}"


def snapshot_key(number: int) -> str:
    return f"snapshot/{number:020}"


class History:
    """What the commits and snapshots of an encrypted container say of each other.

    A member who was revoked, as a device or a former passphrase, keeps the keys of before. With the keys to the store, he
    can seal and sign what looks as old as they are. So nothing is believed that was written under an older keyring than
    something before it; and of what former members signed, nothing that the others contradict.
    """

    def __init__(self, container: Sealed) -> None:
        self.container = container
        self.authority = container.authority
        # What was read last, and the number and hash of the commit to which it leads.
        self.newest: Entry | None = None
        self.end = (0, bytes(32))
        self.entries: dict[str, Entry | None] = {}
        self.refused: dict[str, str] = {}
        self.vouched: dict[int, bool] = {}
        self.reaches: dict[int, int] = {}
        # Of all commits and snapshots, in order: number and whether it is a snapshot; the version of the keyring that it
        # names, 0 if that is known to be false; and the highest ones up to it, of commits and of snapshots.
        self.places: list[tuple[int, bool]] | None = None
        self.versions: list[int] = []
        self.highest: list[tuple[int, int]] = []

    def take(self, entry: Entry) -> None:
        """Checks a commit or snapshot against all others, and goes on to it."""
        reason = self.objection(entry)
        if reason is not None:
            raise Damage(f"{entry.key}: {reason}")
        if entry.is_snapshot:
            self.end = (entry.number, entry.predecessor)
        else:
            if self.end[0] == entry.number - 1 and self.end[1] != entry.predecessor:
                raise Damage(f"{entry.key}: it does not follow from the commit before it")
            self.end = (entry.number, entry.hash)
        self.newest = entry

    def entry(self, key: str) -> Entry | None:
        """A commit or snapshot; None when it is not there, is empty, or nobody has signed it who might."""
        if key not in self.entries:
            try:
                self.entries[key] = self.container.copy_signed(key, None)
            except (Damage, OSError):
                self.entries[key] = None
        return self.entries[key]

    def accepted(self, key: str) -> Entry | None:
        entry = self.entry(key)
        return None if entry is None or self.objection(entry) is not None else entry

    def objection(self, entry: Entry) -> str | None:
        """Why it is not believed, although it is signed."""
        if entry.key in self.refused:
            return self.refused[entry.key]
        # All that there is was written under the same keyring, of which nobody is revoked.
        if len(self.authority.versions) == 1:
            return None
        witness = self.witness(entry)
        if witness is not None and (entry.is_snapshot or not self.is_vouched(entry)):
            return (
                f"it was written under keyring {entry.version}, although {witness.key} had been under keyring "
                f"{witness.version}: somebody may have made it up with keys that were revoked"
            )
        name = self.authority.former(entry.signer)
        if name is None:
            return None
        # What follows has the hash of the commit.
        after = self.entry(commit_key(entry.number + 1))
        if entry.is_snapshot:
            own = self.entry(commit_key(entry.number))
            if (own and own.hash != entry.predecessor) or (after and after.predecessor != entry.predecessor):
                return f"it is signed by {name}, which was revoked, and is not of the commit {entry.number} of the log"
        elif after and after.predecessor != entry.hash and self.outranks(after, entry):
            return f"it is signed by {name}, which was revoked, and {after.key} follows another one"
        return None

    def outranks(self, one: Entry, other: Entry) -> bool:
        """Whether its signer was still a member when the other's was not any more."""
        return self.authority.former(one.signer) is None or self.authority.was_revoked(other.signer, one.version)

    def witness(self, entry: Entry) -> Entry | None:
        """Something before, written under a later version of the keyring.

        A snapshot of an earlier commit may rightly be so, as it is made later than the commit; but not when its signer
        knew that the other's was revoked.
        """
        if self.places is None:
            self.places = self.survey()
            self.find_highest(self.places)
        end = bisect.bisect_left(self.places, (entry.number, entry.is_snapshot))
        if end == 0 or not any(self.contradicts(entry, *claim) for claim in zip(self.highest[end - 1], (False, True))):
            return None
        for index in range(end):
            number, is_snapshot = self.places[index]
            if self.contradicts(entry, self.versions[index], is_snapshot):
                found = self.entry(snapshot_key(number) if is_snapshot else commit_key(number))
                if found is not None:
                    return found
                self.versions[index] = 0
        self.find_highest(self.places)
        return None

    def later_without(self, entry: Entry) -> str | None:
        """The first commit behind a snapshot that was written when its signer was revoked."""
        for (number, is_snapshot), version in zip(self.places or [], self.versions):
            if is_snapshot or number <= entry.number or not version:
                continue
            if self.authority.was_revoked(entry.signer, version) and self.entry(commit_key(number)) is not None:
                return commit_key(number)
        return None

    def contradicts(self, entry: Entry, version: int, is_snapshot: bool) -> bool:
        """Whether something before, under this version, is a witness."""
        return version > entry.version and (not is_snapshot or self.authority.was_revoked(entry.signer, version))

    def find_highest(self, places: list[tuple[int, bool]]) -> None:
        self.highest = []
        commits = snapshots = 0
        for version, (_, is_snapshot) in zip(self.versions, places):
            if is_snapshot:
                snapshots = max(snapshots, version)
            else:
                commits = max(commits, version)
            self.highest.append((commits, snapshots))

    def survey(self) -> list[tuple[int, bool]]:
        """Reads what all commits and snapshots say of themselves. Their signatures are verified when it matters."""
        claims = []
        for prefix in "log", "snapshot":
            try:
                names = self.container.base.sizes(prefix)
            except Damage:
                continue
            for name in names:
                if not re.fullmatch("[0-9]{20}", name) or not 0 < int(name) <= HIGHEST_NUMBER:
                    continue
                try:
                    start = self.container.read_sealed(f"{prefix}/{name}", 0, ENDORSEMENT.size)
                except (Damage, OSError):
                    continue
                if len(start) == ENDORSEMENT.size:
                    version = ENDORSEMENT.unpack(start)[2]
                    known = version if version <= len(self.authority.versions) else 0
                    claims.append((int(name), prefix == "snapshot", known))
        claims.sort()
        self.versions = [version for _, _, version in claims]
        return [(number, is_snapshot) for number, is_snapshot, _ in claims]

    def is_vouched(self, entry: Entry) -> bool:
        """Whether somebody who is a member has gone on from a commit, by way of all in between."""
        path, result = [], False
        while True:
            if entry.number in self.vouched:
                result = self.vouched[entry.number]
                break
            path.append(entry.number)
            after = self.entry(commit_key(entry.number + 1))
            if after is None or after.predecessor != entry.hash:
                break
            if self.authority.former(after.signer) is None:
                result = True
                break
            entry = after
        self.vouched.update(dict.fromkeys(path, result))
        return result

    def order(self, numbers: list[int]) -> list[int]:
        """In which order to try snapshots, given the newest first. 0 is the log from its beginning on.

        What a former member has signed is tried when the others have nothing that leads as far: what is in it, no hash
        in a commit tells.
        """
        tried: list[int] = []
        if all(member.revoked_at is None for member in self.authority.members.values()):
            return numbers
        while numbers:
            top = self.accepted(snapshot_key(numbers[0]))
            if top is not None:
                name = self.authority.former(top.signer)
                if name is None:
                    break
                base, end = self.other_base(top, numbers[1:])
                if end == top.number:
                    return [*tried, base, *numbers]
                # Without it, all before the first commit would be lost.
                if end == 0 or not self.has_gap(top):
                    break
                self.refused[top.key] = (
                    f"it is signed by {name}, which was revoked, and commits below it are gone that trimming leaves"
                )
            tried.append(numbers[0])
            numbers = numbers[1:]
        return tried + numbers

    def other_base(self, top: Entry, numbers: list[int]) -> tuple[int, int]:
        """Where to begin instead, with a snapshot of a member or none, and how far the log leads from there."""
        best = (0, 0)
        for number in [*numbers, 0]:
            entry = self.accepted(snapshot_key(number)) if number else None
            if number and (entry is None or self.authority.former(entry.signer) is not None):
                continue
            end = min(self.reach(number), top.number)
            if end == top.number:
                return number, end
            best = max(best, (number, end), key=lambda one: one[1])
        return best

    def reach(self, number: int) -> int:
        """The last of the commits that go on from another one, none missing."""
        if number not in self.reaches:
            end = number
            while self.accepted(commit_key(end + 1)) is not None:
                end += 1
            self.reaches[number] = end
        return self.reaches[number]

    def has_gap(self, snapshot: Entry) -> bool:
        """Whether commits up to a snapshot's are missing as none are that were trimmed.

        Trimming begins with the oldest, and leaves the commit of the newest snapshot, or the one after it.
        """
        if not any(self.accepted(commit_key(number)) for number in (snapshot.number, snapshot.number + 1)):
            return True
        first = next((number for number, is_snapshot in self.places or [] if not is_snapshot), snapshot.number)
        return first <= snapshot.number and self.reach(first - 1) < snapshot.number


def read_keyring(container: Container, container_id: uuid.UUID, secret: Secret) -> tuple[dict[int, bytes], Authority]:
    """Verifies all versions of the keyring, and returns the keys of the epochs, and who may write."""
    newest, founder, authority = None, b"", Authority()
    for number in range(1, KEYRING_VERSION_LIMIT + 1):
        key = f"keyring/{container_id}/{number:06}"
        try:
            ring = Keyring(read_object(container, key, KEYRING_BYTE_LIMIT), container_id, number)
            ring.check_succession(newest)
        except FileNotFoundError:
            break
        except (Damage, OSError) as error:
            refuse_keyring(key, error)
        founder = founder or ring.members[ring.maker].signing_key
        authority.add(ring)
        newest = ring
    if newest is None:
        refuse_keyring(key, "it is missing")
    try:
        return newest.open(secret, founder), authority
    except Damage as damage:
        refuse_keyring(f"keyring/{container_id}/{newest.number:06}", damage)


def refuse_keyring(key: str, reason: object) -> NoReturn:
    text = printable(f"the keyring is damaged or was exchanged: {key}: {reason}"[:LINE_LENGTH_LIMIT])
    sys.exit(f"{text}; take the objects below keyring/ from a backup")


def read_secret(passphrase_file: str | None) -> Secret:
    try:
        if passphrase_file is not None:
            with open(passphrase_file, "rb") as file:
                # Without its end, of which one CR is a part: further ones are the passphrase's.
                text = re.sub(rb"\r?\n?\Z", b"", file.readline(2 * PASSPHRASE_BYTE_LIMIT))
        else:
            # Without a terminal, it would read from standard input.
            warnings.simplefilter("error", getpass.GetPassWarning)
            given = os.environb.get(b"DEWPOINT_PASSPHRASE")
            text = given or os.fsencode(getpass.getpass("Passphrase or recovery code: "))
    except OSError as error:
        sys.exit(f"the passphrase file {passphrase_file} cannot be read: {error.strerror}")
    except (EOFError, KeyboardInterrupt, getpass.GetPassWarning):
        sys.exit("the container is encrypted: run this in a terminal, or give --passphrase-file or DEWPOINT_PASSPHRASE")
    code = recovery_code(text)
    if code is not None:
        return Secret("recovery", code)
    try:
        passphrase = text.decode("utf-8")
    except UnicodeDecodeError:
        sys.exit("the passphrase is not UTF-8, as it must be")
    # Another keyboard may spell it in other code points.
    return Secret("passphrase", unicodedata.normalize("NFC", passphrase).encode())


def recovery_code(text: bytes) -> bytes | None:
    """The bytes of a recovery code; None for another text."""
    digits = text.upper().translate(None, b"- ")
    if not re.fullmatch(rb"[0-9A-TV-Z]{56}", digits):
        return None
    data = base64.b32decode(digits.translate(CODE_DIGITS))
    return data[:32] if hashlib.sha256(data[:32]).digest()[:3] == data[32:] else None


class Sealed:
    """An encrypted container, as if it were a plain one: every byte that it gives was verified."""

    def __init__(
        self, base: Container, container_id: uuid.UUID, epoch_keys: dict[int, bytes], authority: Authority
    ) -> None:
        self.base = base
        self.container_id = container_id
        self.epoch_keys = epoch_keys
        self.authority = authority
        self.history = History(self)
        # Of each object: its key in the store, what its segments are encrypted with, its length, and that with padding.
        self.headers: dict[str, tuple[str, bytes, int, int]] = {}
        # The segments opened last.
        self.piece = ("", 0, b"")
        # The keys in the store of manifests, and what is known of those that were not asked for yet.
        self.manifests: dict[str, str] = {}
        self.unmatched: list[tuple[str, bytes, bytes]] | None = None

    def __str__(self) -> str:
        return str(self.base)

    def sizes(self, prefix: str) -> dict[str, int | None]:
        """The same as of a plain container, with padding. Manifests have the names that they have in the store."""
        return {name: self.plain_size(size) for name, size in self.base.sizes(prefix).items()}

    @staticmethod
    def plain_size(size: int | None) -> int | None:
        if size is None:
            return None
        segments = -(-(size - HEADER.size) // (SEGMENT_BYTE_COUNT + TAG_BYTE_COUNT))
        plain = size - HEADER.size - segments * TAG_BYTE_COUNT
        # What no sealed object can be is not taken for a trimmed commit.
        return plain if plain >= 0 and segments == segment_count(plain) else max(1, size)

    def open(self, key: str) -> IO[bytes]:
        """An object as in a plain container: what stands before its bytes is checked, and is not in the file."""
        file = tempfile.TemporaryFile(prefix="restore-")
        try:
            entry = self.copy_signed(key, file)
            if entry is not None and key != "container.json":
                self.history.take(entry)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    def copy_signed(self, key: str, file: IO[bytes] | None) -> Entry | None:
        """Verifies a signed object, and copies its bytes to `file`, if there is one; None for an empty object."""
        limit = SNAPSHOT_BYTE_LIMIT if key.startswith("snapshot/") else OBJECT_BYTE_LIMIT
        body, start, position = hashlib.sha256(), b"", 0
        while data := self.read_sealed(key, position, STEP_BYTE_COUNT):
            position += len(data)
            if position > ENDORSEMENT.size + limit:
                raise Damage(f"{key}: longer than {limit} bytes")
            missing = ENDORSEMENT.size - len(start)
            start, data = start + data[:missing], data[missing:]
            body.update(data)
            if file is not None:
                file.write(data)
        # An empty one takes the place of a commit that was trimmed.
        if not start:
            return None
        endorsement = self.authority.check(key, start, body.digest(), self.container_id)
        digest = hashlib.sha256()
        with self.base.open(self.stored(key)) as sealed:
            while data := sealed.read(STEP_BYTE_COUNT):
                digest.update(data)
        return Entry(key, *endorsement, digest.digest())

    def read(self, key: str, offset: int, count: int) -> bytes:
        if not SIGNED_KEY.fullmatch(key):
            return self.read_sealed(key, offset, count)
        # Signed as a whole.
        with self.open(key) as file:
            file.seek(offset)
            return file.read(count)

    def read_sealed(self, key: str, offset: int, count: int) -> bytes:
        name, start, data = self.piece
        if name != key or not start <= offset or offset + count > start + len(data):
            start = offset // SEGMENT_BYTE_COUNT * SEGMENT_BYTE_COUNT
            data = self.open_segments(key, start, offset + count)
            self.piece = (key, start, data)
        return data[offset - start : offset - start + count]

    def read_neighbour(self, key: str, offset: int, count: int) -> bytes:
        raise Damage(f"an encrypted container with the adopted object {key!r}, which no device writes")

    def open_segments(self, key: str, start: int, end: int) -> bytes:
        """The bytes from the beginning of a segment to the end of another, or of the object."""
        if key not in self.headers:
            if len(self.headers) >= HEADER_LIMIT:
                self.headers.clear()
            self.headers[key] = self.read_header(key)
        stored, object_key, byte_count, padded_byte_count = self.headers[key]
        if start >= byte_count:
            return b""
        last = segment_count(padded_byte_count) - 1
        # Who reads to the end reads the padding too: the object must have all that its header says, and no more.
        stop = last if end >= byte_count else (end - 1) // SEGMENT_BYTE_COUNT
        data = bytearray()
        for index in range(start // SEGMENT_BYTE_COUNT, stop + 1):
            position = index * SEGMENT_BYTE_COUNT
            count = min(SEGMENT_BYTE_COUNT, padded_byte_count - position) + TAG_BYTE_COUNT
            place = HEADER.size + position + index * TAG_BYTE_COUNT
            sealed = self.base.read(stored, place, count + (index == last))
            if len(sealed) != count:
                raise Damage(f"{key}: shorter or longer than it was sealed")
            nonce = index.to_bytes(11, "big") + bytes([index == last])
            data += decrypt(key, object_key, nonce, sealed)[: max(0, byte_count - position)]
        return bytes(data)

    def read_header(self, key: str) -> tuple[str, bytes, int, int]:
        stored = self.stored(key)
        try:
            secret, commitment, lengths = self.derive(self.base.read(stored, 0, HEADER.size))
        except FileNotFoundError:
            # That of the stub in plain text means that there is no container.
            if key == "container.json":
                raise Damage(f"{stored} is missing")
            raise
        except Damage as damage:
            raise Damage(f"{key}: {damage}")
        object_key = self.object_key(secret, commitment, key)
        if object_key is None:
            raise Damage(f"{key}: its header was changed, or it was sealed under another key")
        counts: tuple[int, int] = struct.unpack(">QQ", decrypt(key, object_key, bytes(11) + b"\2", lengths))
        if not counts[0] <= counts[1] <= SEALED_BYTE_LIMIT:
            raise Damage(f"{key}: {counts[0]} bytes, with padding {counts[1]}")
        return (stored, object_key, *counts)

    def derive(self, header: bytes) -> tuple[bytes, bytes, bytes]:
        """What the object's key is made of, the commitment to that key, and the encrypted lengths."""
        if len(header) != HEADER.size or header[:8] != b"DEWSEAL\2":
            raise Damage("not a sealed object, or one of another version")
        epoch, salt, commitment, lengths = HEADER.unpack(header)
        if epoch not in self.epoch_keys:
            raise Damage(f"sealed with the key of epoch {epoch}, which the keyring does not have")
        return extract(salt, self.epoch_keys[epoch]), commitment, lengths

    def object_key(self, secret: bytes, commitment: bytes, key: str) -> bytes | None:
        """What encrypts an object; None when the commitment is not that of an object with this key."""
        keys = expand(secret, b"dewpoint object v2\0" + self.container_id.bytes + key.encode(), 64)
        return keys[:32] if keys[32:] == commitment else None

    def stored(self, key: str) -> str:
        """The key in the store.

        The name of a manifest is encrypted there, with AES-GCM-SIV, which old versions of the library do not have. So it
        is found by the commitment, which fits one key only.
        """
        if key == "container.json":
            return f"keyring/{self.container_id}/container"
        if not key.startswith("manifests/"):
            return key
        if self.unmatched is None:
            self.unmatched = list(self.manifest_headers())
        if key not in self.manifests:
            for index, (stored, secret, commitment) in enumerate(self.unmatched):
                if self.object_key(secret, commitment, key) is not None:
                    self.manifests[key] = stored
                    del self.unmatched[index]
                    return stored
            raise Damage(f"{key} is missing, or its header was changed")
        return self.manifests[key]

    def manifest_headers(self) -> Iterator[tuple[str, bytes, bytes]]:
        for name in self.base.sizes("manifests"):
            try:
                secret, commitment, _ = self.derive(self.base.read(f"manifests/{name}", 0, HEADER.size))
                yield f"manifests/{name}", secret, commitment
            except (Damage, OSError):
                # Of no file, or reported as that of a file that is missing.
                continue


def segment_count(byte_count: int) -> int:
    return max(1, -(-byte_count // SEGMENT_BYTE_COUNT))


def has_keyring(container: Container) -> bool:
    try:
        return bool(container.sizes("keyring"))
    except Damage:
        return False


def is_unfinished_copy(container: Container) -> bool:
    """Whether there is what is to be its container.json when it is complete."""
    for key, expected in ("container.json", False), ("copying.json", True):
        try:
            read_object(container, key, IDENTITY_BYTE_LIMIT)
            found = True
        except FileNotFoundError:
            found = False
        except (Damage, OSError):
            found = True
        if found != expected:
            return False
    return True


def unsealed(container: Container, passphrase_file: str | None) -> Container:
    """The container as a plain one, whether it is encrypted or not."""
    try:
        stub = parse(read_object(container, "container.json", IDENTITY_BYTE_LIMIT), "container.json")
        if stub.get("format") != SEALED_FORMAT:
            if passphrase_file is not None and stub.get("format") == FORMAT:
                sys.exit(
                    f"{container} is not encrypted; if it should be, it was exchanged. Else omit --passphrase-file."
                )
            return container
        container_id = uuid.UUID(identifier(stub, "uuid"))
    except (Damage, OSError) as error:
        if is_unfinished_copy(container):
            sys.exit(f"{container} has an unfinished copy of a container: finish it with dewpoint container copy")
        # Without a keyring, it is judged as a plain one.
        if not has_keyring(container):
            return container
        text = printable(str(error)[:LINE_LENGTH_LIMIT])
        stub_text = '{"format":2,"uuid":"UUID"}'
        sys.exit(
            f"container.json of an encrypted container cannot be read: {text}; in a copy of the container, write it "
            f"again as {stub_text}, where UUID is the name of the directory in keyring/ that has 000001"
        )
    if importlib.util.find_spec("cryptography") is None:
        sys.exit(
            "the container is encrypted, which needs the Python package cryptography: apt install python3-cryptography"
        )
    return Sealed(container, container_id, *read_keyring(container, container_id, read_secret(passphrase_file)))


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
                self.report_trimmed(number)
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
        if at is None:
            self.note_newest()
        return expected - 1

    def report_trimmed(self, number: int) -> None:
        try:
            # In an encrypted container, that it is empty was told from its length.
            read_object(self.container, commit_key(number))
            self.damaged(f"commit {number} was trimmed, but no readable snapshot covers it")
        except (Damage, OSError) as error:
            self.damaged(f"commit {number}: {error}")

    def note_newest(self) -> None:
        """Says so when the newest commit is of somebody who may have made it up since he was revoked."""
        if not isinstance(self.container, Sealed):
            return
        newest = self.container.history.newest
        if newest is not None and not newest.is_snapshot:
            name = self.container.authority.former(newest.signer)
            if name is not None:
                self.note(f"{newest.key} is signed by {name}, which was revoked: nothing later confirms it")

    def read_newest_snapshot(self, at: int | None) -> int:
        """Takes the items of the newest snapshot that can be read, and returns its number; 0 when there is none."""
        names = self.sizes("snapshot")
        numbers = sorted((int(name) for name in names if re.fullmatch("[0-9]{20}", name)), reverse=True)
        numbers = [number for number in numbers if 0 < number <= HIGHEST_NUMBER and (at is None or number <= at)]
        if isinstance(self.container, Sealed):
            numbers = self.container.history.order(numbers)
        for number in numbers:
            # The log from its beginning on is better than what is left.
            if number == 0:
                return 0
            try:
                self.items = self.read_snapshot(number)
                return number
            except (Damage, OSError, sqlite3.Error) as error:
                self.damaged(f"snapshot {number}: {error}")
                self.nonce = None
        return 0

    def read_snapshot(self, number: int) -> dict[str, Item]:
        key = snapshot_key(number)
        with tempfile.NamedTemporaryFile(prefix="restore-") as file:
            with self.container.open(key) as source:
                unpack_snapshot(source, file, key)
            database = open_snapshot(file.name)
            try:
                items = self.read_rows(database, number)
            finally:
                database.close()
        if isinstance(self.container, Sealed):
            self.check_former(key, number, self.container)
        return items

    def check_former(self, key: str, number: int, container: Sealed) -> None:
        """Checks that a former member who signed a snapshot has read its commit, as far as what follows shows it."""
        entry = container.history.newest
        name = container.authority.former(entry.signer) if entry is not None else None
        if name is None:
            return
        after = commit_key(number + 1)
        if container.history.accepted(after) is not None:
            with io.BytesIO() as file:
                container.copy_signed(after, file)
                commit = parse(gunzip(file.getvalue(), after, COMMIT_TEXT_BYTE_LIMIT, COMMIT_SIGN_LIMIT), after)
            previous = identifier(commit, "previous") if commit.get("previous") is not None else None
            if previous is not None and previous != self.nonce:
                raise Damage(f"{key}: it is signed by {name}, which was revoked, and {after} is not based on it")
        later = container.history.later_without(entry) if entry is not None else None
        if later is not None:
            # It may be all that there is: what is restored is to be looked at.
            self.damaged(f"{key} is signed by {name}, which was revoked before {later}: it may be made up")
            return
        self.note(f"{key} is signed by {name}, which was revoked: nothing else shows what was in the container then")

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
        key = commit_key(number)
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
    parser.add_argument("--passphrase-file", metavar="FILE", help="its first line is the passphrase or recovery code")
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
    restore = Restore(unsealed(container, arguments.passphrase_file), arguments.keep_set_id)
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
