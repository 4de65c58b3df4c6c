"""Cuts the power under a mixed load repeatedly, and compares what is on the disk afterwards with what was fsynced.

    python3 powercuts.py --binary DEWPOINT --disk POWERCUT_DISK --restore restore.py
                         [--rounds N] [--series N] [--seconds N] [--file-system ext4|xfs|btrfs] [--seed N]
                         [--work DIRECTORY] [--encrypted]

State, container or both are on a file system on a loop device on a disk with a volatile write cache
(Sources/powercut-disk). In each round, programs work on the mount, each in a directory of its own and with a model of
what each name may be; the power is cut; the disk is mounted again, and so is the container. What fsync acknowledged
must be there: bytes after an fsync of the file, names after an fsync of the file or the directory. Removed names must
not reappear. This holds for this device, for a second one, and for the output of restore.py. After the last round of a
disk the device is lost, and its state is recovered on the second one, where the same must hold. Some of the containers
are encrypted: their keys are changed as well, by devices that no longer know the passphrase. Needs root.
"""

import argparse
import faulthandler
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import crashes
from crashes import Device, Resident, content, digest, read_tree
from key_changes import KeyChanges, Keys
from waiting import eventually

DISK_BYTES = 1 << 30
# After this many rounds, everything is created anew, with another choice of what is on the disk.
ROUNDS_PER_SERIES = 10
# About as long as a round takes.
ROUND_SECONDS = 3
PLACES = ["state", "both", "container"]
ENCRYPTED_SHARE = 0.3
WORKERS = 3
NAMES_PER_WORKER = 16
LARGEST_BYTES = 200_000
RING_BLOCKS = 16
BLOCK_BYTES = 4096
# How many blocks one open of the ring writes.
RING_WRITES = 6
LONGEST_LOAD_SECONDS = 2.5
# File systems write unsynced data on their own after a while: ext4 commits its journal after 5 s.
QUIET_SECONDS = 7.0
QUIET_SHARE = 0.12
WRAP_OPERATIONS = 120_000
REMOTE_FILES = 40
STOP_SECONDS = 40
ANYTHING = "anything"
EMPTY = digest(b"")


class Disk:
    """The disk, the loop device and the file system on it."""

    def __init__(self, options: argparse.Namespace, work: str, rng: random.Random) -> None:
        self.options, self.rng, self.work = options, rng, work
        self.image = os.path.join(work, "image")
        self.point = os.path.join(work, "disk")
        self.root = os.path.join(work, "root")
        self.process: subprocess.Popen[str] | None = None
        self.loop: str | None = None
        for path in (self.point, self.root):
            os.makedirs(path, exist_ok=True)

    def format(self) -> None:
        if os.path.exists(self.image):
            os.unlink(self.image)
        with open(self.image, "wb") as file:
            file.truncate(DISK_BYTES)
        kind = self.options.file_system
        call(f"mkfs.{kind}", "-q", "-F" if kind == "ext4" else "-f", self.image)

    def start(self) -> None:
        self.process = process = subprocess.Popen(
            [self.options.disk, self.image, self.point, str(self.rng.getrandbits(63))],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        path = os.path.join(self.point, "disk")
        eventually(lambda: os.path.exists(path) or process.poll() is not None, "the disk does not appear", STOP_SECONDS)
        self.loop = call("losetup", "--find", "--show", path).strip()
        call("mount", self.loop, self.root)

    def cut(self) -> str:
        assert self.process and self.process.stderr
        self.process.send_signal(signal.SIGUSR1)
        return self.process.stderr.readline().strip()

    def stop(self) -> None:
        """Unmounts and detaches everything, after a cut or at the end, whatever state it is in."""
        if self.process is None:
            return
        attempt("umount", self.root) or attempt("umount", "--lazy", self.root)
        if self.loop is not None:
            attempt("losetup", "--detach", self.loop)
            # Another process may get the device at once.
            eventually(
                lambda: self.point not in call("losetup", "--list", "--output", "BACK-FILE"),
                f"{self.loop} is not let go",
                STOP_SECONDS,
            )
        attempt("umount", self.point) or attempt("umount", "--lazy", self.point)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        if self.process.stderr:
            self.process.stderr.close()
        self.process = self.loop = None


def call(*command: str, check: bool = True, limit: float = 120) -> str:
    result = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit
    )
    text = result.stdout.decode("utf-8", "replace")
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {result.returncode}: {text.strip()}")
    return text


