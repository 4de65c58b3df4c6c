"""Special files, notifications and threads. Cases of files.py."""

import os
import socket
import stat
import struct
import threading
import time

from system_calls import get, in_child, libc, put, status_of


def fifos() -> None:
    os.mkfifo("p", 0o600)
    assert stat.S_ISFIFO(os.stat("p").st_mode)

    def writes() -> None:
        with open("p", "wb") as pipe:
            pipe.write(b"through")

    child = in_child(writes)
    assert get("p") == b"through" and status_of(child) == 0
    os.rename("p", "q")
    os.unlink("q")


def sockets() -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        listener.listen()
        assert stat.S_ISSOCK(os.stat("s").st_mode)
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect("s")
            listener.accept()[0].close()
    os.unlink("s")


def notifications() -> None:
    """inotify reports the operations of programs on the mount."""
    descriptor = libc("inotify_init1", 0o4000)
    libc("inotify_add_watch", descriptor, b".", 0x100 | 0x40 | 0x80 | 0x200)
    put("a")
    os.rename("a", "b")
    os.unlink("b")
    seen, events = [], os.read(descriptor, 65536)
    while events:
        _, mask, _, length = struct.unpack_from("iIII", events)
        seen.append((mask, events[16 : 16 + length].rstrip(b"\0")))
        events = events[16 + length :]
    os.close(descriptor)
    assert seen == [(0x100, b"a"), (0x40, b"a"), (0x80, b"b"), (0x200, b"b")], seen


def threads_of_one_process() -> None:
    """Threads that write to one file do not wait for each other's turns."""
    descriptor = os.open("f", os.O_RDWR | os.O_CREAT)
    start = time.monotonic()

    def work(number: int) -> None:
        for n in range(100):
            os.pwrite(descriptor, bytes([number]) * 4096, (number * 100 + n) * 4096)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 30
    for number in range(8):
        assert os.pread(descriptor, 409600, number * 409600) == bytes([number]) * 409600
    os.close(descriptor)
