"""Kills the daemon of a mount with `-o survive` again and again, and checks that no program notices.

    python3 surviving.py --binary DEWPOINT --point DIRECTORY --state DIRECTORY [--kills N] [--seed N] SCENARIO…

Each scenario is a function below. The supervisor must not count the kills (DEWPOINT_SUPERVISOR_SECONDS=0), but for
`giving_up` and `upgrading`. The last replaces DEWPOINT, which must be a copy.
"""

import argparse
import contextlib
import ctypes
import errno
import fcntl
import functools
import hashlib
import mmap
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from session import Session

START_SECONDS = 30
WORKER_SECONDS = 120
# How long a daemon that takes over keeps the claims of clients that have not come back.
GRACE_SECONDS = 2
LINE = 64
AT_EMPTY_PATH = 0x1000
O_TMPFILE = os.O_TMPFILE


class Mount:
    """A mount, and the processes behind it."""

    def __init__(self, binary: str, point: str, state: str, kills: int, seed: int) -> None:
        self.binary, self.point, self.state, self.kills = binary, point, state, kills
        self.random = random.Random(seed)

    def path(self, *names: str) -> str:
        return os.path.join(self.point, *names)

    def processes(self, program: str) -> list[int]:
        """The processes of this mount, by what they are called or the program that they run."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    arguments = file.read().split(b"\0")
                with open(f"/proc/{entry}/comm", encoding="utf-8") as file_of_name:
                    called = file_of_name.read().strip()
                name = os.path.basename(os.readlink(f"/proc/{entry}/exe"))
            except OSError:
                continue
            if called == "dewpoint-notify":
                name = called
            if name == program and self.state.encode() in arguments:
                found.append(int(entry))
        return found

    def daemon(self) -> int:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            found = self.processes("dewpoint")
            if len(found) == 1:
                return found[0]
            time.sleep(0.01)
        raise AssertionError(f"there is no daemon: {found}")

    def kill(self) -> None:
        """Kills the daemon, and returns when there is another one."""
        old = self.daemon()
        os.kill(old, signal.SIGKILL)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            found = self.processes("dewpoint")
            if found and found != [old]:
                return
            time.sleep(0.01)
        raise AssertionError("no daemon takes the place of the one that was killed")

    @contextlib.contextmanager
    def killing(self) -> Iterator[threading.Event]:
        """Kills the daemon at random moments meanwhile; the event is set when that is done."""
        done = threading.Event()
        failures: list[BaseException] = []

        def run() -> None:
            try:
                for _ in range(self.kills):
                    time.sleep(self.random.uniform(0.0, 1.2))
                    self.kill()
            except BaseException as failure:
                failures.append(failure)
            finally:
                done.set()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield done
        finally:
            thread.join()
        if failures:
            raise failures[0]

    def run(self, *arguments: str) -> str:
        result = subprocess.run(
            ["timeout", "60", self.binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        text = result.stdout.decode("utf-8", "replace")
        if result.returncode != 0:
            raise AssertionError(f"dewpoint {' '.join(arguments)}: {result.returncode}: {text}")
        return text


def together(*bodies: Callable[[], None]) -> None:
    """Runs bodies in threads; the first failure is raised."""
    failures: list[BaseException] = []

    def run(body: Callable[[], None]) -> None:
        try:
            body()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def refused(body: Callable[[], object], number: int) -> None:
    """Checks that a call fails as it must."""
    try:
        body()
    except OSError as failure:
        if failure.errno == number:
            return
        raise
    raise AssertionError(f"a call succeeded that must fail with {errno.errorcode[number]}")


def put(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def get(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def link_by_descriptor(file: int, path: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.linkat(file, b"", -100, path.encode(), AT_EMPTY_PATH) != 0:
        raise OSError(ctypes.get_errno(), "linkat")


# Scenarios


def open_files(mount: Mount) -> None:
    """Files stay open, with what they are and where they are."""
    directory = mount.path("open")
    os.mkdir(directory)
    size = 3 << 20
    data = random.Random(1).randbytes(size)
    for name in ["read", "gone", "mapped", "changed"]:
        put(os.path.join(directory, name), data)
    reader = os.open(os.path.join(directory, "read"), os.O_RDONLY)
    gone = os.open(os.path.join(directory, "gone"), os.O_RDWR)
    os.unlink(os.path.join(directory, "gone"))
    nameless = os.open(directory, O_TMPFILE | os.O_RDWR, 0o644)
    appended = os.open(os.path.join(directory, "appended"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    changed = os.open(os.path.join(directory, "changed"), os.O_RDWR)
    mapped = os.open(os.path.join(directory, "mapped"), os.O_RDWR)
    memory = mmap.mmap(mapped, size)
    removed = os.path.join(directory, "removed")
    os.mkdir(removed)
    here = os.open(removed, os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(removed)
    expected, changes = b"", bytearray(data)
    for round in range(mount.kills):
        mount.kill()
        at = (round * 4099) % (size - 100)
        line = f"{round:063}\n".encode()
        assert os.pread(reader, 100, at) == data[at : at + 100], "bytes of a file that is read"
        assert os.pread(gone, 100, at) == data[at : at + 100], "bytes of a file without a name"
        assert os.fstat(gone).st_nlink == 0
        os.pwrite(nameless, line, round * LINE)
        assert os.write(appended, line) == LINE
        expected += line
        assert os.pwrite(changed, line, at) == LINE
        changes[at : at + LINE] = line
        assert os.pread(changed, size, 0) == bytes(changes), "bytes of a file that is changed"
        memory[at : at + LINE] = line
        assert os.fstat(here).st_nlink == 0
        refused(lambda: os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=here), errno.ENOENT)
        assert os.fstat(appended).st_size == len(expected)
    memory.flush()
    assert get(os.path.join(directory, "mapped")) == bytes(changes), "bytes of a mapped file"
    link_by_descriptor(nameless, os.path.join(directory, "named"))
    assert get(os.path.join(directory, "named")) == expected
    assert get(os.path.join(directory, "appended")) == expected
    memory.close()
    for file in [reader, gone, nameless, appended, changed, mapped, here]:
        os.close(file)
    mount.kill()
    assert get(os.path.join(directory, "changed")) == bytes(changes)


def placeholders(mount: Mount) -> None:
    """What is read from the store goes on: a film that plays, files that are mapped or read here and there."""
    size, piece = 24 << 20, 64 << 10
    data = random.Random(2).randbytes(size)
    names = ["film", "mapped", "here and there"]
    os.mkdir(mount.path("placeholders"))
    paths = [mount.path("placeholders", name) for name in names]
    for path in paths:
        put(path, data)

    def evict() -> None:
        mount.run("sync", mount.point, "--wait")
        mount.run("evict", *paths)
        for path in paths:
            assert os.stat(path).st_blocks < size // 1024, f"{path} is local"

    def play(done: threading.Event) -> None:
        with open(paths[0], "rb", buffering=0) as film:
            for at in range(0, size, piece):
                assert film.read(piece) == data[at : at + piece], f"the film at {at}"
                # As long as the kills last.
                time.sleep(0 if done.is_set() else mount.kills * 1.0 / (size // piece))

    def look(done: threading.Event) -> None:
        with open(paths[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            for at in range(0, size, 1 << 20):
                assert memory[at : at + 100] == data[at : at + 100], f"the mapped file at {at}"
                time.sleep(0 if done.is_set() else 0.1)

    def jump(done: threading.Event) -> None:
        places = random.Random(3)
        with open(paths[2], "rb", buffering=0) as file:
            while not done.is_set():
                at = places.randrange(size - piece)
                assert os.pread(file.fileno(), piece, at) == data[at : at + piece], f"the file at {at}"
                time.sleep(0.05)

    evict()
    with mount.killing() as done:
        together(lambda: play(done), lambda: look(done), lambda: jump(done))
    for path in paths:
        assert get(path) == data, path


def listing(mount: Mount) -> None:
    """A listing goes on where it is."""
    directory = mount.path("listed")
    os.mkdir(directory)
    names = {f"{number:04}" for number in range(3000)}
    for name in names:
        put(os.path.join(directory, name), b"")
    for _ in range(min(mount.kills, 3)):
        seen: list[str] = []
        with os.scandir(directory) as entries:
            for entry in entries:
                seen.append(entry.name)
                if len(seen) in (10, 1500):
                    mount.kill()
        assert len(seen) == len(names) and set(seen) == names, f"{len(seen)} names, {len(set(seen))} different"


LOCKER = """
import fcntl, os, struct, sys
file = os.open(sys.argv[2], os.O_RDWR)
try:
    if sys.argv[1] == "flock":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif sys.argv[1] == "record":
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
    else:
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 5, 10, 0))
except OSError:
    print("refused")
