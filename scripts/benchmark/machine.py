"""Processes, mounts and facts of this machine."""

import contextlib
import hashlib
import json
import mmap
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(SCRIPTS)
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")
MOUNT_SECONDS = 60
UNMOUNT_SECONDS = 30
END_SECONDS = 5


class Failure(Exception):
    """Something that was measured did not do its work; the text says what."""


class TooSlow(Failure):
    """Something took longer than its limit, which is the only argument, in seconds."""

    def __str__(self) -> str:
        return f"> {self.args[0]:g} s"


def digest(data: bytes | memoryview) -> str:
    return hashlib.sha256(data).hexdigest()


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(
    *arguments: str, seconds: float = 60, environment: Mapping[str, str] | None = None, directory: str | None = None
) -> str:
    """Runs a command to its end and returns what it printed. It is killed after `seconds`, even where it touches a
    mount."""
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=directory,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end_group(process)
        raise TooSlow(seconds) from None
    except BaseException:
        end_group(process)
        raise
    if process.returncode:
        words = errors.decode(errors="replace").strip() or output.decode(errors="replace").strip()
        raise Failure(f"{os.path.basename(arguments[0])}: {words.splitlines()[-1] if words else process.returncode}")
    return output.decode(errors="replace")


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that leads a session, and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # What waits for a mount that answers nothing ends when that is gone.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=END_SECONDS)


def work(verb: str, seconds: float, **arguments: Any) -> dict[str, Any]:
    """Has worker.py do and time one piece of work, in a process of its own, and returns what it reports."""
    output = run(sys.executable, "-I", WORKER, verb, json.dumps(arguments), seconds=seconds)
    result: dict[str, Any] = json.loads(output)
    if "failure" in result:
        raise Failure(result["failure"])
    return result


def is_mounted(point: str) -> bool:
    """Whether something is mounted at a path. Never asks the file system there, which may not answer."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        return any(line.split()[4].replace("\\040", " ") == point for line in table)


def any_mounted(directory: str) -> bool:
    """Whether something is mounted in a directory."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        return directory in table.read()


def await_mount(point: str, process: subprocess.Popen[bytes]) -> None:
    """Waits until a file system that runs in the foreground has mounted."""
    end = time.monotonic() + MOUNT_SECONDS
    while not is_mounted(point):
        if process.poll() is not None:
            raise Failure(f"ended with {process.returncode} before it mounted")
        if time.monotonic() > end:
            raise Failure(f"did not mount within {MOUNT_SECONDS} s")
        time.sleep(0.001)


def take_down(point: str) -> None:
    """Unmounts whatever is at a path, by force if it must be."""
    for command in (["fusermount3", "-u"], ["umount"], ["fusermount3", "-uz"], ["umount", "--lazy"]):
        if not is_mounted(point):
            return
        with contextlib.suppress(Failure, OSError):
            run(*command, point, seconds=UNMOUNT_SECONDS)


def stop(process: subprocess.Popen[bytes], seconds: float = END_SECONDS) -> None:
    """Ends a child: it may end by itself, is asked to, and is killed at last."""
    for attempt in (None, signal.SIGTERM, signal.SIGKILL):
        if attempt is not None and process.poll() is None:
            process.send_signal(attempt)
        try:
            process.wait(seconds if attempt is None else END_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue


def drop_caches() -> bool | None:
    """Makes the kernel forget what it has read. Returns whether it did: only root can."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3")
        return True
    except OSError:
        return False


def touch_memory(byte_count: int) -> None:
    """Uses free memory once. A virtual machine's host takes back what lies free, and gives each page again at its first
    use, at a price that differs from minute to minute and is none of the file system's: here it is paid before the
    measuring."""
    with open("/proc/meminfo", encoding="ascii") as file:
        available = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    mmap.mmap(-1, min(byte_count, available // 2), flags=flags).close()


def memory(pid: int) -> dict[str, int]:
    """What a process holds, in bytes: all of it, its own alone, and the most it ever held."""
    fields = {"VmRSS": "resident", "RssAnon": "anonymous", "VmHWM": "peak"}
    result = {}
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            name, _, rest = line.partition(":")
            if name in fields:
                result[fields[name]] = int(rest.split()[0]) * 1024
    return result


def processor_seconds(pid: int) -> float:
    """How long a process has had a processor, in its own code and in the kernel."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def facts(directory: str) -> dict[str, Any]:
    """What one must know of a machine to judge figures from it."""
    model = next(
        (line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?"
    )
    total = next(int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if line.startswith("MemTotal"))
    kind = run("stat", "--file-system", "--format=%T", directory).strip()
    return {
        "processors": len(os.sched_getaffinity(0)),
        "processor": model,
        "memory": total,
        "kernel": platform.release(),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "?"),
        "fileSystem": "ext4" if kind == "ext2/ext3" else kind,
        "directory": directory,
        "isRoot": os.geteuid() == 0,
        "load": os.getloadavg(),
    }
