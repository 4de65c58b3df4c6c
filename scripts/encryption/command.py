"""Commands and mounts of the systems, and what they print. None of them may run longer than it should."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from benchmark import machine
from benchmark.machine import Failure

READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reader.py")
COMMAND_SECONDS = 60
READING_SECONDS = 90
# What a client may cost that is asked for absurd work by a store; see `bounded`.
BEARABLE_SECONDS = 10
BEARABLE_BYTES = 1 << 30
ADDRESS_SPACE = 16 << 30
POLL_SECONDS = 0.02


# How a command ended that was killed.
KILLED = -1


@dataclasses.dataclass(frozen=True)
class Said:
    """How a command ended, and all that it printed."""

    code: int
    words: str

    @property
    def last(self) -> str:
        """The line that says most."""
        lines = [line.strip() for line in self.words.split("\n") if line.strip()]
        telling = [line for line in lines if "rror" in line or "atal" in line or "refuse" in line]
        return (telling or lines or [f"exit status {self.code}"])[-1]


def start(
    command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | int, source: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Starts a command in a session of its own; both of its outputs go to one place."""
    return subprocess.Popen(
        command,
        stdin=source,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
        start_new_session=True,
    )


def run(
    command: Sequence[str], environment: Mapping[str, str], data: bytes = b"", seconds: float = COMMAND_SECONDS
) -> Said:
    """Runs a command to its end, whatever that is."""
    process = start(command, environment, subprocess.PIPE, subprocess.PIPE)
    try:
        output, _ = process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        machine.end_group(process)
        words = (late.output or b"").decode(errors="replace")
        return Said(KILLED, f"{words}\n{os.path.basename(command[0])}: error: not done after {seconds:g} s")
    except BaseException:
        machine.end_group(process)
        raise
    return Said(process.returncode, output.decode(errors="replace"))


def must(command: Sequence[str], environment: Mapping[str, str], data: bytes = b"") -> str:
    said = run(command, environment, data)
    if said.code:
        raise Failure(f"{os.path.basename(command[0])} {command[1]}: {said.last}")
    return said.words


@contextlib.contextmanager
def foreground(command: Sequence[str], environment: Mapping[str, str], point: str, log: str) -> Iterator[None]:
    """A file system that runs as a child, mounted until it is left. What it prints is in the log."""
    os.makedirs(point, exist_ok=True)
    with open(log, "ab") as output:
        process = start(command, environment, output)
    try:
        machine.await_mount(point, process)
        yield
    finally:
        machine.take_down(point)
        machine.stop(process)


def text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def tree(directory: str, *skipped: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files in a directory, and the errors of those that could not be read.

    `skipped`: how the names begin, at the top, of what is no file of the tree. Another process reads them: what waits
    for a mount that never answers can only be killed.
    """
    copy = directory.rstrip("/") + ".read"
    said = run([sys.executable, "-I", READER, directory, copy, *skipped], {}, seconds=READING_SECONDS)
    if said.code:
        return {}, {".": said.last}
    report = json.loads(said.words)
    files = {}
    for path, number in report["files"].items():
        with open(os.path.join(copy, str(number)), "rb") as file:
            files[path] = file.read()
    return files, report["errors"]


def bounded(command: Sequence[str], environment: Mapping[str, str]) -> Said | None:
    """Runs a command that a store may have asked for absurd work. None: it was killed when it took more than is bearable."""
    end = time.monotonic() + BEARABLE_SECONDS
    with tempfile.TemporaryFile() as output:
        process = start(["prlimit", f"--as={ADDRESS_SPACE}", *command], environment, output)
        try:
            while process.poll() is None:
                most = 0
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    most = machine.memory(process.pid).get("peak", 0)
                if most > BEARABLE_BYTES or time.monotonic() > end:
                    return None
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                machine.end_group(process)
        output.seek(0)
        return Said(process.returncode, output.read().decode(errors="replace"))
