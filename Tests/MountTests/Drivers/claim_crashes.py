"""Kills holders, waiters, presenters and the daemon at random moments of a mixed load:
python3 claim_crashes.py DIRECTORY DEWPOINT URL STATE KILLS [SEED]

No claim may outlive its process by more than a tenth of a second (on a busy machine, longer times are counted and
printed, and more than a second is a failure), every waiter proceeds or gets an error, and the lock table ends empty.
"""

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

from session import Ended, Gone, Session, request

FILES = 6
WORKERS = 8
# One in this many kills hits the daemon.
DAEMON_SHARE = 25
LIMIT_SECONDS = 0.1
BUSY_LIMIT_SECONDS = 1.0
WAIT_LIMIT_SECONDS = 60


class Load:
    """One process of the load, which runs until it is killed or receives SIGTERM."""

    def __init__(self, point: str, kind: str, seed: Any) -> None:
        self.kind = kind
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                self.run(point, kind, random.Random(seed))
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)

    def run(self, point: str, kind: str, chance: random.Random) -> None:
        ending: list[bool] = []
        signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
        while not ending:
            try:
                getattr(self, kind)(point, chance, ending)
            except (Gone, ConnectionError, FileNotFoundError, AssertionError):
                time.sleep(0.05)  # the daemon was killed and is restarted: connect again
            except OSError:
                time.sleep(0.05)

    @staticmethod
    def item(chance: random.Random) -> tuple[str, Any]:
        name = f"d/{chance.randrange(FILES)}"
        kinds = ["plain", "forMoving", "forDeleting", [], ["withoutChanges"]]
        return (chance.choice([name, name, name, "d"]), chance.choice(kinds))

    def claimer(self, point: str, chance: random.Random, ending: list[bool]) -> None:
        session = Session(point, limit=WAIT_LIMIT_SECONDS)
        while not ending:
            items = [self.item(chance) for _ in range(chance.choice([1, 1, 2]))]
            options = {"timeoutSeconds": chance.choice([0.05, 0.5, 30])}
            try:
                claim = session.claim(*items, **options)
            except Ended:
                continue
            time.sleep(chance.random() * 0.02)
            session.release(claim)

    def presenter(self, point: str, chance: random.Random, ending: list[bool]) -> None:
        session = Session(point, limit=WAIT_LIMIT_SECONDS)

        def answer(question: dict[str, Any]) -> dict[str, Any]:
            time.sleep(chance.random() * 0.01)
            return {"reacquires": True} if question["message"].startswith("relinquish") else {}

        for number in range(3):
            session.present(number, f"d/{chance.randrange(FILES)}", answer=answer)
        while not ending and not session.over:
            time.sleep(0.05)

    def writer(self, point: str, chance: random.Random, ending: list[bool]) -> None:
        path = f"{point}/d/{chance.randrange(FILES)}"
        with open(path, "ab", buffering=0) as file:
            for _ in range(chance.randrange(1, 20)):
                file.write(b"w" * 100)
                time.sleep(chance.random() * 0.01)

    def mover(self, point: str, chance: random.Random, ending: list[bool]) -> None:
        name = f"{point}/d/{chance.randrange(FILES)}"
        with open(f"{name}.{os.getpid()}", "wb") as file:
            file.write(b"saved")
        os.replace(file.name, name)
        time.sleep(chance.random() * 0.05)


class Crashes:
    def __init__(self, point: str, dewpoint: str, url: str, state: str, kills: int, seed: Any) -> None:
        self.point, self.dewpoint, self.url, self.state = point, dewpoint, url, state
        self.kills, self.chance = kills, random.Random(seed)
        self.load: list[Load] = []
        self.late: list[float] = []
        self.mounted = time.monotonic()

    def start(self) -> None:
        kind = self.chance.choice(["claimer", "claimer", "claimer", "presenter", "presenter", "writer", "mover"])
        self.load.append(Load(self.point, kind, self.chance.random()))

    def daemon(self) -> int:
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if b"--foreground" in words and os.fsencode(self.state) in words:
                return int(name)
        raise SystemExit("there is no daemon")

    def kill_the_daemon(self) -> None:
        os.kill(self.daemon(), signal.SIGKILL)
        time.sleep(0.1)
        command = [self.dewpoint, "mount", self.url, self.point, "--state", self.state, "--device-name", "A"]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert outcome.returncode == 0, outcome.stderr
        self.mounted = time.monotonic()

    def kill_one(self) -> None:
        victim = self.load.pop(self.chance.randrange(len(self.load)))
        os.kill(victim.pid, signal.SIGKILL)
        # A program in a rename may briefly wait for another one's rename in the kernel, and lives that long.
        os.waitpid(victim.pid, 0)
        died = time.monotonic()
        while self.is_listed(victim.pid):
            assert time.monotonic() - died < BUSY_LIMIT_SECONDS, f"the claim of a {victim.kind} outlives its process"
        took = time.monotonic() - died
        if took > LIMIT_SECONDS:
            self.late.append(took)
            print(
                f"a {victim.kind}'s claim was gone {took * 1000:.0f} ms after it, "
                f"{time.monotonic() - self.mounted:.1f} s after mounting"
            )
        self.start()

    def is_listed(self, pid: int) -> bool:
        for node in request(self.point, "GET", "/v1/locks"):
            if any(proxy["process"] == pid for proxy in node["presenters"]):
                return True
            if any(pid in party["processes"] and party.get("claim") for party in node["holders"] + node["waiters"]):
                return True
        return False

    def run(self) -> None:
        os.makedirs(f"{self.point}/d", exist_ok=True)
        for number in range(FILES):
            with open(f"{self.point}/d/{number}", "wb") as file:
                file.write(b"begin")
        for _ in range(WORKERS):
            self.start()
        daemons = 0
        for _ in range(self.kills):
            time.sleep(self.chance.random() * 0.1)
            if self.chance.randrange(DAEMON_SHARE) == 0:
                self.kill_the_daemon()
                daemons += 1
            else:
                self.kill_one()
        self.end()
        print(
            f"{self.kills} kills, {daemons} of them the daemon's: {len(self.late)} claims were gone later than "
            f"{LIMIT_SECONDS * 1000:.0f} ms after their process"
            + (f" (at most {max(self.late) * 1000:.0f} ms)" if self.late else "")
        )
        # A tenth may be late: other programs keep the machine busy.
        assert len(self.late) <= self.kills / 10

    def end(self) -> None:
        # Every waiter proceeds, so every process ends by itself.
        for worker in self.load:
            os.kill(worker.pid, signal.SIGTERM)
        end = time.monotonic() + WAIT_LIMIT_SECONDS
        for worker in self.load:
            while os.waitpid(worker.pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > end:
                    print(request(self.point, "GET", "/v1/locks"))
                    raise AssertionError(f"a {worker.kind} is still waiting")
                time.sleep(0.01)
        self.load = []
        while left := request(self.point, "GET", "/v1/locks"):
            assert time.monotonic() < end, f"the lock table is not empty: {left}"
            time.sleep(0.05)


def main() -> None:
    point, dewpoint, url, state, kills = sys.argv[1:6]
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    crashes = Crashes(point, dewpoint, url, state, int(kills), seed)
    try:
        crashes.run()
    finally:
        for worker in crashes.load:
            os.kill(worker.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