else:
    print("granted")
"""


def locks(mount: Mount) -> None:
    """Locks stay with those who hold them, and end with them."""

    def other(kind: str, path: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", LOCKER, kind, path], stdout=subprocess.PIPE, check=True, timeout=60
        ).stdout.decode()[:-1]

    paths = {kind: mount.path(f"lock-{kind}") for kind in ["flock", "record", "description"]}
    files = {}
    for kind, path in paths.items():
        put(path, bytes(100))
        files[kind] = os.open(path, os.O_RDWR)
    for _ in range(min(mount.kills, 5)):
        fcntl.flock(files["flock"], fcntl.LOCK_EX)
        fcntl.lockf(files["record"], fcntl.LOCK_EX, 10, 5)
        fcntl.fcntl(files["description"], 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 5, 10, 0))
        mount.kill()
        for kind, path in paths.items():
            assert other(kind, path) == "refused", f"a lock of {kind} was lost"
        mount.kill()
        fcntl.flock(files["flock"], fcntl.LOCK_UN)
        fcntl.lockf(files["record"], fcntl.LOCK_UN, 10, 5)
        fcntl.fcntl(files["description"], 37, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 5, 10, 0))
        for kind, path in paths.items():
            assert other(kind, path) == "granted", f"a lock of {kind} was not given back"
    fcntl.flock(files["flock"], fcntl.LOCK_EX)
    fcntl.fcntl(files["description"], 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 5, 10, 0))
    waiting = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, os; fcntl.flock(os.open({paths['flock']!r}, os.O_RDWR), fcntl.LOCK_EX)"]
    )
    time.sleep(0.5)
    mount.kill()
    assert waiting.poll() is None, "a lock was given to two"
    for file in files.values():
        os.close(file)
    assert waiting.wait(timeout=20) == 0
    assert other("description", paths["description"]) == "granted", "a lock of a closed file was not given back"


def claims(mount: Mount) -> None:
    """Claims stay with those who hold them and come back, and one after the other gets them."""
    path = mount.path("claimed")
    put(path, b"0\n")
    # Each adds one to what the file says, and takes its time: two at once would add one in all.
    script = 'n=$(cat "$1"); sleep 0.4; echo $((n + 1)) > "$1"'
    programs = [
        subprocess.Popen(
            [mount.binary, "coordinate", path, "--", "sh", "-c", script, "-", path],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        for _ in range(8)
    ]
    # All have been granted it, or wait for it.
    time.sleep(1)
    with mount.killing():
        for program in programs:
            said, _ = program.communicate(timeout=WORKER_SECONDS)
            assert program.returncode == 0 and b"without the claim" not in said, said
    assert get(path) == b"8\n", get(path)

    # Who comes back goes on: also at another place.
    former = returned(mount)
    assert former.take("welcome", limit=0) is None
    held = former.claim(("claimed", "plain"))
    os.rename(path, mount.path("moved"))
    mount.kill()
    present = returned(mount)
    waiting = subprocess.Popen([mount.binary, "coordinate", mount.path("moved"), "--", "true"])
    assert present.client > former.client
    granted = present.reclaim(former.client, held, ("claimed", "plain"))
    assert granted["kind"] == "granted" and granted["paths"] == ["moved"], granted
    time.sleep(GRACE_SECONDS + 1)
    assert waiting.poll() is None, "a claim was given to two"
    # Not even this process, in a third session.
    third = Session(mount.point)
    refused_event = third.reclaim(present.client, held, ("moved", "plain"))
    assert refused_event["kind"] == "ended", refused_event
    present.release(held)
    assert waiting.wait(WORKER_SECONDS) == 0

    # Who does not come back has lost it, and learns it.
    former = returned(mount)
    held = former.claim(("moved", "plain"))
    mount.kill()
    present = returned(mount)
    mount.run("coordinate", mount.path("moved"), "--", "true")
    ended = present.reclaim(former.client, held, ("moved", "plain"))
    assert ended["kind"] == "ended" and ended["code"] == "unreachable", ended

    # Nobody else gets it.
    former = returned(mount)
    held = former.claim(("moved", "plain"))
    mount.kill()
    present = returned(mount)
    thief = subprocess.run(
        [sys.executable, "-c", THIEF, mount.point, str(former.client), str(held)],
        cwd=os.path.dirname(os.path.abspath(__file__)),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    ).stdout
    assert thief == b"ended\n", thief
    assert present.reclaim(former.client, held, ("moved", "plain"))["kind"] == "granted"
    Session.end_all()


def returned(mount: Mount) -> Session:
    """A session at the daemon that takes over."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return Session(mount.point)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


