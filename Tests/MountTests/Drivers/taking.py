"""Takes a directory over and gives it back, kills the daemon and the command at random moments, and checks that every byte stays.

    python3 taking.py --binary DEWPOINT --directory DIRECTORY --state DIRECTORY --url URL [--kills N] [--files N] [--seed N]

The directory does not exist yet; state and URL are new.
"""

import argparse
import contextlib
import hashlib
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator

COMMAND_SECONDS = 120
# How often in a row a command is interrupted: each of them may need longer than the last that was not.
ROW_LIMIT = 8
ATTRIBUTE = "user.colour"


def populate(directory: str, files: int, source: random.Random) -> None:
    """A tree with everything that a file system can have in it."""
    os.mkdir(directory)
    parents = [directory]
    for number in range(files):
        parent = source.choice(parents)
        kind = source.random()
        name = source.choice(
            ["a", "b b", ".hidden", ".x.icloud", ".dewpoint-0", "caf\u00e9", "cafe\u0301", "new\nline"]
        )
        path = os.path.join(parent, f"{name}{number}" if kind > 0.05 else f".{number}.icloud")
        if kind < 0.12:
            os.mkdir(path, 0o755)
            parents.append(path)
        elif kind < 0.17:
            os.symlink(f"target {number}", path)
        elif kind < 0.19:
            os.mkfifo(path)
        else:
            with open(path, "wb") as file:
                if kind < 0.25:
                    file.truncate(1 << 20)
                    file.seek(source.randrange(1 << 20))
                file.write(source.randbytes(source.choice([0, 1, 100, 5000])))
            if kind > 0.9:
                os.link(path, f"{path} linked")
            if kind > 0.8:
                os.setxattr(path, ATTRIBUTE, source.randbytes(20))
            os.chmod(path, source.choice([0o644, 0o600, 0o400, 0o755, 0o444, 0o2755]))
            os.utime(path, ns=(source.randrange(10**18), source.randrange(10**18)))
    for path in reversed(parents[1:]):
        os.chmod(path, source.choice([0o755, 0o700, 0o500, 0o555]))
        os.utime(path, ns=(source.randrange(10**18), source.randrange(10**18)))


def shape(directory: str) -> dict[bytes, tuple[object, ...]]:
    """What a tree has, by path."""
    found: dict[bytes, tuple[object, ...]] = {}
    numbers: dict[int, bytes] = {}

    def look(path: bytes) -> None:
        status = os.lstat(path)
        relative = os.path.relpath(path, os.fsencode(directory))
        described: list[object] = [oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns]
        if stat.S_ISREG(status.st_mode):
            # A name that is the first of its file stands for it.
            described += [status.st_nlink, numbers.setdefault(status.st_ino, relative), status.st_size, digest(path)]
            described += [os.getxattr(path, ATTRIBUTE) if ATTRIBUTE in os.listxattr(path) else None]
        if stat.S_ISLNK(status.st_mode):
            described = [os.readlink(path)]
        found[relative] = tuple(described)
        if stat.S_ISDIR(status.st_mode):
            for name in sorted(os.listdir(path)):
                look(os.path.join(path, name))

    look(os.fsencode(directory))
    return found


def digest(path: bytes) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def digests(*directories: str) -> list[str]:
    """Of all files that are not empty, in whatever places."""
    found = []
    for top in directories:
        for directory, _, names in os.walk(os.fsencode(top)):
            for name in names:
                path = os.path.join(directory, name)
                if stat.S_ISREG(os.lstat(path).st_mode) and os.lstat(path).st_size > 0:
                    found.append(digest(path))
    return sorted(found)


