"""Files without a name. Cases of files.py."""

import ctypes
import os
import stat
import struct
import time

from system_calls import get, libc, put


def nameless_file_by_a_path_descriptor() -> None:
    """O_PATH holds a file without having it open: it can be opened, asked and changed after it lost its name."""
    put("f", b"bytes")
    os.setxattr("f", "user.colour", b"green")
    held = os.open("f", os.O_PATH)
    put("new", b"newer")
    os.rename("new", "f")
    path = f"/proc/self/fd/{held}"
    assert get(path) == b"bytes" and get("f") == b"newer"
    assert os.fstat(held).st_nlink == 0 and os.stat(path).st_size == 5
    assert os.getxattr(path, "user.colour") == b"green"
    os.chmod(path, 0o640)
    assert stat.S_IMODE(os.fstat(held).st_mode) == 0o640
    os.truncate(path, 2)
    with open(path, "ab") as file:
        file.write(b"!")
    # Closed in between, more than once.
    for _ in range(3):
        assert get(path) == b"by!"
    os.utime(path, ns=(1, 2_000_000_000))
    assert os.fstat(held).st_mtime_ns == 2_000_000_000
    os.setxattr(path, "user.colour", b"red")
    assert os.getxattr(path, "user.colour") == b"red"
    os.unlink("f")
    assert get(path) == b"by!"
    os.close(held)


def bound_file_is_replaced() -> None:
    """A file that is mounted on, as `docker -v FILE:FILE` does, keeps its bytes when it is saved anew."""
    if os.geteuid() != 0:
        return
    put("settings", b"old")
    put("mountpoint")
    mount = os.path.realpath("mountpoint")
    # In a mount namespace of its own: nothing is left behind.
    libc("unshare", 0x00020000)
    libc("mount", b"none", b"/", None, 0x4000 | 0x40000, None)
    libc("mount", os.path.realpath("settings").encode(), mount.encode(), None, 0x1000, None)
    put("new", b"new")
    os.rename("new", "settings")
    time.sleep(0.1)
    for _ in range(3):
        assert get(mount) == b"old" and get("settings") == b"new"
        assert os.stat(mount).st_size == 3
    with open(mount, "ab") as file:
        file.write(b"er")
    assert get(mount) == b"older" and get("settings") == b"new"
    os.unlink("settings")
    assert get(mount) == b"older"
    libc("umount2", mount.encode(), 0)


def listener_opens_what_is_gone() -> None:
    """fanotify opens the file of an event when that is read: by then it may be closed and have no name."""
    if os.geteuid() != 0:
        return
    group = libc("fanotify_init", 0x2, os.O_RDONLY)
    try:
        # FAN_MARK_ADD | FAN_MARK_ONLYDIR, FAN_CLOSE_WRITE | FAN_EVENT_ON_CHILD
        libc("fanotify_mark", group, 0x1 | 0x8, ctypes.c_uint64(0x8 | 0x08000000), -100, os.path.realpath(".").encode())
        descriptor = os.open("f", os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, b"bytes")
        os.unlink("f")
        os.close(descriptor)
        time.sleep(0.1)
        event = os.read(group, 4096)
        number = struct.unpack_from("=IBBHQii", event)[5]
        assert number >= 0, f"no descriptor: {number}"
        assert os.pread(number, 10, 0) == b"bytes"
        os.close(number)
    finally:
        os.close(group)
