"""Kills the daemon at random moments of a mixed load and checks after each kill that nothing was lost.

    python3 crashes.py --binary DEWPOINT [--rounds N] [--seed N] [--work DIRECTORY] [--url s3://BUCKET/PREFIX]

A model keeps the contents that every file may have. What fsync acknowledged must be there; an operation that was in
progress when the daemon died may have happened completely or not at all. At the end, everything must be in the
container: a second device, started empty, must see the same bytes.
"""

import argparse
import contextlib
import errno
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

COMMAND_SECONDS = 60
WORKER_SECONDS = 45
FILES_PER_WORKER = 24
LARGEST_BYTES = 3 << 20
LONGEST_LOAD_SECONDS = 2.0


def content(size: int, seed: Any) -> bytes:
    """Bytes that cannot be mistaken for another file's, nor for an older state of the same file."""
    return random.Random(seed).randbytes(size)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


class Device:
    """A mount of the container, with a state directory of its own."""

    def __init__(self, binary: str, url: str, work: str, name: str) -> None:
        self.binary, self.url, self.name = binary, url, name
        self.state = os.path.join(work, f"state-{name}")
        self.point = os.path.join(work, f"mount-{name}")
        self.log = open(os.path.join(work, f"log-{name}"), "ab")
        self.killed = threading.Event()
        os.makedirs(self.point, exist_ok=True)

    def run(self, *arguments: Any, check: bool = True) -> tuple[int, str]:
        result = subprocess.run(
            ["timeout", "--kill-after=5", str(COMMAND_SECONDS), self.binary, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_SECONDS + 30,
        )
        text = result.stdout.decode("utf-8", "replace").strip()
        self.log.write(f"$ {' '.join(arguments)}\n{text}\n".encode())
        self.log.flush()
        if check and result.returncode != 0:
            raise AssertionError(f"dewpoint {' '.join(arguments)}: exit status {result.returncode}: {text}")
        return result.returncode, text

    def mount(self, *options: str) -> None:
        self.killed.clear()
        self.run("mount", self.url, self.point, "--state", self.state, "--device-name", self.name, *options)

    def unmount(self) -> None:
        self.run("unmount", self.point)

    def daemon(self) -> int:
        """The process id of the daemon that serves this mount."""
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                arguments = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
                binary = os.path.basename(os.readlink(f"/proc/{entry}/exe"))
            except OSError:
                continue
            if binary == "dewpoint" and self.state.encode() in arguments:
                return int(entry)
        raise AssertionError(f"no daemon serves {self.point}")

    def kill(self) -> None:
        pid = self.daemon()
        self.killed.set()
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            if open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "Z":
                break
            time.sleep(0.01)

    def abandon(self) -> None:
        """Kills the daemon and unmounts, whatever state they are in."""
        with contextlib.suppress(AssertionError, OSError):
            os.kill(self.daemon(), signal.SIGKILL)
        subprocess.run(["umount", "--lazy", self.point], stderr=subprocess.DEVNULL, timeout=30)


class Program(threading.Thread):
    """A part of the load. It ends with the daemon; an error before that is a failure."""

    def __init__(self, device: Device) -> None:
        super().__init__(daemon=True)
        self.device, self.operations = device, 0
        self.failure: BaseException | None = None
        self.stopping = threading.Event()

    def step(self) -> None:
        raise NotImplementedError

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                self.operations += 1
                self.step()
        except (OSError, shutil.Error, sqlite3.Error) as error:
            time.sleep(0.2)
            if not self.device.killed.is_set():
                self.failure = error
        except BaseException as error:
            self.failure = error


class Resident(Program):
    """A program with a directory of its own. `sizes`: those of the files that it makes, besides random ones."""

    sizes: tuple[int, ...] = (0, 1, 500, 5000, 70_000, 300_000)
    largest = LARGEST_BYTES

    def __init__(self, device: Device, name: str, seed: Any) -> None:
        super().__init__(device)
        self.folder, self.name_, self.random = os.path.join(device.point, name), name, random.Random(seed)
        self.serial = 0

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def new_content(self) -> bytes:
        self.serial += 1
        size = self.random.choice([*self.sizes, self.random.randrange(self.largest)])
        return content(size, f"{self.name_}-{self.serial}")

    def sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def put(self, path: str, data: bytes, flags: int, synced: bool = True) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view[:65536]) :]
            if synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def evict_name(self, name: str | None) -> None:
        if name is None:
            return
        try:
            os.setxattr(self.path(name), "user.dewpoint.evict", b"1")
        except OSError as error:
            if error.errno != errno.EBUSY:  # not uploaded yet
                raise


