"""Dewpoint with an encrypted container in a directory.

A witness is a device that was enrolled, has followed the history, and has downloaded nothing; a new device is enrolled by
the passphrase when it reads.
"""

import base64
import contextlib
import functools
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping

from benchmark import machine
from benchmark.machine import Failure

from . import command, store
from .judge import Reading
from .system import Bomb, DirectoryWriter, System, Writer

IDENTIFIER = "iCloud.org.dewpoint.Encryption"
# What a maker of a keyring signs before its text; see Format.
SIGNED = b"dewpoint keyring v2\0"
WARNINGS = (" warning ", " error ", " critical ")


class Dewpoint(System):
    label = "Dewpoint"
    program, absent = "dewpoint", "it was not built"
    # See Format: "sealed object".
    header, segment = 108, 65_552
    has_witnesses = True
    always_asked = True

    @property
    def url(self) -> str:
        return f"file://{self.store}"

    @property
    def passphrase_file(self) -> str:
        return os.path.join(self.work, "passphrase")

    def version(self) -> str:
        return command.must(self.command("--version"), self.environment).strip()

    def create(self) -> None:
        with open(self.passphrase_file, "w", encoding="utf-8") as file:
            file.write(self.passphrase)
        command.must(
            self.command(
                "container", "create", self.url, "--id", IDENTIFIER, "--encrypt", "--passphrase-file",
                self.passphrase_file, "--recovery-file", os.path.join(self.work, "recovery"),
            ),
            self.environment,
        )  # fmt: skip

    def state(self, name: object) -> str:
        return os.path.join(self.work, f"state-{name}")

    @contextlib.contextmanager
    def mounted(self, point: str, state: str) -> Iterator[str]:
        """Gives what mounting has printed."""
        os.makedirs(point)
        name = os.path.basename(state)
        words = [self.url, point, "--state", state, "--device-name", name, "--passphrase-file", self.passphrase_file]
        # How long a command goes on trying, where what it gets is damaged.
        words += ["-o", "network_timeout=2s"]
        try:
            yield command.must(self.command("mount", *words), self.environment)
        finally:
            if machine.is_mounted(point):
                command.run(self.command("unmount", point), self.environment)
            machine.take_down(point)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        point = self.fresh("mount")
        with self.mounted(point, self.state("writer")):
            yield DirectoryWriter(point, lambda: self.synchronize(point))

    def synchronize(self, point: str) -> None:
        command.must(self.command("sync", point, "--wait"), self.environment)

    def inform(self, witness: int) -> None:
        point = self.fresh("mount")
        with self.mounted(point, self.state(witness)):
            self.synchronize(point)

    def kind(self, key: str) -> str:
        top = key.split("/")[0]
        if top in ("container.json", "keyring"):
            return "config"
        return "data" if top == "packs" else "metadata"

    def aliases(self, key: str) -> Collection[str]:
        top, name = key.split("/")[0], os.path.basename(key)
        if top == "log":
            return {key, f"commit {int(name)}"}
        # Its identity is sealed beside the keyring, and is called so all the same.
        if name in ("container", "container.json"):
            return {key, "container.json", "the container at"}
        return {key, "keyring"} if top == "keyring" else {key}

    def read(self, witness: int | None = None) -> Reading:
        point = self.fresh("mount")
        state = self.state(f"new-{self.count}" if witness is None else witness)
        failures, words = [], []
        files: dict[str, bytes] = {}
        errors: dict[str, str] = {}
        try:
            with self.mounted(point, state) as said:
                words.append(said)
                synced = command.run(self.command("sync", point, "--wait"), self.environment)
                words.append(synced.words)
                if synced.code:
                    failures.append(synced.last)
                files, errors = command.tree(point)
                words.append(command.run(self.command("status", point), self.environment).words)
        except Failure as problem:
            failures.append(str(problem))
        log = command.text(os.path.join(state, "daemon.log")).split("\n")
        words += [line for line in log if any(level in line for level in WARNINGS)]
        # A device is of no use any more once it has read: it has the bytes.
        for place in (state, f"{point}.read"):
            shutil.rmtree(place, ignore_errors=True)
        return Reading(files, errors, "; ".join(failures) or None, "\n".join(words))

    def set_cost(self, directory: str, bomb: Bomb) -> None:
        """Makes the first version of the keyring one with other parameters, and signs it: with a key of its own, since a
        new device cannot know the founder's before it has opened a slot."""
        place = os.path.join(directory, "keyring")
        first, *later = sorted(key for key in store.keys(place) if not key.endswith("/container"))
        for key in later:
            store.remove(place, key)
        version = json.loads(store.read(place, first))
        ring = json.loads(base64.b64decode(version["keyring"]))
        for slot in ring["slots"]:
            if cost := slot["kind"].get("passphrase", {}).get("cost"):
                cost |= {"rounds": bomb.rounds, "blockSize": bomb.block, "parallelism": bomb.parallel}
        key = self.fresh("founder")
        command.must(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], self.environment)
        words = ["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER", "-out", f"{key}.public"]
        command.must(words, self.environment)
        founder = next(member for member in ring["members"] if member["id"] == ring["maker"])
        founder["signingKey"] = base64.b64encode(store.read(self.work, f"{key}.public")[-32:]).decode()
        text = json.dumps(ring).encode()
        store.write(self.work, f"{key}.signed", SIGNED + text)
        words = [
            "openssl",
            "pkeyutl",
            "-sign",
            "-inkey",
            key,
            "-rawin",
            "-in",
            f"{key}.signed",
            "-out",
            f"{key}.signature",
        ]
        command.must(words, self.environment)
        version["keyring"] = base64.b64encode(text).decode()
        version["signature"] = base64.b64encode(store.read(self.work, f"{key}.signature")).decode()
        store.write(place, first, json.dumps(version).encode())

    def lowered(self) -> Mapping[str, Callable[[str], None]]:
        def lower_format(directory: str) -> None:
            description = json.loads(store.read(directory, "container.json"))
            description["format"] = 1
            store.write(directory, "container.json", json.dumps(description).encode())

        return {
            "scrypt of 1024 rounds": functools.partial(self.set_cost, bomb=Bomb("", 1024, 1)),
            "format 1": lower_format,
            "a plain container": self.put_plain,
        }

    def put_plain(self, directory: str) -> None:
        """Puts a plain container of the same identifier, with a file in it, in the place of the store."""
        shutil.rmtree(directory)
        command.must(self.command("container", "create", f"file://{directory}", "--id", IDENTIFIER), self.environment)
        source = self.fresh("plain")
        os.makedirs(source)
        with open(os.path.join(source, "from-the-store.txt"), "w", encoding="ascii") as file:
            file.write("never written by a member\n")
        command.must(self.command("container", "import", source, f"file://{directory}"), self.environment)

    def unlock(self) -> tuple[list[str], dict[str, str]]:
        target = self.fresh("exported")
        words = ["container", "export", self.url, target, "--passphrase-file", self.passphrase_file]
        return self.command(*words), self.environment
