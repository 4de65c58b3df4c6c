"""Which container a path belongs to, from the kernel's table of mounts: no mount is accessed, so none can make us wait.

The same as MountTable in Sources/Model/Mounts and ControlSocket in Sources/ControlAPI; the tests compare the two.
"""

import dataclasses
import os
import pwd
import re
import socket
import stat
import struct
from collections.abc import Mapping, Sequence

TYPE = "fuse.dewpoint"
TABLE = "/proc/self/mountinfo"
# The daemon takes no longer one.
SOCKET_PATH_BYTES = 103


@dataclasses.dataclass(frozen=True)
class Mount:
    device: str
    """`major:minor`: the same for all mounts of one file system."""
    root: bytes
    """The mounted part of the file system: `/`, or the directory of a bind mount."""
    point: bytes
    type: str
    owner: int | None
    """The user that mounted a FUSE file system."""


def table(text: bytes | None = None) -> list[Mount]:
    """The mounts of this process's namespace, in the order of mounting. `text`: the contents of mountinfo, bytes."""
    if text is None:
        try:
            with open(TABLE, "rb") as file:
                text = file.read()
        except OSError:
            return []
    return [mount for mount in map(_mount, text.split(b"\n")) if mount]


def container(path: bytes, mounts: Sequence[Mount] | None = None) -> tuple[Mount, bytes] | None:
    """The mount that contains an absolute path of bytes and the path below its root; None for any other file system."""
    mounts = table() if mounts is None else mounts
    found, rest = None, None
    for mount in mounts:
        below = _rest(path, mount.point)
        if below is None or (found and len(found.point) > len(mount.point)):
            continue
        found, rest = mount, below  # a later mount at the same place covers the earlier one
    if not found or found.type != TYPE:
        return None
    whole = next((mount for mount in mounts if mount.device == found.device and mount.root == b"/"), None)
    if not whole:
        return None
    return whole, b"/".join(part for part in (found.root[1:], rest) if part)


def containers(mounts: Sequence[Mount] | None = None) -> list[Mount]:
    """Our own mounts, each once: bind mounts of them are left out."""
    firsts: dict[str, Mount] = {}
    for mount in table() if mounts is None else mounts:
        if mount.type == TYPE and mount.root == b"/":
            firsts.setdefault(mount.device, mount)
    return list(firsts.values())


def socket_candidates(point: bytes, owner: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Where the control socket of a mount may be, likeliest first. `point`: bytes; `owner`: the user that mounted
    it."""
    directories = []
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        directories.append(f"{runtime}/dewpoint")
    directories.append("/run/dewpoint" if owner == 0 else f"/tmp/dewpoint-{owner}")
    if owner != 0 and (home := _home(owner)):
        directories.append(f"{home}/.local/state/dewpoint/sockets")
    paths = [f"{directory}/{_socket_name(point)}" for directory in directories]
    paths = [path for path in paths if len(os.fsencode(path)) <= SOCKET_PATH_BYTES]
    session = f"/run/user/{owner}/dewpoint/{_socket_name(point)}"
    return paths if session in paths else [*paths, session]


def find_socket(mount: Mount, environment: Mapping[str, str] = os.environ) -> str | None:
    """The control socket of a mount, where only its owner can have created it; None when there is none."""
    owner = 0 if mount.owner is None else mount.owner
    for path in socket_candidates(mount.point, owner, environment):
        if _is_trusted(os.path.dirname(path), owner) and os.access(path, os.F_OK):
            return path
    return None


def is_listener_trusted(connection: socket.socket, path: str) -> bool:
    """Whether the user that listens is the owner of the socket's directory, who may have put a link to another's
    there."""
    _, user, _ = struct.unpack("=iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return _is_trusted(os.path.dirname(path), user)


def _home(user: int) -> str | None:
    """The home directory in the password database."""
    try:
        home = pwd.getpwuid(user).pw_dir
    except KeyError:
        return None
    return home if home.startswith("/") else None


def _socket_name(point: bytes) -> str:
    """64 bits of FNV-1a over the mountpoint."""
    number = 0xCBF29CE484222325
    for byte in point:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{number:016x}.sock"


def _is_trusted(directory: str, user: int) -> bool:
    """Whether only `user` can have created a socket there: another's would receive our requests."""
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077


def _rest(path: bytes, directory: bytes) -> bytes | None:
    if directory == b"/":
        directory = b""
    if not path.startswith(directory):
        return None
    rest = path[len(directory) :]
    return rest[1:] if not rest or rest.startswith(b"/") else None


def _mount(line: bytes) -> Mount | None:
    """One line of mountinfo; see proc_pid_mountinfo(5).

    36 35 98:0 /root /mnt rw,noatime shared:1 - fuse.dewpoint source rw,user_id=0,group_id=0
    """
    fields = line.split(b" ")
    if len(fields) < 10 or b"-" not in fields[6:]:
        return None
    dash = fields.index(b"-", 6)
    if len(fields) <= dash + 3:
        return None
    owner = next((option[8:] for option in fields[dash + 3].split(b",") if option.startswith(b"user_id=")), b"")
    return Mount(
        device=fields[2].decode("ascii", "replace"),
        root=_unescaped(fields[3]),
        point=_unescaped(fields[4]),
        type=fields[dash + 1].decode("ascii", "replace"),
        owner=int(owner) if owner.isdigit() else None,
    )


def _unescaped(field: bytes) -> bytes:
    """Decodes `\\040` and similar escapes of bytes that would end a field."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 0xFF]), field)