def attempt(*command: str) -> bool:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60).returncode == 0


class Worker(Resident):
    """A program with a directory of its own, and a model of what each name in it may be: a digest, `None` if it may be
    missing, `link TARGET`, `directory`, or ANYTHING that exists."""

    sizes = (1, 500, 5000)
    largest = LARGEST_BYTES

    def __init__(self, device: Device, name: str, seed: Any, before: Any = None) -> None:
        super().__init__(device, name, seed)
        self.model: dict[str, set[str | None]] = before.model if before else {}
        # What each name is now, as programs see it.
        self.now: dict[str, str | None] = before.now if before else {}
        self.rows: int = before.rows if before else 0
        self.rows_begun: int = before.rows_begun if before else 0
        self.serial = before.serial if before else 0
        # The blocks of the ring as they were acknowledged, and the one that was being written, if any.
        self.ring: list[str] = before.ring if before else []
        self.ring_begun: int | None = None

    def again(self) -> "Worker":
        return Worker(self.device, self.name_, self.random.random(), self)

    def step(self) -> None:
        self.random.choices(
            [self.save, self.write, self.create_empty, self.remove, self.make_and_remove, self.rename, self.commit,
             self.evict],
            [4, 4, 2, 4, 1, 2, 4, 2],
        )[0]()  # fmt: skip
        self.random.choices(
            [self.save_unsynced, self.create_unsynced, self.remove_unsynced, self.make_directory, self.remove_directory,
             self.make_link, self.overwrite],
            [1, 2, 1, 2, 2, 2, 2],
        )[0]()  # fmt: skip

    # The model

    def may(self, name: str, *states: str | None) -> None:
        """Allows more states of a name; the last one is its state after the operation."""
        self.model[name] = self.model.get(name, {None}) | set(states)
        self.now[name] = states[-1]

    def settle(self, name: str, state: str | None) -> None:
        self.model[name], self.now[name] = {state}, state

    def is_free(self, name: str) -> bool:
        return self.model.get(name, {None}) == {None}

    def pick(self, kind: str = "file") -> str:
        return f"{kind}-{self.random.randrange(NAMES_PER_WORKER):02}"

    def known(self, kind: str = "file") -> str | None:
        names = [name for name, may in self.model.items() if name.startswith(kind) and None not in may]
        return self.random.choice(names) if names else None

    # Operations

    def sync_folder(self) -> None:
        """Syncs the directory, after which all its names must have the state that they have now."""
        super().sync_folder()
        for name, state in self.now.items():
            self.model[name] = {state}

    def save(self) -> None:
        name, data = self.pick(), self.new_content()
        self.may(name, digest(data))
        self.put(self.path("saving~"), data, os.O_TRUNC)
        os.rename(self.path("saving~"), self.path(name))
        self.sync_folder()
        self.settle(name, digest(data))

    def save_unsynced(self) -> None:
        """Saves as scripts do, without fsync: a file that is replaced has the old or the new bytes afterwards."""
        name, data = self.known() or self.pick(), self.new_content()
        self.may(name, ANYTHING if None in self.model.get(name, {None}) else digest(data))
        self.put(self.path("saving~"), data, os.O_TRUNC, synced=False)
        os.rename(self.path("saving~"), self.path(name))

    def write(self) -> None:
        name, data = self.pick(), self.new_content()
        if not self.is_free(name):
            return
        self.may(name, ANYTHING)
        self.put(self.path(name), data, os.O_EXCL)
        if self.random.random() < 0.5:
            self.sync_folder()
        self.settle(name, digest(data))

    def create_empty(self) -> None:
        """Creates an empty file, so an fsync of the directory has only its name to keep."""
        name = self.pick()
        if not self.is_free(name):
            return
        self.may(name, EMPTY)
        self.put(self.path(name), b"", os.O_EXCL, synced=False)
        self.sync_folder()
        self.settle(name, EMPTY)

    def create_unsynced(self) -> None:
        name, data = self.pick(), self.new_content()
        if not self.is_free(name):
            return
        self.may(name, ANYTHING)
        self.put(self.path(name), data, os.O_EXCL, synced=False)

    def remove(self) -> None:
        if (name := self.known()) is None:
            return
        self.may(name, None)
        os.unlink(self.path(name))
        self.sync_folder()
        self.settle(name, None)

    def make_and_remove(self) -> None:
        """Makes and removes a file at once, as a program does with its journal."""
        name, data = self.pick("brief"), self.new_content()
        if not self.is_free(name):
            return
        self.may(name, ANYTHING)
        self.put(self.path(name), data, os.O_EXCL)
        os.unlink(self.path(name))
        self.sync_folder()
        self.settle(name, None)

    def remove_unsynced(self) -> None:
        if (name := self.known()) is not None:
            self.may(name, None)
            os.unlink(self.path(name))

    def rename(self) -> None:
        old, new = self.known(), self.pick()
        if old is None or old == new or len(self.model[old]) != 1:
            return
        (moving,) = self.model[old]
        self.may(old, None)
        self.may(new, moving)
        os.rename(self.path(old), self.path(new))
        self.sync_folder()
        self.settle(old, None)
        self.settle(new, moving)

    def make_directory(self) -> None:
        name = self.pick("directory")
        if not self.is_free(name):
            return
        self.may(name, "directory with ['inner']", "directory")
        os.mkdir(self.path(name))
        inner = os.path.join(self.path(name), "inner")
        self.put(inner, b"inner", os.O_EXCL)
        os.unlink(inner)
        self.sync_folder()
        self.settle(name, "directory")

    def remove_directory(self) -> None:
        if (name := self.known("directory")) is None:
            return
        self.may(name, None)
        shutil.rmtree(self.path(name))
        self.sync_folder()
        self.settle(name, None)

    def make_link(self) -> None:
        name = self.pick("link")
        if self.is_free(name):
            self.may(name, "link file-00")
            os.symlink("file-00", self.path(name))
            self.sync_folder()
            self.settle(name, "link file-00")
        elif None not in self.model[name]:
            self.may(name, None)
            os.unlink(self.path(name))
            self.sync_folder()
            self.settle(name, None)

    def database(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path("rows.sqlite"), isolation_level=None)
        database.execute("PRAGMA journal_mode = DELETE")
        # EXTRA: the directory is also synced after the journal was deleted.
        database.execute("PRAGMA synchronous = EXTRA")
        return database

    def commit(self) -> None:
        database = self.database()
        try:
            if self.rows == 0:
                database.execute("CREATE TABLE IF NOT EXISTS rows(number INTEGER PRIMARY KEY, text TEXT)")
            self.rows_begun = self.rows + 1
            database.execute("INSERT OR REPLACE INTO rows VALUES(?, ?)", (self.rows_begun, "x" * 500))
            self.rows = self.rows_begun
        finally:
            database.close()

    def overwrite(self) -> None:
        """Writes like a database's log: block by block in a file of fixed size, with fdatasync or O_DSYNC."""
        if not self.ring:
            self.put(self.path("ring"), bytes(RING_BLOCKS * BLOCK_BYTES), os.O_TRUNC)
            self.ring = [digest(bytes(BLOCK_BYTES))] * RING_BLOCKS
        by_itself = self.random.random() < 0.5
        descriptor = os.open(self.path("ring"), os.O_RDWR | (os.O_DSYNC if by_itself else 0))
        try:
            for _ in range(RING_WRITES):
                self.serial += 1
                number, block = self.random.randrange(RING_BLOCKS), content(BLOCK_BYTES, f"{self.name_}-{self.serial}")
                self.ring_begun = number
                os.pwrite(descriptor, block, number * BLOCK_BYTES)
                if not by_itself:
                    os.fdatasync(descriptor)
                self.ring[number], self.ring_begun = digest(block), None
        finally:
            os.close(descriptor)

    def evict(self) -> None:
        self.evict_name("ring" if self.ring and self.random.random() < 0.3 else self.known())

    # Checks after a cut

    def found(self, name: str) -> str | None:
        path = self.path(name)
        try:
            if os.path.islink(path):
                return "link " + os.readlink(path)
            if os.path.isdir(path):
                inside = os.listdir(path)
                return f"directory with {inside}" if inside else "directory"
            with open(path, "rb") as file:
                return digest(file.read())
        except FileNotFoundError:
            return None

    def check_all(self) -> list[str]:
        wrong = []
        for name, allowed in sorted(self.model.items()):
            found = self.found(name)
            if found not in allowed and not (found is not None and ANYTHING in allowed):
                wrong.append(f"{self.name_}/{name} is {found}, but must be one of {sorted(map(str, allowed))}")
            self.settle(name, found)
        known = {name for name, state in self.now.items() if state is not None}
        for name in sorted(
            set(os.listdir(self.folder)) - known - {"saving~", "rows.sqlite", "rows.sqlite-journal", "ring"}
        ):
            wrong.append(f"{self.name_}/{name} exists, but no program created it")
        return wrong + self.check_ring() + self.check_rows()

    def check_ring(self) -> list[str]:
        if not self.ring:
            return []
        try:
            with open(self.path("ring"), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return [f"{self.name_}/ring is gone"]
        found = [digest(data[start : start + BLOCK_BYTES]) for start in range(0, len(data), BLOCK_BYTES)]
        wrong = [
            f"{self.name_}/ring, block {number}, is not what fdatasync acknowledged"
            for number in range(RING_BLOCKS)
            if number != self.ring_begun and found[number : number + 1] != self.ring[number : number + 1]
        ]
        self.ring, self.ring_begun = found, None
        return wrong

    def check_rows(self) -> list[str]:
        if not os.path.exists(self.path("rows.sqlite")):
            return [f"{self.name_}/rows.sqlite is gone with {self.rows} rows"] if self.rows else []
        database = self.database()
        try:
            sound = database.execute("PRAGMA integrity_check").fetchall()
            if sound != [("ok",)]:
                return [f"{self.name_}/rows.sqlite is damaged: {sound[:3]}"]
            tables = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'rows'").fetchone()[0]
            count = database.execute("SELECT count(*) FROM rows").fetchone()[0] if tables else 0
        except sqlite3.Error as error:
            return [f"{self.name_}/rows.sqlite cannot be read: {error}"]
        finally:
            database.close()
        begun, committed, self.rows = max(self.rows, self.rows_begun), self.rows, count
        if not committed <= count <= begun:
            return [f"{self.name_}/rows.sqlite has {count} rows, but {committed} were committed and {begun} begun"]
        return []


class Series:
    """Some rounds with one disk, one container and two devices."""

    device: Device
    second: Device

    def __init__(self, options: argparse.Namespace, work: str, rng: random.Random, place: str) -> None:
        self.options, self.rng, self.place, self.work = options, rng, place, work
        self.disk = Disk(options, work, rng)
        self.devices: list[Device] = []
        self.workers: list[Worker] = []
        self.remote: dict[str, str] = {}
        self.remote_serial = 0
        self.keys = Keys(work) if options.encrypted or rng.random() < ENCRYPTED_SHARE else None

    def begin(self) -> None:
        self.disk.format()
        self.disk.start()
        on_disk = self.disk.root
        self.remote_path = os.path.join(self.work if self.place == "state" else on_disk, "container")
        os.makedirs(self.remote_path)
        url = "file://" + self.remote_path
        self.device = Device(self.options.binary, url, self.work, "A")
        self.devices.append(self.device)
        if self.place != "container":
            self.device.state = os.path.join(on_disk, "state-A")
        self.second = Device(self.options.binary, url, self.work, "B")
        self.devices.append(self.second)
        of_keys = self.keys.of_creation if self.keys else []
        self.device.run("container", "create", url, "--id", "iCloud.org.dewpoint.PowerCuts", *of_keys)
        for device in self.devices:
            # The only time that a device is given the passphrase: its enrolment must survive.
            device.mount(*(["--passphrase-file", self.keys.may_be[0]] if self.keys else []))
        self.second.unmount()
        for number in range(WORKERS):
            os.mkdir(os.path.join(self.device.point, f"worker-{number}"))
            self.workers.append(Worker(self.device, f"worker-{number}", self.rng.random()))
        self.wrap_log()
        self.sync_all()
        self.exchange()

    def wrap_log(self) -> None:
        """Makes the index's log restart from its start: only then does a sync of it change nothing else on the disk."""
        log = os.path.join(self.device.state, "index.sqlite-wal")

        def checkpoints() -> int:
            with open(log, "rb") as file:
                header = file.read(32)
            return struct.unpack(">I", header[12:16])[0] if len(header) == 32 else 0

        path = os.path.join(self.device.point, "wrap")
        with open(path, "w"):
            pass
        first = checkpoints()
        for number in range(WRAP_OPERATIONS):
            os.utime(path, ns=(number, number))
            if number % 100 == 99 and checkpoints() > first:
                break
        else:
            raise AssertionError("the index's log did not restart")
        os.unlink(path)

    def sync_all(self) -> None:
        """Syncs the disk, so that the checks need not consider what was unsynced until now."""
        call("sync", "--file-system", self.disk.root)

    def exchange(self) -> None:
        """Syncs both devices and checks that they and the output of restore.py are equal."""
        self.device.run("sync", self.device.point, "--wait")
        self.second.mount()
        try:
            self.second.run("sync", self.second.point, "--wait")
            ours, theirs = read_tree(self.device.point), read_tree(self.second.point)
            self.compare("the second device", ours, theirs)
            self.compare("what restore.py makes of it", ours, self.restored())
            for path, found in self.remote.items():
                if ours.get(path) != found:
                    raise AssertionError(f"{path}, of the second device, is {ours.get(path)}, but must be {found}")
            tops = {path.split("/")[0] for path in ours} - {f"worker-{number}" for number in range(WORKERS)}
            if strange := tops - {path.split("/")[0] for path in self.remote}:
                raise AssertionError(f"no program created {sorted(strange)[:5]}")
            # The next items from the second device appear as placeholders on the first.
            self.remote_serial += 1
            folder = f"from-B-{self.remote_serial}"
            os.mkdir(os.path.join(self.second.point, folder))
            self.remote[folder] = "/"
            for number in range(REMOTE_FILES):
                data = content(100 + number, f"{folder}-{number}")
                with open(os.path.join(self.second.point, folder, f"file-{number}"), "wb") as file:
                    file.write(data)
                self.remote[f"{folder}/file-{number}"] = digest(data)
            self.second.run("sync", self.second.point, "--wait")
        finally:
            self.second.unmount()
        self.device.run("sync", self.device.point, "--wait")

    def restored(self) -> dict[str, str]:
        output = os.path.join(self.work, "restored")
        shutil.rmtree(output, ignore_errors=True)
        command = [sys.executable, self.options.restore, self.remote_path, output]
        if self.keys:
            self.keys.unlocked_by(command)
        else:
            call(*command)
        return read_tree(output)

    @staticmethod
    def compare(who: str, ours: Any, theirs: Any) -> None:
        if wrong := sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)):
            first = wrong[0]
            raise AssertionError(
                f"{who} differs in {len(wrong)} items: {first} is {theirs.get(first)} there and {ours.get(first)} here"
            )

    def round(self, is_last: bool = False) -> tuple[int, str]:
        workers = self.workers
        listing = threading.Thread(target=self.look_around, daemon=True)
        changes = [KeyChanges(self.device, self.keys, random.Random(self.rng.random()))] if self.keys else []
        programs: list[crashes.Program] = [*workers, *changes]
        for program in programs:
            program.start()
        time.sleep(self.rng.uniform(0.3, LONGEST_LOAD_SECONDS))
        listing.start()
        if self.rng.random() < QUIET_SHARE:
            for program in programs:
                program.stopping.set()
            time.sleep(QUIET_SECONDS)
        else:
            time.sleep(self.rng.uniform(0, 0.3))
        self.device.killed.set()
        outcome = self.disk.cut()
        self.device.kill()
        for thread in [*programs, listing]:
            thread.join(STOP_SECONDS)
            if thread.is_alive():
                raise AssertionError("a program hangs although the power was cut")
        for program in programs:
            if program.failure is not None:
                raise program.failure
        outcome += "".join(f"; {change.acknowledged} changes of the keys" for change in changes)
        call("umount", "--lazy", self.device.point, check=False)
        self.disk.stop()
        self.disk.start()
        if is_last and self.place != "container":
            # The machine does not come back: its state is recovered on the other device.
            self.second.mount()
            # What was not fsynced may be lost, which it says: what was is checked below.
            code, said = self.second.run("recover", "--deletions", self.device.state, self.second.point, check=False)
            if code not in (0, 1) or (code == 1 and "not recovered:" not in said):
                raise AssertionError(f"dewpoint recover: exit status {code}: {said}")
            for worker in workers:
                worker.folder = os.path.join(self.second.point, worker.name_)
            outcome += f"; recovered: {said.splitlines()[0]}"
        else:
            self.device.mount()
        wrong = [line for worker in workers for line in worker.check_all()]
        if wrong:
            raise AssertionError("\n  ".join([f"{len(wrong)} names are not as they must be:", *wrong[:10]]))
        if is_last and self.place != "container":
            self.second.run("check", self.second.point)
            self.second.unmount()
        else:
            self.device.run("check", self.device.point)
            self.exchange()
        self.workers = [worker.again() for worker in workers]
        return sum(worker.operations for worker in workers), outcome

    def look_around(self) -> None:
        """Lists directories shortly before the power is cut, which writes placeholders."""
        try:
            for name in os.listdir(self.device.point):
                os.listdir(os.path.join(self.device.point, name))
        except OSError:
            pass

    def end(self) -> None:
        for device in self.devices:
            device.abandon()
        self.disk.stop()


