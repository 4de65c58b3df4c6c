"""What restore.py takes from encrypted containers of which former members made something up.

    python3 sealed_histories.py --restore restore.py --work DIRECTORY

Makes containers as the page "The container format" describes them, with Python and its package cryptography alone. Devices
A and B write commits; B is revoked, and has kept its keys, those of the first epoch, and the right to write to the store.
Prints a line for each case that fails, and `N cases` at the end.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gzip
import hashlib
import hmac
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import uuid
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ROOT = "00000000-0000-0000-0000-000000000000"
SEGMENT = 65_536
# Crockford's digits, by those of RFC 4648.
DIGITS = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ")
PASSPHRASE = b"a passphrase of some length"
SECONDS = 120


def expand(key: bytes, info: bytes, count: int, salt: bytes | None = None) -> bytes:
    """HKDF-SHA256; without a salt, its second half."""
    if salt is not None:
        key = hmac.digest(salt, key, "sha256")
    data = block = b""
    while len(data) < count:
        block = hmac.digest(key, block + info + bytes([len(data) // 32 + 1]), "sha256")
        data += block
    return data[:count]


def raw(key: Any) -> bytes:
    data: bytes = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return data


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def wrap(public: bytes, secret: bytes, info: bytes) -> tuple[bytes, bytes]:
    """HPKE in base mode: the encapsulated key and the ciphertext."""
    kem, suite = b"HPKE-v1KEM\x00\x20", b"HPKE-v1HPKE\x00\x20\x00\x01\x00\x02"

    def labeled(name: bytes, key: bytes, label: bytes, context: bytes, count: int) -> bytes:
        return expand(key, count.to_bytes(2, "big") + name + label + context, count)

    def extract(salt: bytes, key: bytes) -> bytes:
        return hmac.digest(salt, key, "sha256")

    ephemeral = X25519PrivateKey.generate()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(public))
    prk = extract(b"", kem + b"eae_prk" + shared)
    shared = labeled(kem, prk, b"shared_secret", raw(ephemeral) + public, 32)
    context = b"\0" + extract(b"", suite + b"psk_id_hash") + extract(b"", suite + b"info_hash" + info)
    secret_key = extract(shared, suite + b"secret")
    key, nonce = (labeled(suite, secret_key, name, context, n) for name, n in ((b"key", 32), (b"base_nonce", 12)))
    return raw(ephemeral), AESGCM(key).encrypt(nonce, secret, b"")


class Member:
    def __init__(self, name: str, role: str, private: bytes | None = None) -> None:
        self.id = uuid.uuid4()
        self.name, self.role = name, role
        self.private = private or os.urandom(64)
        self.agreement = X25519PrivateKey.from_private_bytes(self.private[:32])
        self.signing = Ed25519PrivateKey.from_private_bytes(self.private[32:])
        self.revoked_at: int | None = None


class Commit(NamedTuple):
    nonce: str
    hash: bytes


class Container:
    """One that A has founded, with B as a member, and two that stand for a passphrase and a recovery code."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.uuid = uuid.uuid4()
        self.key = os.urandom(32)
        self.epochs = [os.urandom(32)]
        self.code = os.urandom(32)
        private = expand(self.code, self.purpose(b"recovery"), 96, b"")[32:]
        self.a, self.b = Member("A", "writer"), Member("B", "writer")
        self.passphrase, self.recovery = Member("passphrase", "person"), Member("code", "person", private)
        self.members = [self.a, self.b, self.passphrase, self.recovery]
        self.rings: list[bytes] = []
        self.commits: dict[int, Commit] = {}
        os.makedirs(path)
        self.add_ring()
        self.write("container.json", json.dumps({"format": 2, "uuid": str(self.uuid).upper()}).encode())
        settings = {"documentScopePublic": True, "folderLevels": "any", "name": "x"}
        identity = {"created": 1, "format": 1, "id": "iCloud.x", "settings": settings, "uuid": str(uuid.uuid4())}
        body = json.dumps(identity).encode()
        signed = self.endorsed("container.json", body, self.a, 1, bytes(32))
        self.write(f"keyring/{self.uuid}/container", self.sealed("container.json", signed, 1))
        self.pack = str(uuid.uuid4())
        self.bytes = os.urandom(150_000)
        self.write(f"packs/{self.pack}", self.sealed(f"packs/{self.pack}", self.bytes, 1))

    def write(self, key: str, data: bytes) -> None:
        path = os.path.join(self.path, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def purpose(self, name: bytes) -> bytes:
        return b"dewpoint " + name + b" v2\0" + self.uuid.bytes

    # The keyring

    def revoke(self, member: Member) -> None:
        self.epochs.append(os.urandom(32))
        member.revoked_at = len(self.epochs)
        self.add_ring()

    def add_ring(self) -> None:
        """Adds a version of the keyring, made by A."""
        ring_key = os.urandom(32)
        secrets = self.key + b"".join(struct.pack(">I", n) + key for n, key in enumerate(self.epochs, 1))
        nonce = os.urandom(12)
        slots = [self.slot(member, ring_key) for member in self.members if member.revoked_at is None]
        number = len(self.rings) + 1
        ring = {
            "format": 2,
            "container": str(self.uuid).upper(),
            "number": number,
            "maker": str(self.a.id).upper(),
            "made": 1,
            "epoch": len(self.epochs),
            "members": [self.entry(member) for member in self.members],
            "slots": slots,
            "secrets": text(nonce + AESGCM(ring_key).encrypt(nonce, secrets, self.purpose(b"ring"))),
        }
        if self.rings:
            ring["previous"] = text(hashlib.sha256(self.rings[-1]).digest())
        shell = json.dumps(ring).encode()
        mac = hmac.digest(expand(self.key, self.purpose(b"keyring"), 32, b""), shell, "sha256")
        signature = self.a.signing.sign(b"dewpoint keyring v2\0" + shell)
        data = json.dumps({"keyring": text(shell), "mac": text(mac), "signature": text(signature)}).encode()
        self.rings.append(data)
        self.write(f"keyring/{self.uuid}/{number:06}", data)

    def entry(self, member: Member) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "id": str(member.id).upper(),
            "name": member.name,
            "agreementKey": text(raw(member.agreement)),
            "signingKey": text(raw(member.signing)),
            "role": member.role,
            "enrolledBy": str(self.a.id).upper(),
        }
        if member.revoked_at is not None:
            entry["revokedAt"] = member.revoked_at
        return entry

    def slot(self, member: Member, ring_key: bytes) -> dict[str, Any]:
        encapsulated, wrapped = wrap(raw(member.agreement), ring_key, self.purpose(b"slot"))
        root, nonce, member_id = self.key + raw(self.a.signing), os.urandom(12), str(member.id).upper()
        kind: dict[str, Any] = {"device": {"_0": member_id}}
        if member is self.recovery:
            context = self.purpose(b"recovery")
            key = expand(self.code, context, 96, b"")[:32]
            kind = {
                "recovery": {"member": member_id, "wrapped": text(AESGCM(key).encrypt(nonce, root, context) + nonce)}
            }
        elif member is self.passphrase:
            salt, context = os.urandom(32), self.purpose(b"passphrase")
            key = hashlib.scrypt(PASSPHRASE, salt=salt, n=1 << 17, r=8, p=1, maxmem=1 << 28, dklen=32)
            sealed = AESGCM(key).encrypt(nonce, root + member.private, context) + nonce
            cost = {"rounds": 1 << 17, "blockSize": 8, "parallelism": 1}
            kind = {"passphrase": {"member": member_id, "cost": cost, "salt": text(salt), "wrapped": text(sealed)}}
        return {
            "kind": kind,
            "publicKey": text(raw(member.agreement)),
            "encapsulated": text(encapsulated),
            "wrapped": text(wrapped),
        }

    # Objects

    def sealed(self, key: str, data: bytes, epoch: int) -> bytes:
        padded = -(-len(data) // 4096) * 4096 if key.startswith("log/") else padme(len(data))
        salt = os.urandom(32)
        info = self.purpose(b"object") + key.encode()
        keys = expand(self.epochs[epoch - 1], info, 64, salt)
        cipher = AESGCM(keys[:32])
        lengths = cipher.encrypt(bytes(11) + b"\2", struct.pack(">QQ", len(data), padded), b"")
        result: bytes = b"DEWSEAL\2" + struct.pack(">I", epoch) + salt + keys[32:] + lengths
        data += bytes(padded - len(data))
        count = max(1, -(-padded // SEGMENT))
        for index in range(count):
            nonce = index.to_bytes(11, "big") + bytes([index == count - 1])
            result += cipher.encrypt(nonce, data[index * SEGMENT : (index + 1) * SEGMENT], b"")
        return result

    def endorsed(self, key: str, body: bytes, signer: Member, ring: int, predecessor: bytes) -> bytes:
        head = signer.id.bytes + struct.pack(">Q", ring) + hashlib.sha256(self.rings[ring - 1]).digest() + predecessor
        statement = self.purpose(b"history") + head + hashlib.sha256(body).digest() + key.encode()
        signature: bytes = signer.signing.sign(statement)
        return b"DEWSIGN\2" + head + signature + body

    def epoch(self, ring: int) -> int:
        epoch: int = json.loads(base64.b64decode(json.loads(self.rings[ring - 1])["keyring"]))["epoch"]
        return epoch

    # The history

    def record(self, name: str) -> dict[str, Any]:
        chunks = [{"byteCount": len(self.bytes), "hash": hashlib.sha256(self.bytes).hexdigest()}]
        return {
            "id": str(uuid.uuid5(self.uuid, name)),
            "parent": ROOT,
            "name": name,
            "kind": "file",
            "mode": 0o644,
            "modified": 1,
            "size": len(self.bytes),
            "xattrs": {},
            "device": str(uuid.uuid4()),
            "base": 0,
            "content": {"runs": [{"pack": self.pack, "offset": 0, "chunks": chunks}]},
        }

    def commit(self, number: int, signer: Member, ring: int, after: Commit | None = None) -> Commit:
        """Writes a commit with a file `fN`."""
        before = after or self.commits.get(number - 1)
        nonce = str(uuid.uuid4())
        members: dict[str, Any] = {"format": 1, "sequence": number, "device": str(uuid.uuid4()), "deviceName": "x"}
        members |= {"time": 1, "nonce": nonce, "records": [self.record(f"f{number}")], "tombstones": []}
        if before is not None:
            members["previous"] = before.nonce
        key = f"log/{number:020}"
        body = gzip.compress(json.dumps(members).encode(), 0)
        signed = self.endorsed(key, body, signer, ring, before.hash if before else bytes(32))
        data = self.sealed(key, signed, self.epoch(ring))
        self.write(key, data)
        self.commits[number] = Commit(nonce, hashlib.sha256(data).digest())
        return self.commits[number]

    def empty(self, *numbers: int, epoch: int = 1) -> None:
        for number in numbers:
            key = f"log/{number:020}"
            self.write(key, self.sealed(key, b"", epoch))

    def snapshot(
        self, number: int, names: Sequence[str], signer: Member, ring: int, commit: Commit | None = None
    ) -> None:
        """Writes a snapshot with some files, of the commit with this number unless it is given.

        The column `record`, which only devices read, is empty.
        """
        commit = commit or self.commits[number]
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            database.executescript("""
                CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value);
                CREATE TABLE items(item BLOB NOT NULL, parent BLOB NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL,
                    mode INTEGER NOT NULL, modified INTEGER NOT NULL, size INTEGER NOT NULL, target TEXT, content BLOB,
                    manifest BLOB, conflicts BLOB, record BLOB NOT NULL, number INTEGER NOT NULL);
                CREATE TABLE xattrs(item BLOB NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL);""")
            meta = {"format": 1, "container": "iCloud.x", "number": number, "time": 1, "items": len(names)}
            meta |= {"device": str(uuid.uuid4()), "nonce": commit.nonce}
            database.executemany("INSERT INTO meta VALUES(?, ?)", meta.items())
            chunk = hashlib.sha256(self.bytes).digest() + struct.pack("<I", len(self.bytes))
            run = b"\1" + uuid.UUID(self.pack).bytes + struct.pack("<qI", 0, 1) + chunk
            for name in names:
                row = (uuid.uuid5(self.uuid, name).bytes, bytes(16), name, 0, 0o644, 1, len(self.bytes))
                content = struct.pack("<BI", 1, 1) + run
                values = (*row, None, content, None, None, b"", number)
                database.execute(f"INSERT INTO items VALUES({', '.join('?' * 13)})", values)
            database.commit()
            data = self.file(database)
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        body = b"\x1f\x8b\x08\x10\0\0\0\0\0\xff" + hashlib.sha256(data).hexdigest().encode() + b"\0"
        body += packer.compress(data) + packer.flush() + struct.pack("<II", zlib.crc32(data), len(data))
        key = f"snapshot/{number:020}"
        self.write(key, self.sealed(key, self.endorsed(key, body, signer, ring, commit.hash), self.epoch(ring)))

    def file(self, database: sqlite3.Connection) -> bytes:
        path = self.path + ".sqlite"
        with contextlib.closing(sqlite3.connect(path)) as copy:
            database.backup(copy)
        with open(path, "rb") as file:
            data = file.read()
        os.remove(path)
        return data


def padme(count: int) -> int:
    if count < 2:
        return count
    exponent = count.bit_length() - 1
    mask = (1 << max(0, exponent - exponent.bit_length())) - 1
    return (count + mask) & ~mask


# Cases. Each makes a container, and says which files there are, and what is reported.


class Expected(NamedTuple):
    numbers: Sequence[int]
    # What begins the lines that are printed, without what follows their keys.
    damaged: Sequence[str] = ()
    notes: Sequence[str] = ()


SNAPSHOT, LOG = "snapshot/%020d", "log/%020d"
GONE = "it is signed by B, which was revoked, and commits below it are gone that trimming leaves"
NOTHING_ELSE = "is signed by B, which was revoked: nothing else shows what was in the container then"
NOTHING_LATER = "is signed by B, which was revoked: nothing later confirms it"


def overtaken(key: str, witness: str, ring: int = 1, later: int = 2) -> str:
    return (
        f"{key}: it was written under keyring {ring}, although {witness} had been under keyring {later}: somebody may "
        "have made it up with keys that were revoked"
    )


def old_history(c: Container, *snapshots: int) -> None:
    """Commits 1 to 3 of A and B under the first keyring, and B's revocation."""
    for number, signer in ((1, c.a), (2, c.b), (3, c.b)):
        c.commit(number, signer, 1)
        if number in snapshots:
            c.snapshot(number, [f"f{n}" for n in range(1, number + 1)], c.b, 1)
    c.revoke(c.b)


def a_trimmed_log(c: Container) -> Expected:
    c.commit(1, c.a, 1)
    c.commit(2, c.b, 1)
    c.snapshot(2, ["f1", "f2"], c.a, 1)
    c.empty(1, 2)
    c.commit(3, c.b, 1)
    return Expected([1, 2, 3])


def snapshots_of_a_revoked_device(c: Container) -> Expected:
    old_history(c, 2, 3)
    c.empty(1, 2)
    c.commit(4, c.a, 2)
    return Expected(
        [1, 2, 3, 4], [f"{SNAPSHOT % 3} is signed by B, which was revoked before {LOG % 4}: it may be made up"]
    )


def a_revoked_device_and_nothing_since(c: Container) -> Expected:
    old_history(c, 2)
    c.empty(1, 2)
    return Expected([1, 2, 3], notes=[f"{SNAPSHOT % 2} {NOTHING_ELSE}", f"{LOG % 3} {NOTHING_LATER}"])


def a_snapshot_of_which_the_log_has_all(c: Container) -> Expected:
    """From the older snapshot of A on, all is there, so that nobody needs to believe B's."""
    c.commit(1, c.a, 1)
    c.snapshot(1, ["f1"], c.a, 1)
    c.commit(2, c.b, 1)
    c.commit(3, c.b, 1)
    c.snapshot(3, [], c.b, 1)
    c.empty(1)
    c.revoke(c.b)
    c.commit(4, c.a, 2)
    return Expected([1, 2, 3, 4])


def a_keyring_of_which_commits_learn_later(c: Container) -> Expected:
    """A has made a snapshot under a new keyring before B had read it, who goes on under the old one."""
    c.commit(1, c.a, 1)
    c.add_ring()
    c.snapshot(1, ["f1"], c.a, 2)
    c.commit(2, c.b, 1)
    c.snapshot(2, ["f1", "f2"], c.b, 1)
    c.empty(1)
    c.commit(3, c.b, 2)
    return Expected([1, 2, 3])


def commits_that_a_member_has_gone_on_from(c: Container) -> Expected:
    """A has made a snapshot of an earlier commit after B was revoked, and has then gone on from B's last ones."""
    old_history(c)
    c.snapshot(1, ["f1"], c.a, 2)
    c.empty(1, epoch=2)
    c.commit(4, c.a, 2)
    return Expected([1, 2, 3, 4])


def a_snapshot_made_up_at_the_end(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.snapshot(5, [], c.b, 1, Commit(str(uuid.uuid4()), os.urandom(32)))
    c.empty(5)
    return Expected(
        [1, 2, 3, 4],
        [f"snapshot 5: {overtaken(SNAPSHOT % 5, LOG % 4)}", "commit 5 was trimmed, but no readable snapshot covers it"],
    )


def a_snapshot_made_up_of_the_newest_commit(c: Container) -> Expected:
    """Which is sealed for others, but its hash is known; the log is cut below, so that snapshots are looked at."""
    old_history(c)
    c.snapshot(3, ["f1", "f2", "f3"], c.a, 2)
    c.empty(1, 2)
    c.commit(4, c.a, 2)
    c.snapshot(4, [], c.b, 1)
    return Expected([1, 2, 3, 4], [f"snapshot 4: {overtaken(SNAPSHOT % 4, SNAPSHOT % 3)}"])


def a_snapshot_made_up_after_that_of_a_member(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.snapshot(4, ["f1", "f2", "f3", "f4"], c.a, 2)
    c.empty(1, 2, 3, 4, 5)
    c.snapshot(5, [], c.b, 1, Commit(str(uuid.uuid4()), os.urandom(32)))
    reason = overtaken(SNAPSHOT % 5, SNAPSHOT % 4)
    return Expected([1, 2, 3, 4], [f"snapshot 5: {reason}", "commit 5 was trimmed, but no readable snapshot covers it"])


def a_snapshot_made_up_before_anything_new(c: Container) -> Expected:
    old_history(c)
    c.snapshot(4, [], c.b, 1, Commit(str(uuid.uuid4()), os.urandom(32)))
    c.empty(4)
    return Expected(
        [1, 2, 3],
        [f"snapshot 4: {SNAPSHOT % 4}: {GONE}", "commit 4 was trimmed, but no readable snapshot covers it"],
        [f"{LOG % 3} {NOTHING_LATER}"],
    )


def a_snapshot_made_up_of_an_old_commit(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.snapshot(3, [], c.b, 1)
    c.empty(3)
    return Expected(
        [1, 2, 4], [f"snapshot 3: {SNAPSHOT % 3}: {GONE}", "commit 3 was trimmed, but no readable snapshot covers it"]
    )


def a_snapshot_made_up_after_an_older_one_of_a_member(c: Container) -> Expected:
    """Commit 3 is emptied, while 2 is there, which is older."""
    c.commit(1, c.a, 1)
    c.snapshot(1, ["f1"], c.a, 1)
    for number in 2, 3, 4:
        c.commit(number, c.a, 1)
    c.revoke(c.b)
    c.commit(5, c.a, 2)
    c.snapshot(4, [], c.b, 1)
    c.empty(1, 3)
    return Expected(
        [1, 2, 4, 5],
        [f"snapshot 4: {SNAPSHOT % 4}: {GONE}", "commit 3 was trimmed, but no readable snapshot covers it"],
    )


def a_snapshot_made_up_of_a_commit_that_its_maker_cannot_read(c: Container) -> Expected:
    """All that is older is emptied; what follows names the nonce of a commit that is sealed under the next epoch."""
    old_history(c)
    c.commit(4, c.a, 2)
    c.commit(5, c.a, 2)
    c.snapshot(4, [], c.b, 1, Commit(str(uuid.uuid4()), c.commits[4].hash))
    c.empty(1, 2, 3, 4)
    key = SNAPSHOT % 4
    return Expected(
        [5],
        [
            f"snapshot 4: {key}: it is signed by B, which was revoked, and {LOG % 5} is not based on it",
            *(f"commit {n} was trimmed, but no readable snapshot covers it" for n in (1, 2, 3, 4)),
        ],
    )


def a_snapshot_made_up_of_another_commit(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.snapshot(3, [], c.b, 1, Commit(c.commits[3].nonce, os.urandom(32)))
    c.empty(1)
    key = SNAPSHOT % 3
    return Expected(
        [2, 3, 4],
        [
            f"snapshot 3: {key}: it is signed by B, which was revoked, and is not of the commit 3 of the log",
            "commit 1 was trimmed, but no readable snapshot covers it",
        ],
    )


def a_commit_made_up_at_the_end(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.commit(5, c.b, 1)
    return Expected([1, 2, 3, 4], [f"commit 5: {overtaken(LOG % 5, LOG % 4)}"])


def a_commit_made_up_behind_a_gap(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    c.commit(6, c.b, 1, Commit(str(uuid.uuid4()), os.urandom(32)))
    return Expected([1, 2, 3, 4], ["log: commits 5 to 5 are missing", f"commit 6: {overtaken(LOG % 6, LOG % 4)}"])


def a_commit_made_up_in_the_place_of_another(c: Container) -> Expected:
    old_history(c)
    c.commit(4, c.a, 2)
    genuine = c.commits[3]
    c.commit(3, c.b, 1)
    c.commits[3] = genuine
    key = LOG % 3
    return Expected(
        [1, 2, 4], [f"commit 3: {key}: it is signed by B, which was revoked, and {LOG % 4} follows another one"]
    )


def a_commit_of_a_former_passphrase(c: Container) -> Expected:
    c.commit(1, c.a, 1)
    former = Member("old passphrase", "person")
    c.members.append(former)
    c.add_ring()
    c.revoke(former)
    c.commit(2, c.a, 3)
    c.commit(3, former, 2)
    return Expected([1, 2], [f"commit 3: {overtaken(LOG % 3, LOG % 2, 2, 3)}"])


CASES: list[Callable[[Container], Expected]] = [
    a_trimmed_log,
    snapshots_of_a_revoked_device,
    a_revoked_device_and_nothing_since,
    a_snapshot_of_which_the_log_has_all,
    a_keyring_of_which_commits_learn_later,
    commits_that_a_member_has_gone_on_from,
    a_snapshot_made_up_at_the_end,
    a_snapshot_made_up_of_the_newest_commit,
    a_snapshot_made_up_after_that_of_a_member,
    a_snapshot_made_up_before_anything_new,
    a_snapshot_made_up_of_an_old_commit,
    a_snapshot_made_up_after_an_older_one_of_a_member,
    a_snapshot_made_up_of_a_commit_that_its_maker_cannot_read,
    a_snapshot_made_up_of_another_commit,
    a_commit_made_up_at_the_end,
    a_commit_made_up_behind_a_gap,
    a_commit_made_up_in_the_place_of_another,
    a_commit_of_a_former_passphrase,
]


def run(script: str, secret: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, script, *arguments]
    variables = {**os.environ, "DEWPOINT_PASSPHRASE": secret}
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=variables, check=False)


def failures(case: Callable[[Container], Expected], script: str, path: str) -> list[str]:
    container = Container(path)
    expected = case(container)
    checked = container.code + hashlib.sha256(container.code).digest()[:3]
    code = base64.b32encode(checked).translate(DIGITS).decode()
    found = []
    lines = [f"damaged: {line}" for line in expected.damaged] + [f"note: {line}" for line in expected.notes]
    # The passphrase takes some tenths of a second.
    secrets = [code, PASSPHRASE.decode()] if case is a_trimmed_log else [code]
    for secret in secrets:
        output = path + ".output"
        for arguments in ([path, output], [path, "--verify-only"]):
            result = run(script, secret, *arguments)
            if result.returncode != (1 if expected.damaged else 0):
                found.append(f"status {result.returncode}: {result.stdout}{result.stderr}")
            if sorted(result.stderr.splitlines()) != sorted(lines):
                found.append("reported:\n" + result.stderr)
        names = sorted(os.listdir(output)) if os.path.isdir(output) else []
        if names != sorted(f"f{number}" for number in expected.numbers):
            found.append(f"has {names}")
        for name in names:
            with open(os.path.join(output, name), "rb") as file:
                if file.read() != container.bytes:
                    found.append(f"{name} has other bytes")
        shutil.rmtree(output, ignore_errors=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--restore", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    arguments = parser.parse_args()
    chosen = [case for case in CASES if not arguments.cases or case.__name__ in arguments.cases]
    status = 0
    for case in chosen:
        path = os.path.join(arguments.work, case.__name__)
        for failure in failures(case, arguments.restore, path):
            print(f"{case.__name__}: {failure}")
            status = 1
        shutil.rmtree(path)
    print(f"{len(chosen)} cases")
    sys.exit(status)


if __name__ == "__main__":
    main()
