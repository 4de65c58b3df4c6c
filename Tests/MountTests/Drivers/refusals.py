"""A refused read is an error for every caller: python3 refusals.py FILE ERRNO DIRECTORY

Runs what would lose data if a refusal looked like the end of the file; DIRECTORY is outside the mount.
"""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def refused(call: Callable[..., object], *arguments: Any) -> None:
    try:
        call(*arguments)
    except OSError as error:
        assert error.errno == getattr(errno, expected), f"{call}: {error}"
        return
    raise AssertionError(f"{call.__name__} {arguments}: success instead of {expected}")


def read(file: Any) -> bytes:
    with open(file, "rb") as stream:
        return stream.read()


def read_raw(file: Any) -> bytes | None:
    with open(file, "rb", buffering=0) as stream:
        return stream.read()


def read_text(file: Any) -> list[str]:
    with open(file, encoding="latin-1") as stream:
        return list(stream)


file, expected, directory = sys.argv[1:4]
copy = os.path.join(directory, "refused-copy")
for reader in read, read_raw, read_text:
    refused(reader, file)
for mover in shutil.copy, shutil.copyfile, shutil.move:
    refused(mover, file, copy)
for command in (
    ["cp", file, copy],
    ["cat", file],
    ["grep", "-c", "x", file],
    ["mv", file, copy],
    ["tail", "-c", "10", file],
):
    result = subprocess.run(command, capture_output=True, check=False)
    assert result.returncode != 0, f"{command} succeeded"
assert os.stat(file).st_size > 0, "the source was truncated"