def run(options: argparse.Namespace, work: str) -> None:
    rng = random.Random(options.seed)
    deadline = time.monotonic() + options.seconds if options.seconds else None
    done = 0
    while done < options.rounds:
        place = PLACES[done // options.series % len(PLACES)]
        series = Series(options, tempfile.mkdtemp(prefix=f"{place}-", dir=work), rng, place)
        try:
            series.begin()
            count = min(options.series, options.rounds - done)
            for number in range(count):
                is_late = deadline and time.monotonic() > deadline - ROUND_SECONDS
                is_last = bool(is_late) or number == count - 1
                operations, outcome = series.round(is_last)
                done += 1
                print(f"round {done}, {place}, {options.file_system}: {operations} operations; {outcome}", flush=True)
                if is_last:
                    break
        except BaseException as error:
            print(f"{place}: {error}", file=sys.stderr, flush=True)
            raise
        finally:
            series.end()
        shutil.rmtree(series.work, ignore_errors=True)
        if deadline and time.monotonic() > deadline - ROUND_SECONDS:
            break
    print(f"{done} power cuts survived on {options.file_system}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--disk", required=True)
    parser.add_argument("--restore", required=True)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--series", type=int, default=ROUNDS_PER_SERIES, help="rounds with one disk")
    parser.add_argument("--seconds", type=int, help="begin no round after so long")
    parser.add_argument("--file-system", choices=["ext4", "xfs", "btrfs"], default="ext4")
    parser.add_argument("--seed", default=str(random.randrange(1 << 30)))
    parser.add_argument("--work", help="a directory to work in; what failed is kept there")
    parser.add_argument("--encrypted", action="store_true", help="encrypt each container, not only some")
    options = parser.parse_args()
    # On SIGUSR2, the program prints the stacks of all threads.
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    work = options.work or tempfile.mkdtemp(prefix="dewpoint-powercuts-")
    print(f"seed {options.seed}, {options.rounds} rounds on {options.file_system}, in {work}", flush=True)
    crashes.attempt(options, work, run, "The image, the container and the logs")


if __name__ == "__main__":
    main()
