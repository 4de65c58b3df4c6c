"""A container and the devices that have it mounted."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence

COMMAND_SECONDS = 60
SYNC_SECONDS = 60
POLL_SECONDS = 0.05
# The status of a file whose newer bytes are not downloaded yet.
OUTDATED = "Downloaded"
# Before the number of a connection, in what a part prints.
ABORT = "abort: "
ABORT_SECONDS = 1
IDENTIFIER = "iCloud.org.dewpoint.Compare"


class Failure(Exception):
    """A command failed; the text says which and how."""


def run(*command: str, seconds: float = COMMAND_SECONDS, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints. One that does not end in time is killed and not waited for: what is stuck in a mount may
    never end."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
    )
    try:
        text = process.communicate(timeout=seconds)[0].decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure(f"{' '.join(command)}: not done within {seconds} s") from None
    if process.returncode:
        raise Failure(f"{' '.join(command)}: exit status {process.returncode}: {text}")
    return text


def connection(point: str) -> int | None:
    """The number of the FUSE connection that is mounted at a path; None where none is."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            words = line.split()
            if words[4] == point:
                return int(words[2].partition(":")[2])
    return None


class Container:
    def __init__(
        self, binary: str, work: str, url: str | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.binary, self.work = binary, work
        self.environment = {
            "XDG_RUNTIME_DIR": f"{work}/run",
            # A daemon that is killed as often as one likes is replaced all the same.
            "DEWPOINT_SUPERVISOR_SECONDS": "0",
            **(environment or {}),
        }
        os.makedirs(f"{work}/run", mode=0o700, exist_ok=True)
        self.url = url or f"file://{work}/remote"
        if url is None:
            os.makedirs(f"{work}/remote")
        run(binary, "container", "create", self.url, "--id", IDENTIFIER, environment=self.environment)


class Device:
    def __init__(self, container: Container, name: str, options: Sequence[str] = ()) -> None:
        self.container, self.name, self.options = container, name, options
        self.point, self.state = f"{container.work}/{name}", f"{container.work}/state-{name}"
        # Held while a command runs, and while the daemon is killed.
        self.guard = threading.Lock()
        os.makedirs(self.point)

    def command(self, *words: str, seconds: float = COMMAND_SECONDS) -> str:
        with self.guard:
            return run(self.container.binary, *words, seconds=seconds, environment=self.container.environment)

    def mount(self) -> None:
        words = [word for option in self.options for word in ("-o", option)]
        names = ["--state", self.state, "--device-name", self.name]
        self.command("mount", self.container.url, self.point, *names, *words)

    def unmount(self) -> None:
        with contextlib.suppress(Failure):
            self.command("unmount", self.point)
            return
        self.abandon()

    def daemon(self) -> int:
        with open(f"{self.state}/lock", encoding="ascii") as file:
            return int(file.read())

    def kill(self) -> None:
        """Ends the daemon as a crash would."""
        pid = self.daemon()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return
            except OSError:
                return
            time.sleep(0.005)
        raise Failure(f"the daemon {pid} survives SIGKILL")

    def abandon(self) -> None:
        """Leaves no mount and no daemon behind, whatever state they are in."""
        number = connection(self.point)
        if number is not None:
            # Processes that are stuck in the mount end with its connection only, which root's part of this program
            # ends.
            print(f"{ABORT}{number}", flush=True)
            time.sleep(ABORT_SECONDS)
        with contextlib.suppress(OSError, ValueError, Failure):
            self.kill()
        for command in (["fusermount3", "-uz", self.point], ["umount", "--lazy", self.point]):
            with contextlib.suppress(OSError, Failure):
                run(*command, seconds=10)
                return

    def sync(self) -> None:
        """Waits until nothing is left to upload or apply."""
        self.command("sync", self.point, "--wait", seconds=SYNC_SECONDS)

    def await_newer_bytes(self, path: str) -> None:
        """Waits until a local file has the bytes of the last commit: until they are downloaded it keeps the older
        ones."""
        limit = time.monotonic() + SYNC_SECONDS
        while json.loads(self.command("status", f"{self.point}/{path}", "--json"))[0]["downloadingStatus"] == OUTDATED:
            if time.monotonic() > limit:
                raise Failure(f"{self.name}: {path} still has its older bytes (limit {SYNC_SECONDS} s)")
            time.sleep(POLL_SECONDS)
