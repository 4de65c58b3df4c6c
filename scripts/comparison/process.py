"""One process of a program: forked for it, told each step over a pipe, watched by a clock."""

import contextlib
import ctypes
import multiprocessing.connection
import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any

from . import observation, syscalls
from .elsewhere import Elsewhere
from .holding import Holding
from .housekeeping import Housekeeping
from .locks import Locks
from .names import Names
from .program import Step
from .ringed import RingedDescriptors

END_SECONDS = 20
PR_SET_PDEATHSIG = 1


class Hang(Exception):
    """A process did not answer in time; the text says where it stands."""


class Caller(Names, Holding, Locks, Elsewhere, Housekeeping):
    """What happens in the process itself."""

    def __init__(self, root: str, is_ours: bool) -> None:
        super().__init__(root, is_ours)

    def call(self, step: Step) -> list[Any]:
        """A result that can be compared: `["ok", value]` or `["ERRNO"]`."""
        try:
            return ["ok", getattr(self, step.name)(*step.arguments)]
        except OSError as error:
            return [observation.name(error)]
        except Exception as problem:
            return [f"the step cannot be made: {type(problem).__name__}: {problem}"]


class RingedCaller(RingedDescriptors, Caller):
    """The same, with files read and written by io_uring."""


class Process:
    """The controller's end."""

    def __init__(self, root: str, is_ours: bool, user: int | None = None, has_ring: bool = False) -> None:
        self.connection, theirs = multiprocessing.connection.Pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.serve(theirs, root, is_ours, user, has_ring)
            finally:
                os._exit(0)
        theirs.close()
        self.step: Step | None = None

    @staticmethod
    def serve(connection: Connection, root: str, is_ours: bool, user: int | None, has_ring: bool) -> None:
        syscalls.LIBC.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(sign, signal.SIG_DFL)
        own = connection.fileno()
        # What the controller has open is not to live on in here.
        os.closerange(3, own)
        os.closerange(own + 1, 1024)
        os.umask(0o022)
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        caller = (RingedCaller if has_ring else Caller)(root, is_ours)
        with contextlib.suppress(EOFError, OSError):
            while True:
                connection.send(caller.call(connection.recv()))

    def start(self, step: Step) -> None:
        self.step = step
        with contextlib.suppress(OSError):
            self.connection.send(step)

    def result(self, seconds: float) -> list[Any]:
        """The result of the step that was started.

        Raises Hang where there is none in time.
        """
        if not self.connection.poll(seconds):
            raise Hang(f"{self.step} did not return within {seconds} s; {self.standing()}")
        try:
            result: list[Any] = self.connection.recv()
            return result
        except (EOFError, OSError):
            return [f"the process ended: {self.end()}"]

    def standing(self) -> str:
        """Where in the kernel the process is."""
        lines = []
        for name in ("wchan", "stack"):
            with contextlib.suppress(OSError), open(f"/proc/{self.pid}/{name}", encoding="ascii") as file:
                lines.append(f"{name}: {file.read().strip()}")
        with contextlib.suppress(OSError), open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            lines.append(f"state: {file.read().rpartition(')')[2].split()[0]}")
        return "\n    ".join([f"process {self.pid}", *lines])

    def end(self) -> int | None:
        """Kills the process and waits until its files are closed. Returns its status; None when it does not end."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        limit = time.monotonic() + END_SECONDS
        pause = 0.0001
        while time.monotonic() < limit:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(pause)
            pause = min(pause * 2, 0.02)
        return None
