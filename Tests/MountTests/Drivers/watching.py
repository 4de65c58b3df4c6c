"""Watches a mount with inotify while another device changes the container: cases of WatchTests.

python3 watching.py CASE MOUNTPOINT DEWPOINT OTHER_MOUNTPOINT

The other device makes the changes; what is seen here must be what a disk would show, once, and in order.
"""

import ctypes
import functools
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable

NAMES = {
    0x1: "ACCESS", 0x2: "MODIFY", 0x4: "ATTRIB", 0x8: "CLOSE_WRITE", 0x10: "CLOSE_NOWRITE", 0x20: "OPEN",
    0x40: "MOVED_FROM", 0x80: "MOVED_TO", 0x100: "CREATE", 0x200: "DELETE", 0x400: "DELETE_SELF", 0x800: "MOVE_SELF",
    0x2000: "UNMOUNT", 0x4000: "OVERFLOW", 0x8000: "IGNORED",
}  # fmt: skip
IS_DIRECTORY = 0x40000000
OPEN = 0x20
# Reads are none of what is announced.
WATCHED = 0xFFF & ~(0x1 | 0x10)
PATIENCE = 20.0
# How long nothing more must come.
QUIET = 0.6

libc = ctypes.CDLL(None, use_errno=True)


class Watcher:
    """The events of some paths, each as `NAME` or `NAME/`, after the label of its watch and a colon."""

    def __init__(self, mask: int = WATCHED, **paths: str) -> None:
        self.mask = mask
        self.file = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.labels: dict[int, str] = {}
        self.cookies: list[int] = []
        for label, path in paths.items():
            self.add(label, path)

    def add(self, label: str, path: str) -> None:
        watch = libc.inotify_add_watch(self.file, os.fsencode(path), self.mask)
        assert watch >= 0, (path, os.strerror(ctypes.get_errno()))
        self.labels[watch] = label

    def read(self, seconds: float) -> list[str]:
        if not select.select([self.file], [], [], seconds)[0]:
            return []
        data = os.read(self.file, 1 << 20)
        events = []
        while data:
            watch, mask, cookie, length = struct.unpack_from("iIII", data)
            name = data[16 : 16 + length].rstrip(b"\0").decode()
            data = data[16 + length :]
            kind = NAMES[mask & 0xFFFF] + ("/" if mask & IS_DIRECTORY else "")
            if cookie:
                self.cookies.append(cookie)
            events.append(f"{self.labels[watch]}:{kind}" + (f" {name}" if name else ""))
        return events

    def expect(self, *events: str) -> None:
        """Exactly these come, in this order, and nothing more for a while."""
        seen: list[str] = []
        end = time.monotonic() + PATIENCE
        while len(seen) < len(events) and time.monotonic() < end:
            seen += self.read(0.2)
        seen += self.rest()
        assert seen == list(events), f"expected {list(events)}\nseen     {seen}"

    def rest(self) -> list[str]:
        seen: list[str] = []
        while more := self.read(QUIET):
            seen += more
        return seen


class Devices:
    def __init__(self, here: str, dewpoint: str, there: str) -> None:
        self.here, self.dewpoint, self.there = here, dewpoint, there

    def sync(self) -> None:
        command = [self.dewpoint, "sync", self.there, "--wait"]
        if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            # The deletion of most files waits to be confirmed.
            self.run("confirm", self.there)
            self.run("sync", self.there, "--wait")
        self.run("sync", self.here, "--wait")

    def change(self, body: Callable[[], object]) -> None:
        """Lets the other device make a change, which is applied here when this returns."""
        body()
        self.sync()

    def on(self, path: str) -> str:
        return os.path.join(self.here, path)

    def at(self, path: str) -> str:
        """The same path on the other device."""
        return os.path.join(self.there, path)

    def write(self, path: str, text: str) -> None:
        with open(self.at(path), "w") as file:
            file.write(text)

    def run(self, *command: str) -> None:
        subprocess.run([self.dewpoint, *command], check=True, stdout=subprocess.DEVNULL)


