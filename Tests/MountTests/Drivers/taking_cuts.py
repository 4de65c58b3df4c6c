"""Cuts the power while a directory is taken over or given back, and checks that every byte is still there.

    python3 taking_cuts.py --binary DEWPOINT --disk POWERCUT_DISK [--rounds N] [--file-system ext4|xfs|btrfs] [--seed N]

Directory and state are on a file system on a loop device on a disk with a volatile write cache (Sources/powercut-disk).
After each cut the same command finishes what was interrupted. Needs root.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from powercuts import Disk, call
from taking import Taking, digests, populate, shape

FILES = 400


class CutTaking(Taking):
    """The power is cut instead of the process killed."""

    def __init__(self, options: argparse.Namespace, work: str, seed: int) -> None:
        self.rng = random.Random(seed)
        self.disk = Disk(options, work, self.rng)
        self.disk.format()
        self.disk.start()
        super().__init__(
            argparse.Namespace(
                binary=options.binary,
                directory=os.path.join(self.disk.root, "directory"),
                state=os.path.join(self.disk.root, "state"),
                url="file://" + os.path.join(work, "store"),
                seed=seed,
                kills=0,
            )
        )

    def start(self) -> None:
        populate(self.directory, FILES, self.rng)
        call("sync", "--file-system", self.directory)
        self.before, self.contents = shape(self.directory), digests(self.directory)

    def cut(self, arguments: list[str], limit: float) -> None:
        """Begins a command, cuts the power after a while, and mounts the disk again."""
        with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
            with contextlib.suppress(subprocess.TimeoutExpired):
                command.wait(self.rng.uniform(0, limit))
            self.disk.cut()
            self.kill(command)
        self.unmount()
        self.disk.stop()
        self.disk.start()
        self.unmount()

    def round(self) -> None:
        self.cut(self.take(), self.seconds)
        self.check_bytes(self.contents)
        begin = time.monotonic()
        self.run(self.take())
        self.seconds = 0.2 + (time.monotonic() - begin)
        assert shape(self.directory) == self.before, "the mount is not as the directory was"
        self.run([self.binary, "sync", "--wait", self.directory])
        call("sync", "--file-system", self.state)
        self.cut(self.undo(), self.seconds)
        if self.has_index() and not os.path.exists(os.path.join(self.state, "taking")):
            self.run([self.binary, "mount", f"{self.url}-{self.round_number}", self.directory, "--state", self.state])
        if self.has_index() or os.path.exists(os.path.join(self.state, "taking")):
            self.run(self.undo())
        assert shape(self.directory) == self.before, "the directory is not as it was"
        self.round_number += 1

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.unmount()
        for process in self.daemons():
            os.kill(process, signal.SIGKILL)
        self.disk.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--disk", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file-system", choices=["ext4", "xfs", "btrfs"], default="ext4")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="dewpoint-taking-")
    print(f"seed {options.seed}, in {work}", flush=True)
    taking = CutTaking(options, work, options.seed)
    try:
        taking.start()
        for _ in range(options.rounds):
            taking.round()
    finally:
        taking.end()
    shutil.rmtree(work, ignore_errors=True)
    print(f"{2 * options.rounds} power cuts survived on {options.file_system}")


if __name__ == "__main__":
    main()
