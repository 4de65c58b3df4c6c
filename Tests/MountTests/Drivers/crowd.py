"""One user of a mount that everybody may use tries to take all of it, while others work there.

    python3 crowd.py ATTACK DIRECTORY DAEMON DEWPOINT PORT

As root. DAEMON is the process that serves the mount at DIRECTORY, PORT that of its metrics. ATTACK is the name of one
of ATTACKS. A user without any rights attacks with PROCESSES processes; root and another user write, read and rename
files, and root asks for the status, TRIES times. Fails when one of these fails, or takes longer than LIMIT_SECONDS.
"""

import contextlib
import fcntl
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, NoReturn

ATTACKER, OTHER = 64999, 64998
PROCESSES = 4
TRIES = 100
LIMIT_SECONDS = 20
# What the daemon may open: few enough for an ordinary user to take them all.
DESCRIPTORS = 300


def files() -> None:
    """Opens files until that is refused, again and again, and holds them."""
    held: list[int] = []
    for number in range(DESCRIPTORS):
        os.mknod(name(number), 0o600)
    while True:
        for number in range(DESCRIPTORS):
            try:
                held.append(os.open(name(number), os.O_RDWR))
            except OSError:
                break
        time.sleep(0.05)
        for descriptor in held[: len(held) // 8]:
            os.close(descriptor)
        held = held[len(held) // 8 :]


def creations() -> None:
    """Creates files and keeps them open without a name."""
    held: list[int] = []
    while True:
        try:
            held.append(os.open(name(len(held)), os.O_RDWR | os.O_CREAT))
            os.unlink(name(len(held) - 1))
        except OSError:
            time.sleep(0.05)
            for descriptor in held[: len(held) // 8]:
                os.close(descriptor)
            held = held[len(held) // 8 :]


def directories() -> None:
    """Opens directories and reads their beginning."""
    held: list[int] = []
    for number in range(50):
        os.makedirs(name(number), exist_ok=True)
    while True:
        try:
            held.append(os.open(name(len(held) % 50), os.O_RDONLY))
            os.listdir(held[-1])
        except OSError:
            time.sleep(0.05)
            while held:
                os.close(held.pop())


def locks() -> Any:
    """Locks thousands of single bytes of its files."""
    with open(name("a"), "wb") as record, open(name("b"), "wb") as whole:
        while True:
            for start in range(0, 20_000, 2):
                fcntl.lockf(record, fcntl.LOCK_EX, 1, start)
            fcntl.flock(whole, fcntl.LOCK_EX)
            fcntl.flock(whole, fcntl.LOCK_UN)
            fcntl.lockf(record, fcntl.LOCK_UN)


def waits() -> None:
    """Waits for locks that it holds itself, with many requests at once."""
    paths = [name(number) for number in range(8)]
    holders = [open(path, "wb") for path in paths]
    for holder in holders:
        fcntl.flock(holder, fcntl.LOCK_EX)

    def wait(path: str) -> None:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)

    while True:
        threads = [threading.Thread(target=wait, args=(path,), daemon=True) for path in paths * 8]
        for thread in threads:
            thread.start()
        time.sleep(3)
        for holder in holders:
            fcntl.flock(holder, fcntl.LOCK_UN)
        for thread in threads:
            thread.join()
        for holder in holders:
            fcntl.flock(holder, fcntl.LOCK_EX)


def names() -> None:
    """Makes, renames and removes names as fast as it can."""
    while True:
        for number in range(200):
            os.makedirs(name(f"d{number}/e/f"), exist_ok=True)
            os.rename(name(f"d{number}"), name(f"r{number}"))
        for number in range(200):
            os.removedirs(name(f"r{number}/e/f"))
            os.makedirs(os.path.dirname(name("x")), exist_ok=True)


def attributes() -> None:
    """Sets attributes, those included that ask the daemon for something."""
    path = name("a")
    open(path, "wb").close()
    while True:
        for key, value in [("user.x", b"x" * 60_000), ("user.dewpoint.download", b"1"), ("user.dewpoint.evict", b"1"),
                           ("user.dewpoint.pinned", b"1"), ("user.dewpoint.pinned", b"0")]:  # fmt: skip
            with contextlib.suppress(OSError):
                os.setxattr(path, key, value)
        for key in [*os.listxattr(path), "user.dewpoint.status", "user.dewpoint.versions"]:
            with contextlib.suppress(OSError):
                os.getxattr(path, key)


def transfers() -> None:
    """Has its files uploaded, evicted and downloaded without end."""
    paths = [name(number) for number in range(16)]

    def turn(path: str) -> None:
        while True:
            try:
                with open(path, "wb") as file:
                    file.write(os.urandom(300_000))
                os.setxattr(path, "user.dewpoint.evict", b"1")
                with open(path, "rb") as file:
                    file.read()
            except OSError:
                time.sleep(0.01)

    for path in paths[1:]:
        threading.Thread(target=turn, args=(path,), daemon=True).start()
    turn(paths[0])


def connections() -> NoReturn:
    """Connects to what the daemon listens at: the control socket, which it may not, and the port of the metrics."""
    held: list[socket.socket] = []
    while True:
        for _ in range(100):
            try:
                held.append(socket.create_connection(("127.0.0.1", int(PORT)), timeout=1))
                held[-1].sendall(b"GET /")
            except OSError:
                break
        for path in CONTROL_SOCKETS:
            with socket.socket(socket.AF_UNIX) as connection:
                try:
                    connection.connect(path)
                except OSError:
                    continue
                raise SystemExit("the control socket let another user in")
        time.sleep(0.1)
        for connection in held[:50]:
            connection.close()
        held = held[50:]


ATTACKS = [files, creations, directories, locks, waits, names, attributes, transfers, connections]


def name(text: object) -> str:
    return f"theirs/{os.getpid()}/{text}"


def victim(user: str, directory: str) -> None:
    """What an honest user does, TRIES times; prints how long the slowest try took."""
    os.chdir(directory)
    slowest = 0.0
    for number in range(TRIES):
        start = time.monotonic()
        path = f"shared/{user}-{number}"
        with open(path, "wb") as file:
            file.write(b"text")
            file.flush()
            os.fsync(file.fileno())
        with open(path, "r+b") as file:
            assert file.read() == b"text"
            file.write(b" and more")
        os.rename(path, path + "-renamed")
        assert os.stat(path + "-renamed").st_size == 13
        os.listdir("shared")
        os.unlink(path + "-renamed")
        slowest = max(slowest, time.monotonic() - start)
    print(f"{slowest:.2f}")


def as_user(user: int, *arguments: Any, **options: Any) -> subprocess.Popen[str]:
    identity = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    return subprocess.Popen([*identity, sys.executable, __file__, *arguments], text=True, **options)


def main() -> None:
    attack, directory, daemon, dewpoint, port = sys.argv[1:6]
    for made in ("theirs", "shared"):
        os.makedirs(f"{directory}/{made}", exist_ok=True)
        os.chmod(f"{directory}/{made}", 0o1777)
    subprocess.run(["prlimit", "--pid", daemon, f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"], check=True)
    with tempfile.TemporaryFile("w+") as errors:
        attackers = [
            as_user(ATTACKER, "--attack", attack, directory, port, daemon, stderr=errors) for _ in range(PROCESSES)
        ]
        try:
            time.sleep(1)
            victims = [as_user(user, "--victim", str(user), directory, stdout=subprocess.PIPE) for user in (0, OTHER)]
            slowest = 0.0
            while any(process.poll() is None for process in victims):
                start = time.monotonic()
                subprocess.run(
                    [dewpoint, "status", directory], check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_SECONDS
                )
                slowest = max(slowest, time.monotonic() - start)
            for process in victims:
                seconds = process.communicate()[0]
                assert process.returncode == 0, f"a call of another user failed beside the attack {attack}"
                slowest = max(slowest, float(seconds))
            assert slowest < LIMIT_SECONDS, f"a call took {slowest:.1f} s"
            errors.seek(0)
            ended = [process.returncode for process in attackers if process.poll() is not None]
            assert not ended, f"the attack ended by itself: {errors.read()[-2000:]}"
        finally:
            for process in attackers:
                process.kill()
                process.wait()
    print(f"{attack}: the slowest call took {slowest:.2f} s")


def control_sockets(daemon: str) -> list[str]:
    """Where the daemon listens: the names of sockets are for everybody to see."""
    with open("/proc/net/unix") as table:
        return [line.split()[-1] for line in table if line.rstrip().endswith(".sock")]


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--attack", attack, directory, PORT, daemon]:
            resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE)[1:] * 2)
            os.chdir(directory)
            os.mkdir(f"theirs/{os.getpid()}")
            CONTROL_SOCKETS = control_sockets(daemon)
            globals()[attack]()
        case ["--victim", user, directory]:
            victim(user, directory)
        case _:
            main()
