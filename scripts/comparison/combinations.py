"""In which ways programs are run: by whom, with or without pass-through, on local files or placeholders, on which
store, by which system calls."""

import contextlib
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile

from . import mount, rings

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUCKET = "dewpoint-compare"
SERVER_SECONDS = 120
SYSTEM_PYTHON = "/usr/bin/python3"
USERS, FILES, STORES = ("root", "ordinary"), ("local", "placeholders"), ("directory", "s3")
# How files are read and written.
CALLS = ("plain", "io_uring")


@dataclasses.dataclass(frozen=True)
class Combination:
    user: str
    passes_through: bool
    files: str
    store: str
    calls: str = CALLS[0]

    def __str__(self) -> str:
        words = [self.user, "pass-through" if self.passes_through else "no pass-through", self.files, self.store]
        return ", ".join(words + ([] if self.calls == CALLS[0] else [self.calls]))

    @property
    def options(self) -> list[str]:
        return [] if self.passes_through else ["off=passthrough"]


def wanted(
    user: str | None = None,
    passes_through: bool | None = None,
    files: str | None = None,
    store: str | None = None,
    calls: str | None = None,
) -> list[Combination]:
    """All combinations that the given choices leave. Only root can have pass-through; which calls are made says nothing
    of a store, so io_uring is for one."""
    return [
        Combination(*one)
        for one in itertools.product(
            [user] if user else USERS,
            [True, False] if passes_through is None else [passes_through],
            [files] if files else FILES,
            [store] if store else STORES,
            [calls] if calls else CALLS,
        )
        if (one[0] == "root" or not one[1]) and (one[4] == CALLS[0] or one[3] == STORES[0] or store)
    ]


def hindrance(scratch: str) -> str | None:
    """Why nothing can be compared here; None where it can."""
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse here"
    kind = mount.run("stat", "--file-system", "--format=%T", scratch)
    return None if kind == "ext2/ext3" else f"{scratch} is on {kind}, and not on ext4: set TMPDIR"


def obstacle(combination: Combination) -> str | None:
    """Why a combination cannot be run here; None where it can."""
    is_root = os.geteuid() == 0
    if combination.user == "root" and not is_root:
        return "only root can run programs as root"
    if combination.store == "s3" and not any(
        os.access(f"{place}/radosgw", os.X_OK) for place in [*os.get_exec_path(), "/usr/sbin"]
    ):
        return "there is no S3 server (Debian's radosgw)"
    if combination.calls != CALLS[0] and (reason := rings.hindrance()):
        return f"there is no io_uring here: {reason}"
    return None


class Server:
    """A real S3 server, which ends with this process."""

    def __init__(self) -> None:
        self.environment: dict[str, str] | None = None

    def start(self) -> dict[str, str]:
        if self.environment is None:
            # Short: the names of the server's sockets must fit into 107 bytes.
            place = os.path.join(tempfile.mkdtemp(prefix="dewpoint-s3-", dir="/tmp"), "s3")
            script = os.path.join(SCRIPTS, "s3-server")
            mount.run(script, "start", place, seconds=SERVER_SECONDS, environment={"OWNER": str(os.getpid())})
            mount.run(script, "bucket", place, BUCKET)
            with open(os.path.join(place, "environment"), encoding="ascii") as file:
                self.environment = dict(line.rstrip("\n").split("=", 1) for line in file)
        return self.environment


def start(
    combination: Combination, seeds: list[int | str], job: int, arguments: list[str], server: Server
) -> subprocess.Popen[str]:
    """Starts one part of the seeds as a process of its own, of the right user."""
    environment, url = dict(os.environ), None
    if combination.store == "s3":
        environment.update(server.start())
        url = f"s3://{BUCKET}/{os.getpid()}-{abs(hash(combination)):x}-{job}"
    words = {**dataclasses.asdict(combination), "url": url, "seeds": seeds}
    command = [os.path.join(SCRIPTS, "compare"), "--part", json.dumps(words), *arguments]
    if combination.user == "ordinary" and os.geteuid() == 0:
        # Root's own Python may be where nobody else gets in.
        command = [os.path.join(SCRIPTS, "as-user"), SYSTEM_PYTHON, *command]
    else:
        command = [sys.executable, *command]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def abort(number: int) -> None:
    """Ends a FUSE connection, and with it every wait in its mount. Only root can; the mount's user may be stuck
    himself."""
    control = "/sys/fs/fuse/connections"
    with contextlib.suppress(OSError, mount.Failure):
        if not os.path.exists(f"{control}/{number}"):
            control = tempfile.mkdtemp(prefix="dewpoint-connections-")
            mount.run("mount", "-t", "fusectl", "none", control)
        try:
            with open(f"{control}/{number}/abort", "w", encoding="ascii") as file:
                file.write("1")
        finally:
            if control.startswith(tempfile.gettempdir()):
                mount.run("umount", control)
                os.rmdir(control)