class Taking:
    def __init__(self, options: argparse.Namespace) -> None:
        self.binary: str = options.binary
        self.directory: str = options.directory
        self.state: str = options.state
        self.url: str = options.url
        self.random = random.Random(options.seed)
        self.kills: int = options.kills
        # How long the last command took that came to its end, and how many since then did not.
        self.seconds = 1.0
        self.row = 0
        # Each round makes another container.
        self.round_number = 0

    def take(self) -> list[str]:
        url = f"{self.url}-{self.round_number}"
        return [self.binary, "take", self.directory, url, "--id", "iCloud.com.example.Taken", "--state", self.state]

    def undo(self) -> list[str]:
        return [self.binary, "take", "--undo", self.directory, "--state", self.state]

    def daemons(self) -> list[int]:
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    arguments = file.read().split(b"\0")
            except OSError:
                continue
            if b"--foreground" in arguments and self.state.encode() in arguments:
                found.append(int(entry))
        return found

    def kill(self, command: "subprocess.Popen[bytes]") -> None:
        command.kill()
        command.wait()
        # One may just be starting.
        end, quiet = time.monotonic() + COMMAND_SECONDS, 0
        while quiet < 5:
            found = self.daemons()
            quiet = 0 if found else quiet + 1
            for process in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            assert time.monotonic() < end, "the daemon does not end"
            time.sleep(0.01)

    def unmount(self) -> None:
        subprocess.run(["fusermount3", "-u", "-z", self.directory], stderr=subprocess.DEVNULL, check=False, timeout=60)

    def interrupted(self, arguments: list[str]) -> bool:
        """Runs a command and kills it and its daemon after a while; whether it was not done before that."""
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT) as command,
        ):
            start = time.monotonic()
            try:
                limit = self.random.uniform(0, self.seconds * 1.1) if self.row < ROW_LIMIT else COMMAND_SECONDS
                status = command.wait(limit)
            except subprocess.TimeoutExpired:
                self.row += 1
                self.kill(command)
                self.unmount()
                return True
            output.seek(0)
            assert status == 0, f"{arguments[1:]}: {status}: {output.read().decode('utf-8', 'replace')}"
        self.seconds = time.monotonic() - start
        self.row = 0
        return False

    def run(self, arguments: list[str]) -> None:
        result = subprocess.run(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=COMMAND_SECONDS
        )
        assert result.returncode == 0, (
            f"{arguments[1:]}: {result.returncode}: {result.stdout.decode('utf-8', 'replace')}"
        )

    def check_bytes(self, expected: list[str]) -> None:
        found = digests(self.directory, os.path.join(self.state, "files"))
        assert found == expected, f"{len(found)} files with bytes instead of {len(expected)}"

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Reads files by their paths all the time; all must be there."""
        paths = [path for path, described in shape(self.directory).items() if described[0] == "0o100644"]
        done = threading.Event()
        failures: list[BaseException] = []

        def read() -> None:
            try:
                while not done.is_set():
                    with open(os.path.join(os.fsencode(self.directory), self.random.choice(paths)), "rb") as file:
                        file.read()
            except BaseException as failure:
                failures.append(failure)

        thread = threading.Thread(target=read)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        if failures:
            raise failures[0]

    def undisturbed(self) -> None:
        """Programs find every file at every moment, and go on with those that they have open."""
        path = os.path.join(self.directory, "held")
        with open(path, "wb", buffering=0) as held:
            held.write(b"before ")
            with self.reading():
                self.run(self.take())
                time.sleep(0.2)
            held.write(b"after")
            end = time.monotonic() + COMMAND_SECONDS
            while True:
                with open(path, "rb") as file:
                    if file.read() == b"before after":
                        break
                assert time.monotonic() < end, "what was written to a file that was open is not seen"
                time.sleep(0.1)
            with open(path, "r+b") as other:
                other.truncate(0)
        self.run([self.binary, "sync", "--wait", self.directory])
        os.unlink(path)
        self.run(self.undo())
        self.round_number += 1

    def all(self, files: int) -> None:
        populate(self.directory, files, self.random)
        self.undisturbed()
        before, contents = shape(self.directory), digests(self.directory)
        interruptions = 0
        while interruptions < self.kills:
            while self.interrupted(self.take()):
                interruptions += 1
                self.check_bytes(contents)
            assert shape(self.directory) == before, "the mount is not as the directory was"
            self.run([self.binary, "sync", "--wait", self.directory])
            while self.interrupted(self.undo()):
                interruptions += 1
                self.check_bytes(contents)
                if not self.has_index() and not os.path.exists(os.path.join(self.state, "taking")):
                    break
                # A daemon that was killed must be started once more before its state can be given back.
                if not os.path.exists(os.path.join(self.state, "taking")) and self.has_index():
                    self.run(
                        [self.binary, "mount", f"{self.url}-{self.round_number}", self.directory, "--state", self.state]
                    )
            assert shape(self.directory) == before, "the directory is not as it was"
            assert not self.has_index(), "the state is left"
            self.round_number += 1
        print(f"{interruptions} interruptions")

    def has_index(self) -> bool:
        return os.path.exists(os.path.join(self.state, "index.sqlite"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--directory", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    Taking(options).all(options.files)


if __name__ == "__main__":
    main()