class Worker(Resident):
    """One with a model of its directory."""

    def __init__(self, device: Device, name: str, seed: Any) -> None:
        super().__init__(device, name, seed)
        # For each name the contents it may have: digests, or None if it may be missing.
        self.model: dict[str, set[str | None]] = {}
        # Digests that one of two names must have, after a rename that was in progress.
        self.either: list[tuple[str | None, str, str]] = []

    def again(self) -> "Worker":
        """A thread for the next round, with the same model."""
        worker = Worker(self.device, self.name_, self.random.random())
        worker.model, worker.serial = self.model, self.serial
        return worker

    def step(self) -> None:
        self.random.choices(
            [self.save, self.write, self.rename, self.remove, self.evict, self.read, self.download],
            [5, 5, 3, 1, 5, 6, 2],
        )[0]()

    def known(self) -> str | None:
        names = [name for name, may in self.model.items() if may != {None}]
        return self.random.choice(names) if names else None

    def pick(self) -> str:
        return f"file-{self.random.randrange(FILES_PER_WORKER):02}"

    def settle(self, name: str, *digests: str | None) -> None:
        self.model[name] = set(digests)

    def save(self) -> None:
        """Saves as editors do: a temporary file, fsync, rename over the old file."""
        name, data = self.pick(), self.new_content()
        self.model[name] = self.model.get(name, {None}) | {digest(data)}
        self.put(self.path("saving~"), data, os.O_TRUNC)
        os.rename(self.path("saving~"), self.path(name))
        self.sync_folder()
        self.settle(name, digest(data))

    def write(self) -> None:
        """Writes a new file in place; its content is undetermined until fsync returns."""
        name, data = self.pick(), self.new_content()
        if self.model.get(name, {None}) != {None}:
            return
        self.model[name] = {"anything"}
        self.put(self.path(name), data, os.O_EXCL)
        self.sync_folder()
        self.settle(name, digest(data))

    def rename(self) -> None:
        old, new = self.known(), self.pick()
        if old is None or old == new or len(self.model[old]) != 1:
            return
        (moving,) = self.model[old]
        before = self.model.get(new, {None})
        self.model[old], self.model[new] = {moving, None}, before | {moving}
        self.either.append((moving, old, new))
        os.rename(self.path(old), self.path(new))
        self.sync_folder()
        self.either.pop()
        self.settle(old, None)
        self.settle(new, moving)

    def remove(self) -> None:
        name = self.known()
        if name is None:
            return
        self.model[name] = self.model[name] | {None}
        os.unlink(self.path(name))
        self.sync_folder()
        self.settle(name, None)

    def evict(self) -> None:
        self.evict_name(self.known())

    def download(self) -> None:
        if (name := self.known()) is not None:
            os.setxattr(self.path(name), "user.dewpoint.download", b"1")

    def read(self) -> None:
        if (name := self.known()) is not None:
            self.check(name)

    def check(self, name: str) -> str | None:
        """Checks that a name has one of the contents that the model allows, and records which one."""
        allowed = self.model[name]
        try:
            with open(self.path(name), "rb") as file:
                found = digest(file.read())
        except FileNotFoundError:
            found = None
        if found not in allowed and "anything" not in allowed:
            raise AssertionError(f"{self.path(name)}: {found}, but it must be one of {allowed}")
        self.settle(name, found)
        return found

    def check_all(self) -> None:
        found = {name: self.check(name) for name in list(self.model)}
        for moving, old, new in self.either:
            if moving not in (found[old], found[new]):
                raise AssertionError(f"{self.folder}: {moving} is lost between {old} and {new}")
        self.either = []
        listed = set(os.listdir(self.folder)) - {"saving~"}
        present = {name for name, digest in found.items() if digest is not None}
        if listed != present:
            raise AssertionError(f"{self.folder}: listed {sorted(listed)}, but must be {sorted(present)}")


class Copier(Program):
    """Copies and renames whole directories without fsync: only the directory tree must stay readable."""

    def __init__(self, device: Device, source: str) -> None:
        super().__init__(device)
        self.root, self.source = os.path.join(device.point, "copies"), source

    def again(self) -> "Copier":
        return Copier(self.device, self.source)

    def step(self) -> None:
        one, two = os.path.join(self.root, "copy"), os.path.join(self.root, "copied")
        shutil.rmtree(one, ignore_errors=True)
        shutil.copytree(self.source, one, symlinks=True)
        shutil.rmtree(two, ignore_errors=True)
        os.rename(one, two)

    def check_all(self) -> None:
        """Everything must be readable; which of the copies exist is not guaranteed."""
        read_tree(self.root)


