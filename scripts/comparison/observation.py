"""What is seen of files: attributes, bytes and whole trees, in a form that can be compared."""

import errno
import os
import re
import stat
from collections.abc import Callable
from typing import Any

from . import syscalls

KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "character", stat.S_IFBLK: "block",
}  # fmt: skip
# What Dewpoint answers by name only, and never lists.
OURS = "user.dewpoint."


def runs(data: bytes) -> str:
    """Bytes as text: `a*100 .*28 bb` is 100 times a, 28 zeros and two b."""
    parts = []
    while data:
        first = data[:1]
        rest = data.lstrip(first)
        count = len(data) - len(rest)
        letter = (
            "." if first == b"\0" else first.decode("latin-1") if re.match(rb"[a-zA-Z]", first) else f"\\x{first.hex()}"
        )
        parts.append(f"{letter}*{count}")
        data = rest
        if len(parts) > 200:
            return " ".join(parts) + f" and {len(data)} more"
    return " ".join(parts)


def attributes(directory: int, path: str, flags: int) -> dict[str, Any]:
    """The attributes of one item. `times` and `identity` are for the judge, who compares their order only."""
    found = syscalls.statx(directory, path, flags)
    kind = KINDS[stat.S_IFMT(found["mode"])]
    seen = {
        "kind": kind, "mode": oct(stat.S_IMODE(found["mode"])), "uid": found["uid"], "gid": found["gid"], "nlink": found["nlink"],
        "times": [found["atime"], found["mtime"], found["ctime"]], "identity": (found["ino"], found["btime"]),
    }  # fmt: skip
    if kind in ("character", "block"):
        seen["rdev"] = found["rdev"]
    if kind != "directory":
        seen["size"] = found["size"]
    # An empty file may have blocks for its attributes, or ahead of its bytes.
    if kind == "file" and found["size"] > 0:
        seen["has blocks"] = found["blocks"] > 0
    return seen


def extended_attributes(path: str) -> dict[str, str]:
    """Names and values of the user attributes."""
    names = os.listxattr(path, follow_symlinks=False)
    return {
        name: runs(os.getxattr(path, name, follow_symlinks=False))
        for name in sorted(names)
        if name.startswith("user.") and not name.startswith(OURS)
    }


def contents(path: str) -> str:
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        return runs(file.read())


def attempt(action: Callable[..., Any], *arguments: Any) -> Any:
    """The result of an action, or the name of its errno."""
    try:
        return action(*arguments)
    except OSError as error:
        return name(error)


def tree(root: str) -> dict[str, Any]:
    """Every item below a directory: by path what can be seen of it. Items of one inode share a number, in order of
    paths."""
    found: dict[str, Any] = {}
    groups: dict[int, int] = {}
    pending = ["."]
    while pending:
        path = pending.pop()
        whole = os.path.join(root, path)
        seen = attempt(attributes, syscalls.AT_FDCWD, whole, syscalls.AT_SYMLINK_NOFOLLOW)
        found[path] = seen
        if isinstance(seen, str):
            continue
        if seen["kind"] == "directory":
            names = attempt(listing, whole)
            seen["listing"] = names
            if not isinstance(names, str):
                pending += [os.path.normpath(os.path.join(path, entry.split("\t")[0])) for entry in names]
        elif seen["kind"] == "file":
            seen["bytes"] = attempt(contents, whole)
        elif seen["kind"] == "link":
            seen["target"] = attempt(os.readlink, whole)
        if seen["kind"] in ("file", "directory"):
            seen["xattrs"] = attempt(extended_attributes, whole)
    for path in sorted(found):
        if isinstance(found[path], dict) and found[path]["kind"] != "directory":
            found[path]["inode"] = groups.setdefault(found[path]["identity"][0], len(groups))
    return found


def listing(path: str | int) -> list[str]:
    """Names with their kinds, as the directory itself tells them (d_type)."""
    with os.scandir(path) as entries:
        return sorted(f"{entry.name}\t{kind(entry)}" for entry in entries)


def kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, f"errno {error.errno}")
