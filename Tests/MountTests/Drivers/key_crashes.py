"""Ends commands that make or change the keys of an encrypted container by SIGKILL at one system call after another.

    python3 key_crashes.py --binary DEWPOINT --restore restore.py [--share N] [--seed N] [--work DIRECTORY] [CASE...]

A point is a system call that changes a file or a directory, and the how-manieth of its kind: strace kills the command as
it begins. Afterwards the change was made, or it was not; in both cases its files are there, its devices go on without the
passphrase, and the same command, run again, brings about what was asked for. `--share N`: only one in N points.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

CALLS = ["mkdir", "rename", "link", "unlink", "fsync", "fdatasync", "pwrite64", "ftruncate", "write"]
COMMAND_SECONDS = 60
# More of one kind do the same again.
POINTS_PER_CALL = 12
WRONG = 77
FILES = {"f": b"text\n", "d/large": bytes(range(256)) * 2000, "d/empty": b""}


class Trial:
    """One directory with a container, the states of its devices, and the files with its secrets."""

    def __init__(self, options: argparse.Namespace, work: str) -> None:
        self.options, self.work = options, work
        self.root = work
        self.url = "file://" + self.path("container")
        self.point = self.path("mount")
        os.makedirs(self.root)

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def secret(self, name: str) -> str:
        """A file with a passphrase of its own."""
        path = self.path(name)
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(f"correct horse of {name}\n")
        return path

    def command(self, device: str, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, self.options.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=COMMAND_SECONDS, env=self.environment(device), start_new_session=True,
        )  # fmt: skip

    def environment(self, device: str) -> dict[str, str]:
        os.makedirs(self.path("run"), mode=0o700, exist_ok=True)
        return {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.root, "TMPDIR": self.root,
            "XDG_RUNTIME_DIR": self.path("run"), "XDG_STATE_HOME": self.path(f"state-{device}"),
            # Calls are counted for each thread, so that the fewer there are, the more points there are.
            "LIBDISPATCH_COOPERATIVE_POOL_STRICT": "1",
        }  # fmt: skip

    def run(self, device: str, *arguments: str) -> str:
        result = self.command(device, *arguments)
        if result.returncode != 0:
            raise AssertionError(f"dewpoint {' '.join(arguments)}: exit status {result.returncode}: {result.stderr}")
        return result.stdout

    def opens(self, secret: str, url: str | None = None) -> bool:
        """Whether the passphrase or code in this file opens the container, for who knows nothing else."""
        if os.path.getsize(secret) == 0:
            return False  # killed before the code was written, and so before anything was changed
        result = self.command("stranger", "key", "list", url or self.url, "--passphrase-file", secret)
        if result.returncode not in (0, WRONG):
            raise AssertionError(f"with {secret}: exit status {result.returncode}: {result.stderr}")
        return result.returncode == 0

    def restored(self, secret: str, container: str = "container") -> None:
        """What restore.py gets out of the container is what was put in."""
        output = self.path("restored")
        shutil.rmtree(output, ignore_errors=True)
        result = subprocess.run(
            [sys.executable, self.options.restore, self.path(container), output, "--passphrase-file", secret],
            capture_output=True, text=True, timeout=COMMAND_SECONDS,
        )  # fmt: skip
        if result.returncode != 0:
            raise AssertionError(f"restore.py: {result.stdout}{result.stderr}")
        for name, data in FILES.items():
            with open(os.path.join(output, name), "rb") as file:
                if file.read() != data:
                    raise AssertionError(f"restore.py got other bytes of {name}")

    @contextlib.contextmanager
    def mounted(self, device: str, *options: str, url: str | None = None) -> Iterator[str]:
        os.makedirs(self.point, exist_ok=True)
        self.run(device, "mount", url or self.url, self.point, "--device-name", device, *options)
        try:
            yield self.point
        finally:
            self.run(device, "unmount", self.point)

    def fill(self, device: str, *options: str, url: str | None = None) -> None:
        with self.mounted(device, *options, url=url) as point:
            for name, data in FILES.items():
                os.makedirs(os.path.dirname(os.path.join(point, name)), exist_ok=True)
                with open(os.path.join(point, name), "wb") as file:
                    file.write(data)
            self.run(device, "sync", point, "--wait")

    def works(self, device: str, *options: str, url: str | None = None) -> None:
        """The device reads what is there and writes something new; by itself, unless an option says otherwise."""
        with self.mounted(device, *options, url=url) as point:
            self.run(device, "sync", point, "--wait")
            for name, data in FILES.items():
                with open(os.path.join(point, name), "rb") as file:
                    if file.read() != data:
                        raise AssertionError(f"{device} sees other bytes of {name}")
            with open(os.path.join(point, f"of-{device}"), "a") as file:
                file.write("more\n")
            self.run(device, "sync", point, "--wait")


class Case:
    """A command, what must be true when it was killed, and what when it was then run to its end."""

    device = "A"

    def __init__(self, trial: Trial) -> None:
        self.trial, self.serial = trial, 0
        self.words, self.code = trial.secret("passphrase"), trial.path("code")

    def renew(self) -> None:
        """Before each point. A state cannot be copied, so that all points are on one container."""
        self.serial += 1

    def prepare(self) -> None:
        """An encrypted container with files, of which A and B are devices."""
        trial = self.trial
        trial.run(
            "A", "container", "create", trial.url, "--id", "iCloud.org.dewpoint.Keys", "--encrypt",
            "--passphrase-file", self.words, "--recovery-file", self.code,
        )  # fmt: skip
        trial.fill("A")
        trial.works("B", "--passphrase-file", self.words)

    @property
    def arguments(self) -> list[str]:
        raise NotImplementedError

    def interrupted(self) -> None:
        self.trial.works("A")

    def complete(self) -> None:
        self.trial.run(self.device, *self.arguments)

    def completed(self) -> None:
        self.trial.works("A")
        self.trial.works("B")

    def survived(self) -> None:
        """The command ended before the point at which it was to be killed."""

    def begin(self, before: Sequence[str]) -> int:
        return self.trial.command(self.device, *self.arguments, before=before).returncode

    def one_of(self, *secrets: str) -> str:
        """One of them opens the container, with all that is in it."""
        opening = [secret for secret in secrets if os.path.exists(secret) and self.trial.opens(secret)]
        if len(opening) != 1:
            raise AssertionError(f"of {secrets}, {opening} open the container")
        self.trial.restored(opening[0])
        return opening[0]


class Create(Case):
    """The container is there with passphrase and code, or it can be created."""

    def prepare(self) -> None:
        pass

    def renew(self) -> None:
        super().renew()
        self.name = f"container-{self.serial}"
        self.url = "file://" + self.trial.path(self.name)

    def creating(self, passphrase: str, code: str) -> list[str]:
        return [
            "container", "create", self.url, "--id", f"iCloud.org.dewpoint.Keys{self.serial}", "--encrypt",
            "--passphrase-file", self.trial.secret(passphrase), "--recovery-file", self.trial.path(code),
        ]  # fmt: skip

    @property
    def arguments(self) -> list[str]:
        return self.creating("passphrase", f"code-{self.serial}")

    def interrupted(self) -> None:
        self.exists = os.path.exists(self.trial.path(f"{self.name}/container.json"))
        for name in ("passphrase", f"code-{self.serial}"):
            if self.exists and not self.trial.opens(self.trial.path(name), self.url):
                raise AssertionError(f"the {name} does not open what was created")

    def complete(self) -> None:
        again = self.trial.command("A", *self.creating("other", f"other-code-{self.serial}"))
        if (again.returncode != 0) != self.exists:
            raise AssertionError(f"created again: exit status {again.returncode}: {again.stderr}")

    def completed(self) -> None:
        kind = "" if self.exists else "other-"
        words = self.trial.path("passphrase" if self.exists else "other")
        self.trial.fill("A", "--passphrase-file", words, url=self.url)
        self.trial.works("A", url=self.url)
        for secret in words, self.trial.path(f"{kind}code-{self.serial}"):
            self.trial.restored(secret, self.name)


class Rotate(Case):
    @property
    def arguments(self) -> list[str]:
        return ["key", "rotate", self.trial.url]

    def completed(self) -> None:
        super().completed()
        for secret in self.words, self.code:
            self.trial.restored(secret)


class Passphrase(Case):
    @property
    def new(self) -> str:
        return self.trial.secret(f"passphrase-{self.serial}")

    @property
    def arguments(self) -> list[str]:
        return ["key", "passphrase", self.trial.url, "--new-passphrase-file", self.new]

    def survived(self) -> None:
        self.words = self.new

    def interrupted(self) -> None:
        self.one_of(self.words, self.new)

    def completed(self) -> None:
        super().completed()
        if self.one_of(self.words, self.new) == self.words:
            raise AssertionError("the former passphrase opens the container")
        self.words = self.new


class Recovery(Case):
    """The former code is void only when the new one is in its file."""

    def replacing(self, name: str) -> list[str]:
        return ["key", "recovery", self.trial.url, "--recovery-file", self.trial.path(name)]

    @property
    def arguments(self) -> list[str]:
        return self.replacing(f"code-{self.serial}")

    def survived(self) -> None:
        self.code = self.trial.path(f"code-{self.serial}")

    def interrupted(self) -> None:
        self.code = self.one_of(self.code, self.trial.path(f"code-{self.serial}"))

    def complete(self) -> None:
        self.trial.run("A", *self.replacing(f"later-code-{self.serial}"))

    def completed(self) -> None:
        super().completed()
        new = self.trial.path(f"later-code-{self.serial}")
        if self.one_of(self.code, new) != new:
            raise AssertionError("the former code opens the container")
        self.code = new


class Revoke(Case):
    def renew(self) -> None:
        super().renew()
        if not self.is_member():
            self.trial.works("B", "--passphrase-file", self.words)

    def is_member(self) -> bool:
        return re.search(r"writer +B$", self.trial.run("A", "key", "list", self.trial.url), re.MULTILINE) is not None

    @property
    def arguments(self) -> list[str]:
        return ["key", "revoke", self.trial.url, "B"]

    def complete(self) -> None:
        if self.is_member():
            super().complete()

    def completed(self) -> None:
        self.trial.works("A")
        os.makedirs(self.trial.point, exist_ok=True)
        mounted = self.trial.command("B", "mount", self.trial.url, self.trial.point)
        if mounted.returncode == 0:
            # Once it may show what it had, and says why that is all.
            self.trial.run("B", "unmount", self.trial.point)
            mounted = self.trial.command("B", "mount", self.trial.url, self.trial.point)
        if mounted.returncode != WRONG:
            self.trial.command("B", "unmount", self.trial.point)
            raise AssertionError(f"the revoked device: exit status {mounted.returncode}: {mounted.stderr}")


class Enrol(Case):
    """A third device asks, and is killed; A accepts it when it gets so far."""

    def renew(self) -> None:
        super().renew()
        self.device = f"C{self.serial}"
        self.said = ""

    @property
    def arguments(self) -> list[str]:
        return ["key", "enrol", self.trial.url, "--device-name", self.device]

    def begin(self, before: Sequence[str]) -> int:
        with self.asking(before) as (asking, code):
            if code is not None:
                self.trial.run("A", *self.accepting(code))
            status = asking.wait(COMMAND_SECONDS)
            assert asking.stdout is not None
            self.noted(asking.stdout.read())
            return status

    def noted(self, text: str) -> str:
        self.said += text
        return text

    def accepting(self, code: str) -> list[str]:
        return ["key", "accept", self.trial.url, code]

    @contextlib.contextmanager
    def asking(self, before: Sequence[str] = ()) -> Iterator[tuple[subprocess.Popen[str], str | None]]:
        """The device that asks, and the code that it shows, if it does."""
        asking = subprocess.Popen(
            [*before, self.trial.options.binary, *self.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=self.trial.environment(self.device), start_new_session=True,
        )  # fmt: skip
        assert asking.stdout is not None
        try:
            self.said = ""
            shown = (re.search(r"dewpoint key accept MOUNTPOINT (.+)$", self.noted(line)) for line in asking.stdout)
            yield asking, next((found[1].strip() for found in shown if found), None)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(asking.pid, signal.SIGKILL)
            asking.wait()
            asking.stdout.close()

    def complete(self) -> None:
        # It may have been killed when its keys were kept.
        if self.begin([]) != 0 and "this device is enrolled already" not in self.said:
            raise AssertionError(f"the device was not enrolled the second time: {self.said}")

    def completed(self) -> None:
        super().completed()
        self.trial.works(self.device)


class Accept(Enrol):
    """The device that accepts is killed, and the code is entered once more."""

    def begin(self, before: Sequence[str]) -> int:
        with self.asking() as (asking, code):
            if code is None:
                raise AssertionError("no code is shown")
            result = self.trial.command("A", *self.accepting(code), before=before).returncode
            if result != 0:
                self.trial.works("A")
                # Refused where it was accepted already.
                self.trial.command("A", *self.accepting(code))
            if asking.wait(COMMAND_SECONDS) != 0:
                raise AssertionError("the device was not enrolled")
            return result

    def complete(self) -> None:
        pass


class Copy(Case):
    """From a plain container into an encrypted one."""

    def prepare(self) -> None:
        self.trial.run("A", "container", "create", self.trial.url, "--id", "iCloud.org.dewpoint.Keys")
        self.trial.fill("A")

    def renew(self) -> None:
        super().renew()
        self.name = f"copy-{self.serial}"
        self.target = "file://" + self.trial.path(self.name)

    @property
    def arguments(self) -> list[str]:
        return [
            "container", "copy", self.trial.url, self.target, "--encrypt", "--new-passphrase-file", self.words,
            "--recovery-file", self.trial.path(f"code-{self.serial}"),
        ]  # fmt: skip

    def interrupted(self) -> None:
        whole = os.path.exists(self.trial.path(f"{self.name}/container.json"))
        if whole and not self.trial.opens(self.trial.path(f"code-{self.serial}"), self.target):
            raise AssertionError("the recovery code does not open the copy")
        self.trial.works("A")

    def completed(self) -> None:
        for secret in self.words, self.trial.path(f"code-{self.serial}"):
            self.trial.restored(secret, self.name)
        self.trial.works(f"B{self.serial}", "--passphrase-file", self.words, url=self.target)


CASES = {case.__name__.lower(): case for case in (Create, Enrol, Accept, Rotate, Passphrase, Recovery, Revoke, Copy)}


def points(case: Case, options: argparse.Namespace, rng: random.Random) -> tuple[int, int]:
    """Kills the command at each point, or at a share of them. Returns how many there were, and how many were tried."""
    case.prepare()
    count, tried = 0, 0
    for call in CALLS:
        for number in range(1, POINTS_PER_CALL + 1):
            count += 1
            if rng.randrange(options.share):
                continue
            case.renew()
            where = f"{case.__class__.__name__.lower()} at {call} {number}"
            # With and without `at`, whichever the library uses.
            inject = f"inject=/^{call}(at2?)?$:signal=SIGKILL:when={number}"
            code = case.begin(["strace", "-f", "-qqq", "-o", os.devnull, "-e", inject])
            if code == 0:
                case.survived()
                count -= 1
                break
            if code not in (-signal.SIGKILL, 128 + signal.SIGKILL):
                raise AssertionError(f"{where}: exit status {code}")
            try:
                case.interrupted()
                case.complete()
                case.completed()
            except (AssertionError, subprocess.TimeoutExpired, OSError) as error:
                raise AssertionError(f"{where}: {error}") from error
            tried += 1
    return count, tried


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--restore", required=True)
    parser.add_argument("--share", type=int, default=1, help="one in so many points")
    parser.add_argument("--seed", default=str(random.randrange(1 << 30)))
    parser.add_argument("--work", help="a directory to work in, which is kept")
    parser.add_argument("cases", nargs="*", metavar="CASE", choices=[*CASES, []], help=", ".join(CASES))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    work = options.work or tempfile.mkdtemp(prefix="dewpoint-keys-")
    total = 0
    try:
        for name in options.cases or CASES:
            began = time.monotonic()
            count, tried = points(CASES[name](Trial(options, os.path.join(work, name))), options, rng)
            total += tried
            print(f"{name}: {tried} of {count} points, {time.monotonic() - began:.0f} s", flush=True)
    finally:
        if not options.work:
            shutil.rmtree(work, ignore_errors=True)
    print(f"killed at {total} points, and nothing was lost")


if __name__ == "__main__":
    main()