def read_tree(root: str) -> dict[str, str]:
    tree = {}
    for folder, folders, files in os.walk(root, onerror=raise_it):
        for name in folders + files:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if os.path.islink(path):
                tree[relative] = "-> " + os.readlink(path)
            elif os.path.isdir(path):
                tree[relative] = "/"
            else:
                with open(path, "rb") as file:
                    tree[relative] = digest(file.read())
    return tree


def raise_it(error: OSError) -> NoReturn:
    raise error


def small_tree(work: str) -> str:
    source = os.path.join(work, "source")
    os.makedirs(os.path.join(source, "inner"))
    for number in range(40):
        with open(os.path.join(source, "inner" if number % 2 else "", f"n{number}"), "wb") as file:
            file.write(content(number * 300, number))
    os.symlink("inner/n1", os.path.join(source, "link"))
    return source


def round_of(device: Device, workers: Any, rng: random.Random) -> tuple[float, int]:
    for worker in workers:
        worker.start()
    time.sleep(rng.uniform(0.05, LONGEST_LOAD_SECONDS))
    device.kill()
    for worker in workers:
        worker.join(WORKER_SECONDS)
        if worker.is_alive():
            raise AssertionError("a program hangs although the daemon is dead")
        if worker.failure is not None:
            raise worker.failure
    started = time.monotonic()
    device.mount()
    took = time.monotonic() - started
    device.run("check", device.point)
    for worker in workers:
        worker.check_all()
    return took, sum(worker.operations for worker in workers)


def upload_everything(device: Device) -> None:
    status, text = device.run("sync", device.point, "--wait", check=False)
    if status != 0:
        # The deletions of many quick rounds count as one run: a mass delete, which is held.
        assert "held because" in text, text
        device.run("confirm", device.point)
        device.run("sync", device.point, "--wait")


def run(options: argparse.Namespace, work: str) -> None:
    url = options.url
    if url is None:
        remote = os.path.join(work, "remote")
        os.makedirs(remote)
        url = "file://" + remote
    rng = random.Random(options.seed)
    device, second = (Device(options.binary, url, work, name) for name in ("A", "B"))
    try:
        device.run("container", "create", url, "--id", "iCloud.org.dewpoint.Crashes")
        device.mount()
        workers: list[Worker | Copier] = []
        for number in range(3):
            os.mkdir(os.path.join(device.point, f"worker-{number}"))
            workers.append(Worker(device, f"worker-{number}", rng.random()))
        os.mkdir(os.path.join(device.point, "copies"))
        workers.append(Copier(device, small_tree(work)))
        for number in range(options.rounds):
            took, operations = round_of(device, workers, rng)
            print(f"kill {number + 1}: after {operations} operations; mounted again in {took:.2f} s", flush=True)
            workers = [worker.again() for worker in workers]
        upload_everything(device)
        second.mount()
        second.run("sync", second.point, "--wait")
        ours, theirs = read_tree(device.point), read_tree(second.point)
        wrong = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
        assert not wrong, f"the second device differs in {sorted(wrong)[:10]}"
        second.run("check", second.point)
        second.unmount()
        device.unmount()
        print(f"{options.rounds} kills survived; {len(ours)} items are the same on a second device")
    finally:
        device.abandon()
        second.abandon()


def attempt(options: argparse.Namespace, work: str, run: Callable[[argparse.Namespace, str], None], kept: str) -> None:
    """Runs a test in a directory, which stays when it fails."""
    os.makedirs(work, exist_ok=True)
    try:
        run(options, work)
    except AssertionError as error:
        print(f"FAILED: {error}\n{kept} are kept in {work}", file=sys.stderr)
        sys.exit(1)
    if not options.work:
        shutil.rmtree(work, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--work", help="a directory to work in, which is kept; default: a temporary one")
    parser.add_argument("--url", help="where the container is made; default: a directory below the one to work in")
    options = parser.parse_args()
    work = options.work or tempfile.mkdtemp(prefix="dewpoint-crashes-")
    print(f"seed {options.seed}, {options.rounds} rounds, in {work}", flush=True)
    attempt(options, work, run, "The state, the container and the logs")


if __name__ == "__main__":
    main()