def every_kind_of_change(devices: Devices) -> None:
    there = devices.at
    os.makedirs(there("d/sub"))
    os.mkdir(there("e"))
    devices.sync()
    watcher = Watcher(d=devices.on("d"), e=devices.on("e"), root=devices.here)
    for name in ("one", "ü 日 .txt"):
        devices.change(functools.partial(devices.write, f"d/{name}", "first"))
        watcher.expect(f"d:CREATE {name}", f"d:OPEN {name}", f"d:CLOSE_WRITE {name}")
    devices.change(lambda: os.mkdir(there("d/new")))
    watcher.expect("d:CREATE/ new")
    devices.change(lambda: os.symlink("one", there("d/link")))
    watcher.expect("d:CREATE link")
    # A placeholder: those who watch would read it at once.
    devices.change(lambda: devices.write("d/one", "second"))
    watcher.expect("d:ATTRIB one")
    devices.run("download", devices.on("d/one"))
    watcher.expect("d:ATTRIB one")
    # Now that it is local, newer bytes are seen when they are here.
    devices.change(lambda: devices.write("d/one", "third"))
    watcher.expect("d:OPEN one", "d:MODIFY one", "d:CLOSE_WRITE one")
    with open(devices.on("d/one")) as file:
        assert file.read() == "third"
    assert watcher.rest() == ["d:OPEN one"]
    devices.change(lambda: os.chmod(there("d/one"), 0o640))
    watcher.expect("d:ATTRIB one")
    devices.change(lambda: os.setxattr(there("d/one"), "user.color", b"red"))
    watcher.expect("d:ATTRIB one")
    devices.change(lambda: os.setxattr(there("d/one"), "user.dewpoint.preview", b"\xff\xd8\xff small"))
    watcher.expect("d:ATTRIB one")
    devices.change(lambda: os.chmod(there("d/sub"), 0o750))
    watcher.expect("d:ATTRIB/ sub")
    devices.run("evict", devices.on("d/one"))
    watcher.expect("d:ATTRIB one")
    devices.change(lambda: os.rename(there("d/one"), there("d/two")))
    watcher.expect("d:MOVED_FROM one", "d:MOVED_TO two")
    assert watcher.cookies[-1] == watcher.cookies[-2] != 0
    devices.change(lambda: os.rename(there("d/two"), there("e/two")))
    watcher.expect("d:MOVED_FROM two", "e:MOVED_TO two")
    devices.change(lambda: os.rename(there("e/two"), there("d/sub/two")))
    watcher.expect("e:MOVED_FROM two")
    devices.change(lambda: os.rename(there("d/sub/two"), there("two")))
    watcher.expect("root:MOVED_TO two")
    devices.change(lambda: os.unlink(there("two")))
    watcher.expect("root:DELETE two")
    devices.change(lambda: os.unlink(there("d/link")))
    watcher.expect("d:DELETE link")
    devices.change(lambda: os.rmdir(there("d/new")))
    watcher.expect("d:DELETE/ new")


def watched_items_themselves(devices: Devices) -> None:
    there = devices.at
    os.mkdir(there("d"))
    devices.write("d/file", "first")
    devices.write("d/other", "first")
    os.mkdir(there("d/inner"))
    devices.sync()
    devices.run("download", devices.on("d/file"))
    watcher = Watcher(file=devices.on("d/file"), other=devices.on("d/other"), inner=devices.on("d/inner"))
    devices.change(lambda: os.chmod(there("d/file"), 0o600))
    watcher.expect("file:ATTRIB")
    devices.change(lambda: os.rename(there("d/file"), there("d/inner/file")))
    watcher.expect("inner:MOVED_TO file", "file:MOVE_SELF")
    # Its inode is another one now, as when a program saves a file anew.
    devices.change(lambda: devices.write("d/inner/file", "second"))
    watcher.expect("inner:MOVED_TO file", "file:ATTRIB", "file:DELETE_SELF", "file:IGNORED")
    with open(devices.on("d/inner/file")) as file:
        assert file.read() == "second"
    watcher.rest()
    devices.change(lambda: os.unlink(there("d/other")))
    watcher.expect("other:ATTRIB", "other:DELETE_SELF", "other:IGNORED")
    devices.change(lambda: os.rename(there("d/inner"), there("moved")))
    watcher.expect("inner:MOVE_SELF")
    devices.change(lambda: os.unlink(there("moved/file")))
    watcher.expect("inner:DELETE file")
    devices.change(lambda: os.rmdir(there("moved")))
    watcher.expect("inner:DELETE_SELF", "inner:IGNORED")


def a_directory_that_is_worked_in(devices: Devices) -> None:
    """Another device moves it, and then the directory above it: the process there finds its way."""
    there = devices.at
    os.makedirs(there("a/b/c"))
    devices.sync()
    os.chdir(devices.on("a/b/c"))
    watcher = Watcher(root=devices.here, a=devices.on("a"), c=".")
    devices.change(lambda: os.rename(there("a/b"), there("a/x")))
    watcher.expect("a:MOVED_FROM/ b", "a:MOVED_TO/ x")
    assert os.getcwd() == devices.on("a/x/c"), os.getcwd()
    devices.change(lambda: os.rename(there("a"), there("z")))
    watcher.expect("root:MOVED_FROM/ a", "root:MOVED_TO/ z", "a:MOVE_SELF")
    assert os.getcwd() == devices.on("z/x/c"), os.getcwd()
    devices.change(lambda: devices.write("z/x/c/file", "text"))
    watcher.expect("c:CREATE file", "c:OPEN file", "c:CLOSE_WRITE file")
    # The whole tree goes, from below.
    os.chdir("/")
    devices.change(lambda: subprocess.run(["rm", "-r", there("z")], check=True))
    watcher.expect(
        "c:DELETE file", "c:DELETE_SELF", "c:IGNORED", "a:DELETE/ x", "a:DELETE_SELF", "a:IGNORED", "root:DELETE/ z"
    )