THIEF = """
import sys
from session import Session
point, client, claim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print(Session(point).reclaim(client, claim, ("moved", "plain"))["kind"])
Session.end_all()
"""


def names(mount: Mount) -> None:
    """What makes and removes names is done exactly once."""

    def work(number: int, done: threading.Event) -> None:
        directory = mount.path(f"names-{number}")
        os.mkdir(directory)

        def at(name: str) -> str:
            return os.path.join(directory, name)

        count = 0
        while not done.is_set():
            count += 1
            one, two, three = at(f"a{count}"), at(f"b{count}"), at(f"c{count}")
            file = os.open(one, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
            os.write(file, one.encode())
            os.close(file)
            os.link(one, two)
            assert os.stat(one).st_nlink == 2
            os.unlink(one)
            os.rename(two, three)
            refused(functools.partial(os.stat, two), errno.ENOENT)
            assert get(three) == one.encode()
            os.setxattr(three, "user.a", b"1", os.XATTR_CREATE)
            os.setxattr(three, "user.a", b"2", os.XATTR_REPLACE)
            os.removexattr(three, "user.a")
            os.mkdir(one)
            os.symlink("target", os.path.join(one, "link"))
            os.mkfifo(os.path.join(one, "pipe"))
            os.rename(one, two)
            assert sorted(os.listdir(two)) == ["link", "pipe"]
            os.unlink(os.path.join(two, "link"))
            os.unlink(os.path.join(two, "pipe"))
            os.rmdir(two)
            if count % 4 == 0:
                nameless = os.open(directory, O_TMPFILE | os.O_WRONLY, 0o644)
                os.write(nameless, b"nameless")
                link_by_descriptor(nameless, one)
                os.close(nameless)
                assert get(one) == b"nameless"
                os.rename(one, three)
                assert get(three) == b"nameless"
            os.unlink(three)
            assert os.listdir(directory) == []
        print(f"{count} rounds of names")

    with mount.killing() as done:
        together(*[lambda number=number: work(number, done) for number in range(3)])


def nameless(mount: Mount) -> None:
    """A file that is made without a name gets one, wherever in its making the daemon is killed."""

    def work(number: int, done: threading.Event) -> None:
        directory = mount.path(f"nameless-{number}")
        os.mkdir(directory)
        count = 0
        while not done.is_set():
            count += 1
            path, text = os.path.join(directory, f"{count}"), f"{number} {count}".encode()
            file = os.open(directory, O_TMPFILE | os.O_RDWR, 0o644)
            if count % 2 == 0:
                os.write(file, text)
            link_by_descriptor(file, path)
            if count % 2 == 1:
                os.write(file, text)
            assert os.fstat(file).st_nlink == 1
            os.close(file)
            assert get(path) == text
            os.unlink(path)
            assert os.listdir(directory) == []
        print(f"{count} files without a name")

    with mount.killing() as done:
        together(*[lambda number=number: work(number, done) for number in range(4)])


def appending(mount: Mount) -> None:
    """What is appended is appended once, also by two at a time."""

    def work(number: int, done: threading.Event) -> None:
        count = 0
        file = os.open(mount.path("log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        while not done.is_set():
            assert os.write(file, f"{number} {count:061}\n".encode()) == LINE
            count += 1
        os.close(file)
        counts[number] = count

    counts: dict[int, int] = {}
    with mount.killing() as done:
        together(*[lambda number=number: work(number, done) for number in range(2)])
    data = get(mount.path("log"))
    seen = {0: 0, 1: 0}
    for start in range(0, len(data), LINE):
        line = data[start : start + LINE]
        assert len(line) == LINE and line.endswith(b"\n"), f"{line!r} at {start}"
        number, count = line.split()
        assert seen[int(number)] == int(count), f"{line!r} after {seen}"
        seen[int(number)] += 1
    assert seen == counts, f"{seen}, not {counts}"
    print(f"{sum(counts.values())} lines")


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
while not sys.stdin.readline():
    pass
for number in range(int(sys.argv[3])):
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO rows VALUES(?, ?)", (int(sys.argv[2]), number))
    connection.execute("UPDATE total SET count = count + 1")
    connection.execute("COMMIT")
print("done")
"""


def databases(mount: Mount) -> None:
    """A database that two processes write is whole, with every row."""
    path = mount.path("database.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE rows(writer, number)")
    connection.execute("CREATE TABLE total(count)")
    connection.execute("INSERT INTO total VALUES(0)")
    connection.commit()
    connection.close()
    count = 400
    with mount.killing():
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, path, str(number), str(count)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for number in range(2)
        ]
        for writer in writers:
            printed, _ = writer.communicate(b"go\n", timeout=WORKER_SECONDS)
            assert printed == b"done\n", "a writer failed"
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count FROM total").fetchall() == [(2 * count,)]
    assert connection.execute("SELECT count(*) FROM rows").fetchall() == [(2 * count,)]
    connection.close()


def programs(mount: Mount) -> None:
    """git, dd and cp run through."""
    work = mount.state + "-repository"
    script = f"""set -e
        git init -q '{work}'; cd '{work}'; git config user.email a@b; git config user.name a
        for i in $(seq 200); do echo $i > file-$i; done; git add .; git commit -qm one
        """
    subprocess.run(["sh", "-c", script], check=True, timeout=WORKER_SECONDS)

    def clone() -> None:
        for number in range(2):
            subprocess.run(
                ["git", "clone", "-q", work, mount.path(f"clone-{number}")], check=True, timeout=WORKER_SECONDS
            )
            subprocess.run(
                ["git", "-C", mount.path(f"clone-{number}"), "fsck", "--strict"],
                check=True,
                timeout=WORKER_SECONDS,
                stderr=subprocess.DEVNULL,
            )

    def write() -> None:
        data = random.Random(7).randbytes(1 << 20)
        digest = hashlib.sha256(data * 100).hexdigest()
        source = mount.state + "-source"
        put(source, data * 100)
        target = mount.path("large")
        subprocess.run(
            ["dd", f"if={source}", f"of={target}", "bs=64k", "status=none"], check=True, timeout=WORKER_SECONDS
        )
        printed = subprocess.run(["sha256sum", target], stdout=subprocess.PIPE, check=True, timeout=WORKER_SECONDS)
        assert printed.stdout.decode().split()[0] == digest, "dd wrote other bytes"

    with mount.killing():
        together(clone, write)


def supervisor_killed(mount: Mount) -> None:
    """Without its supervisor the daemon goes on alone, and can be unmounted."""
    put(mount.path("alone"), b"one")
    mount.kill()
    for process in mount.processes("dewpoint-supervisor"):
        os.kill(process, signal.SIGKILL)
    time.sleep(0.3)
    assert get(mount.path("alone")) == b"one"
    put(mount.path("alone"), b"two")
    mount.run("unmount", mount.point)
    nothing_left(mount)


def nothing_left(mount: Mount) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if not any(mount.processes(name) for name in ["dewpoint", "dewpoint-supervisor", "dewpoint-notify"]):
            assert not os.path.ismount(mount.point)
            return
        time.sleep(0.05)
    raise AssertionError("processes are left")


def unmounting(mount: Mount) -> None:
    """The mount of a daemon that has taken the place of another ends like any."""
    put(mount.path("last"), b"one")
    mount.kill()
    put(mount.path("last"), b"two")
    mount.run("unmount", mount.point)
    nothing_left(mount)


def terminating(mount: Mount) -> None:
    """SIGTERM to the supervisor ends both, in order."""
    put(mount.path("terminated"), b"one")
    mount.kill()
    assert get(mount.path("terminated")) == b"one"
    (supervisor,) = mount.processes("dewpoint-supervisor")
    os.kill(supervisor, signal.SIGTERM)
    nothing_left(mount)


def giving_up(mount: Mount) -> None:
    """A daemon that dies again and again is given up: then the mount is dead, as without a supervisor."""
    put(mount.path("given-up"), b"one")
    # Whose times do not count, as the daemon may be older.
    for _ in range(2):
        mount.kill()
        assert get(mount.path("given-up")) == b"one"
    os.kill(mount.daemon(), signal.SIGKILL)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            os.listdir(mount.point)
        except OSError as failure:
            assert failure.errno in (errno.ENOTCONN, errno.ECONNABORTED), failure
            return
        time.sleep(0.05)
    raise AssertionError("the mount is not dead")


def commands(mount: Mount) -> None:
    """Commands answer while the daemon is killed and replaced by an upgrade: each waits for the one that comes."""
    put(mount.path("asked"), b"text")

    def ask(done: threading.Event) -> int:
        count = 0
        while not done.is_set():
            assert "asked" in mount.run("status", mount.path("asked"))
            mount.run("status", mount.point)
            mount.run("sync", mount.point, "--wait")
            mount.run("download", mount.path("asked"))
            count += 1
        return count

    with mount.killing() as done:
        assert ask(done) > 0
    done = threading.Event()

    def upgrade() -> None:
        try:
            for _ in range(3):
                mount.run("upgrade", mount.point)
        finally:
            done.set()

    together(upgrade, lambda: assert_more_than_none(ask(done)))


def assert_more_than_none(count: int) -> None:
    assert count > 0


def upgrading(mount: Mount) -> None:
    """A program that is put in the place of the one that runs takes over, and that is no death that counts."""
    with open(mount.path("upgraded"), "wb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for number in range(4):
            old = mount.daemon()
            installed = mount.binary + ".new"
            shutil.copy2(mount.binary, installed)
            os.replace(installed, mount.binary)
            printed = mount.run("upgrade", mount.point)
            new = mount.daemon()
            assert f"process {new} has taken the place of {old}" in printed, printed
            assert os.stat(f"/proc/{new}/exe").st_ino == os.stat(mount.binary).st_ino
            file.write(b"%d" % number)
        with open(mount.path("upgraded"), "rb") as other:
            refused(lambda: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB), errno.EWOULDBLOCK)
    assert get(mount.path("upgraded")) == b"0123"


SCENARIOS: dict[str, Callable[[Mount], None]] = {
    scenario.__name__: scenario
    for scenario in [
        open_files,
        placeholders,
        listing,
        locks,
        claims,
        names,
        nameless,
        appending,
        databases,
        programs,
        supervisor_killed,
        unmounting,
        terminating,
        giving_up,
        commands,
        upgrading,
    ]
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--point", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("scenarios", nargs="+", choices=list(SCENARIOS))
    options = parser.parse_args()
    mount = Mount(options.binary, options.point, options.state, options.kills, options.seed)
    for name in options.scenarios:
        SCENARIOS[name](mount)
        print(f"{name}: unnoticed")


main()
