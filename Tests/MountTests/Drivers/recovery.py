"""Recovers the states of lost machines and compares the container with what the machines showed.

    python3 recovery.py --binary DEWPOINT [--rounds N] [--seed N] [--work DIRECTORY] [--url URL]

Each round has a container of its own with two devices. On one of them, whose sync is paused, random things are changed;
then it is lost: killed, also in the middle of an upload, or unmounted. Its state is recovered on the other device, as
it is or as a copy, also one that looks like after a power cut. Everything that the lost device showed must then be
there: names, kinds, bytes, modes, times of files, attributes and targets of links; and nothing else.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from crashes import Device, digest

# Names that only programs that compare bytes keep apart, and names that mean something in a backing directory.
NAMES = ["a", "b c", "e\u0301", "\u00e9", "\u0301x", "\ufeffx", "\u0e33", "x\u200d", ".x.icloud", ".a.icloud",
         ".dewpoint-00112233445566778899aabbccddeeff.here", "n" * 255, "report 2.pdf", "-rf", "'", "\n"]  # fmt: skip
DIRECTORIES = ["", "d", "d/e", "\u00e9", "d/.z.icloud"]


def paths(root: str) -> Iterator[str]:
    """Everything below a directory, by path relative to it."""
    for directory, folders, files in os.walk(root):
        for name in folders + files:
            yield os.path.relpath(os.path.join(directory, name), root)


def listing(root: str) -> dict[str, list[Any]]:
    """What a program sees of each item."""
    found: dict[str, list[Any]] = {}
    for path in paths(root):
        whole = os.path.join(root, path)
        status = os.lstat(whole)
        if os.path.islink(whole):
            found[path] = ["link", os.readlink(whole)]
            continue
        attributes = {
            name: os.getxattr(whole, name).hex()
            for name in os.listxattr(whole)
            if not name.startswith("user.dewpoint.")
        }
        if os.path.isdir(whole):
            found[path] = ["directory", status.st_mode, attributes]
        else:
            with open(whole, "rb") as file:
                found[path] = ["file", status.st_mode, attributes, status.st_mtime_ns, digest(file.read())]
    return found


class Changes:
    """Random changes of a tree."""

    def __init__(self, root: str, seed: Any, deletes: bool) -> None:
        self.root, self.random, self.deletes = root, random.Random(seed), deletes

    def new(self) -> str:
        directory = self.random.choice([d for d in DIRECTORIES if os.path.isdir(os.path.join(self.root, d))])
        return os.path.join(self.root, directory, self.random.choice(NAMES))

    def pick(self, test: Callable[[str], bool]) -> str | None:
        found = sorted(path for path in (os.path.join(self.root, p) for p in paths(self.root)) if test(path))
        return self.random.choice(found) if found else None

    def file(self) -> str | None:
        return self.pick(lambda path: os.path.isfile(path) and not os.path.islink(path))

    def content(self) -> bytes:
        return self.random.randbytes(self.random.choice([0, 1, 100, 5000, 300_000]))

    def write(self) -> None:
        path = self.new()
        if os.path.lexists(path) and not os.path.isfile(path):
            return
        with open(path, "wb") as file:
            file.write(self.content())

    def append(self) -> None:
        if path := self.file():
            with open(path, "ab") as file:
                file.write(self.content())

    def patch(self) -> None:
        if path := self.file():
            with open(path, "r+b") as file:
                file.seek(self.random.randrange(1 + os.path.getsize(path)))
                file.write(b"patch")

    def truncate(self) -> None:
        if path := self.file():
            os.truncate(path, self.random.randrange(1 + 2 * os.path.getsize(path)))

    def save(self) -> None:
        if path := self.file():
            with open(path + ".new" if len(os.path.basename(path)) < 200 else path, "wb") as file:
                file.write(self.content())
            if os.path.exists(path + ".new"):
                os.rename(path + ".new", path)

    def chmod(self) -> None:
        if path := self.pick(lambda path: not os.path.islink(path)):
            executable = 0o111 if os.path.isdir(path) else 0
            os.chmod(path, self.random.choice([0o600, 0o644, 0o755, 0o640, 0o444]) | executable | 0o600)

    def attribute(self) -> None:
        if path := self.pick(lambda path: not os.path.islink(path)):
            os.setxattr(path, self.random.choice(["user.k", "user.e\u0301", "user.\u00e9"]), self.random.randbytes(9))

    def unattribute(self) -> None:
        if path := self.pick(lambda path: not os.path.islink(path)):
            for name in os.listxattr(path):
                if not name.startswith("user.dewpoint."):
                    os.removexattr(path, name)
                    return

    def utime(self) -> None:
        if path := self.file():
            os.utime(path, ns=(10**18, self.random.randrange(10**18)))

    def rename(self) -> None:
        if (old := self.pick(lambda _: True)) is None:
            return
        new = self.new()
        if os.path.lexists(new) or new.startswith(old + "/") or os.path.basename(new) in ("d", "e", "\u00e9"):
            return
        os.rename(old, new)

    def link(self) -> None:
        path = self.new()
        if not os.path.lexists(path):
            os.symlink(self.random.choice(["nowhere", "a", "\u00e9", "../x"]), path)

    def mkdir(self) -> None:
        path = os.path.join(self.root, self.random.choice(DIRECTORIES[1:]))
        if os.path.isdir(os.path.dirname(path)) and not os.path.lexists(path):
            os.mkdir(path)

    def remove(self) -> None:
        if not self.deletes:
            return
        if path := self.file():
            os.unlink(path)

    def some(self, count: int) -> None:
        kinds = [self.write] * 4 + [self.append, self.patch, self.truncate, self.save, self.chmod, self.attribute,
                                    self.unattribute, self.utime, self.rename, self.rename, self.link, self.mkdir,
                                    self.remove]  # fmt: skip
        for _ in range(count):
            self.random.choice(kinds)()


def lose(device: Device, kind: str, rng: random.Random, work: str) -> str:
    """Ends the device in one way, and returns the state to recover."""
    if kind == "unmounted":
        device.unmount()
        return device.state
    if kind == "uploading":
        device.run("resume", device.point)
        time.sleep(rng.random() * 0.3)
    device.kill()
    subprocess.run(["umount", "--lazy", device.point], timeout=30, check=True)
    if kind in ("killed", "uploading"):
        return device.state
    copy = os.path.join(work, "copy")
    subprocess.run(["cp", "-a", device.state, copy], timeout=60, check=True)
    if kind == "power cut":
        with open(os.path.join(copy, "running"), "w") as marker:
            marker.write("another-boot 1\n")
    return copy


def fail(seed: Any, kind: str, expected: Any, found: Any) -> NoReturn:
    lines = [f"seed {seed}, {kind}:"]
    for path in sorted(set(expected) | set(found)):
        if expected.get(path) != found.get(path):
            lines.append(f"  {path!r}: {expected.get(path)} became {found.get(path)}")
    raise AssertionError("\n".join(lines[:40]))


def round_of(seed: Any, options: argparse.Namespace, work: str) -> None:
    rng = random.Random(seed)
    kind = rng.choice(["killed", "killed", "uploading", "unmounted", "copied", "power cut"])
    deletes = rng.random() < 0.5
    url = f"{options.url}-{seed}" if options.url else f"file://{work}/remote"
    lost, kept = Device(options.binary, url, work, "lost"), Device(options.binary, url, work, "kept")
    kept.run("container", "create", url, "--id", "iCloud.org.dewpoint.Recovery")
    try:
        lost.mount()
        changes = Changes(lost.point, rng.random(), deletes)
        changes.some(30)
        lost.run("sync", lost.point, "--wait")
        for path in sorted(paths(lost.point)):
            if rng.random() < 0.3 and os.path.isfile(os.path.join(lost.point, path)):
                lost.run("evict", os.path.join(lost.point, path), check=False)
        lost.run("pause", lost.point)
        changes.some(rng.choice([1, 10, 40]))
        expected = listing(lost.point)
        state = lose(lost, kind, rng, work)
        before = {path: os.lstat(os.path.join(state, "files", path)).st_mtime_ns for path in paths(f"{state}/files")}
        kept.mount()
        kept.run("sync", kept.point, "--wait")
        _, text = kept.run("recover", "--json", *(["--deletions"] if deletes else []), state, kept.point)
        report = json.loads(text[text.index("{") :])
        found = listing(kept.point)
        if found != expected:
            fail(seed, kind, expected, found)
        assert not report["conflicts"] and not report["deletions"] and not report["problems"], (seed, kind, report)
        after = {path: os.lstat(os.path.join(state, "files", path)).st_mtime_ns for path in paths(f"{state}/files")}
        assert before == after, f"seed {seed}: the old state was changed"
        # Once more: nothing is left, and nothing is undone.
        kept.run("recover", *(["--deletions"] if deletes else []), state, kept.point)
        if (found := listing(kept.point)) != expected:
            fail(seed, kind + ", again", expected, found)
        left = [name for name in os.listdir(kept.state) if name.startswith("recovering")]
        assert not left, f"seed {seed}: {left} is left"
        kept.run("check", kept.point)
        kept.unmount()
    finally:
        lost.abandon()
        kept.abandon()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--work")
    parser.add_argument("--url")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.randrange(10**9)
    base = options.work or tempfile.mkdtemp(prefix="recovery-")
    print(f"{options.rounds} states from seed {first}", flush=True)
    for seed in range(first, first + options.rounds):
        work = os.path.join(base, str(seed))
        os.makedirs(work)
        round_of(seed, options, work)
        shutil.rmtree(work)
    print(f"{options.rounds} states were recovered")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