def many_changes_at_once(devices: Devices) -> None:
    """Thousands of names come, move and go, while others look at them all the time."""
    count = 3000
    there = devices.at
    os.mkdir(there("d"))
    devices.sync()
    # Others open the directory all the time.
    watcher = Watcher(WATCHED & ~OPEN, d=devices.on("d"))
    crowd = [
        subprocess.Popen(["bash", "-c", f"while :; do {command}; done > /dev/null 2>&1"], start_new_session=True)
        for command in (f"ls -l '{devices.on('d')}'", f"stat '{devices.on('d')}'/{{1..500}}")
    ]
    try:

        def create() -> None:
            for number in range(count):
                devices.write(f"d/{number}", "")

        def rename() -> None:
            for number in range(count):
                os.rename(there(f"d/{number}"), there(f"d/m{number}"))

        def remove() -> None:
            for number in range(count):
                os.unlink(there(f"d/m{number}"))

        def collect(done: Callable[[list[str]], bool]) -> list[str]:
            seen: list[str] = []
            end = time.monotonic() + 120
            while not done(seen) and time.monotonic() < end:
                seen += watcher.read(0.5)
            return seen + watcher.rest()

        devices.change(create)
        seen = collect(lambda seen: len(seen) >= 2 * count)
        created = [event.split()[1] for event in seen if ":CREATE" in event]
        assert sorted(created, key=int) == [str(number) for number in range(count)], len(created)
        assert len(seen) == 2 * count, len(seen)
        devices.change(rename)
        seen = collect(lambda seen: len(seen) >= 2 * count)
        assert len(seen) == 2 * count, (len(seen), seen[:10])
        pairs = zip(seen[::2], seen[1::2], strict=True)
        assert all(old.replace("FROM ", "TO m") == new for old, new in pairs)
        devices.change(remove)
        seen = collect(lambda seen: len(seen) >= count)
        assert sorted(seen) == sorted(f"d:DELETE m{number}" for number in range(count)), (len(seen), seen[:10])
    finally:
        for process in crowd:
            os.killpg(process.pid, 9)
            process.wait()


def names_that_programs_use_meanwhile(devices: Devices) -> None:
    """Programs here make and remove the same names that come and go from elsewhere: none of their files is touched."""
    there, here = devices.at, devices.on
    os.mkdir(there("d"))
    devices.sync()
    watcher = Watcher(d=here("d"))
    for turn in range(30):
        name = f"d/{turn % 5}"
        devices.write(name, f"there {turn}")
        mine = here(f"d/mine {turn}")
        with open(mine, "w") as file:
            file.write(str(turn))
        if turn % 3 == 0 and os.path.exists(here(name)):
            os.unlink(here(name))
        if turn % 4 == 1 and os.path.exists(there(name)):
            os.unlink(there(name))
            with open(here(name), "w") as file:
                file.write(f"here {turn}")
    devices.sync()
    devices.sync()
    for turn in range(30):
        with open(here(f"d/mine {turn}")) as file:
            assert file.read() == str(turn)
    assert sorted(os.listdir(here("d"))) == sorted(os.listdir(there("d")))
    seen = watcher.rest()
    for turn in range(30):
        assert seen.count(f"d:CREATE mine {turn}") == 1, seen


def the_helper_is_killed(devices: Devices) -> None:
    """Some changes may not be seen then, but later ones are, and nothing waits for ever."""
    there = devices.at
    os.mkdir(there("d"))
    devices.sync()
    watcher = Watcher(d=devices.on("d"))
    for turn in range(5):
        for number in range(100):
            devices.write(f"d/{turn} {number}", "")
        syncing = threading.Thread(target=devices.sync)
        syncing.start()
        while syncing.is_alive():
            if helper := helper_of(devices.here):
                time.sleep(0.002 * turn)
                os.kill(helper, 9)
                break
        syncing.join()
    assert len(os.listdir(devices.on("d"))) == 500
    watcher.rest()
    devices.change(lambda: devices.write("d/last", ""))
    watcher.expect("d:CREATE last", "d:OPEN last", "d:CLOSE_WRITE last")


def helper_of(point: str) -> int | None:
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                with open(f"/proc/{process}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[1:3] == [b"--announce-changes", os.fsencode(os.path.realpath(point))]:
                return int(process)
    return None


def nothing_is_announced(devices: Devices) -> None:
    os.mkdir(devices.at("d"))
    devices.sync()
    watcher = Watcher(WATCHED & ~OPEN, d=devices.on("d"))
    devices.change(lambda: devices.write("d/file", "text"))
    assert os.listdir(devices.on("d")) == ["file"]
    watcher.expect()


CASES = [
    every_kind_of_change, watched_items_themselves, a_directory_that_is_worked_in, many_changes_at_once,
    names_that_programs_use_meanwhile, the_helper_is_killed, nothing_is_announced,
]  # fmt: skip

if __name__ == "__main__":
    case, here, dewpoint, there = sys.argv[1:]
    next(function for function in CASES if function.__name__ == case)(Devices(here, dewpoint, there))
