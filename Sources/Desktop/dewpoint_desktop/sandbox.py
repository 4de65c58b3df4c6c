"""Runs a program that reads a file of unknown origin, where it can do nothing but that: in bubblewrap, as GNOME runs its
thumbnailers, and with limits on all that it uses.

It sees the system's programs and libraries, read-only, and the files that it is given, under neutral names; a `/tmp` of
its own, of limited size; no network, no home, no other processes, no session bus and nothing of the environment. What
it has to say it writes to its output, of which a limited part is read. Where bubblewrap is not installed, or the system
lets users make no namespaces, nothing is run at all.
"""

import contextlib
import dataclasses
import fcntl
import logging
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence

MIB = 1 << 20
# What a directory for temporary files in the sandbox holds; it is memory.
TEMPORARY_BYTES = 64 * MIB
# The test whether there is a sandbox.
PROBE_SECONDS = 10
# What is read at a time, and what a pipe holds: with less, the programs wait for each other all the time.
READ_BYTES = 256 << 10
# A person who waits for a program is not to wait for these.
IDLE = ("nice", "-n", "19", "ionice", "-c", "3", "-t")
# What the programs need of the system outside /usr; see bwrap(1).
_SYSTEM = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/mime.types", "/var/cache/fontconfig",
)  # fmt: skip
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "HOME": "/tmp", "XDG_CACHE_HOME": "/tmp", "LC_ALL": "C.UTF-8",
    # No services of the session are looked for.
    "GIO_USE_VFS": "local", "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1",
    # One arena for all threads: address space is limited.
    "MALLOC_ARENA_MAX": "1",
}  # fmt: skip

log = logging.getLogger("dewpoint")


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one run may use. Beyond, it is ended and has no answer."""

    seconds: float = 30
    """From start to end."""
    processor_seconds: int = 20
    """Of each process."""
    memory_bytes: int = 1536 * MIB
    """Of address space, of each process."""
    file_bytes: int = 32 * MIB
    """Of each file that is written."""
    open_files: int = 128
    processes: int = 64
    """Processes and threads."""
    answer_bytes: int = 16 * MIB

    def command(self) -> list[str]:
        return [
            "prlimit", f"--cpu={self.processor_seconds}", f"--as={self.memory_bytes}", f"--fsize={self.file_bytes}",
            f"--nofile={self.open_files}", f"--nproc={self.processes}", "--core=0", "--",
        ]  # fmt: skip


class Failure(Exception):
    """A run has no answer."""


class Sandbox:
    """`program`: bubblewrap; None, or one that cannot make a sandbox here, and nothing is ever run."""

    def __init__(self, program: str | None = None) -> None:
        self._program = program or shutil.which("bwrap")
        self._lock = threading.Lock()
        self._is_usable: bool | None = None

    @property
    def is_usable(self) -> bool:
        """Whether programs can be run. Tried once; the log says why not."""
        with self._lock:
            if self._is_usable is None:
                self._is_usable = self._probe()
            return self._is_usable

    def _probe(self) -> bool:
        if not self._program:
            log.warning("No previews of pictures are made or shown: bubblewrap (bwrap) is not installed.")
            return False
        try:
            subprocess.run(
                [*self._command({}), *Limits().command(), "/usr/bin/true"], check=True, timeout=PROBE_SECONDS,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip() or error
            log.warning("No previews of pictures are made or shown: bubblewrap makes no sandbox here: %s", said)
            return False
        return True

    def _command(self, files: Mapping[str, str]) -> list[str]:
        words = [
            str(self._program), "--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session",
            "--cap-drop", "ALL", "--clearenv", "--ro-bind", "/usr", "/usr",
        ]  # fmt: skip
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if os.path.islink(f"/{name}"):
                words += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
            elif os.path.isdir(f"/{name}"):
                words += ["--ro-bind", f"/{name}", f"/{name}"]
        for path in _SYSTEM:
            words += ["--ro-bind-try", path, path]
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(TEMPORARY_BYTES), "--tmpfs", "/tmp"]
        for name, source in files.items():
            words += ["--ro-bind", source, name]
        for name, value in _ENVIRONMENT.items():
            words += ["--setenv", name, value]
        return [*words, "--chdir", "/tmp", "--"]

    @contextlib.contextmanager
    def running(
        self,
        command: Sequence[str],
        limits: Limits,
        files: Mapping[str, str | int] | None = None,
        is_idle: bool = False,
    ) -> Iterator["Run"]:
        """A program while it runs; afterwards it has ended, by itself or not.

        `files`: what it can read, by the names there: paths of files of the system, or descriptors, which are bound to
        the file that is open and to no other that may have its name by now.
        """
        if not self.is_usable:
            raise Failure("there is no sandbox")
        sources, descriptors = {}, []
        for name, source in (files or {}).items():
            if isinstance(source, int):
                descriptors.append(source)
                source = f"/proc/self/fd/{source}"
            sources[name] = source
        words = [*(IDLE if is_idle else ()), *self._command(sources), *limits.command(), *command]
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, pass_fds=descriptors,
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise Failure(str(error)) from None
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a user with many pipes gets no larger ones
                fcntl.fcntl(pipe or -1, fcntl.F_SETPIPE_SZ, READ_BYTES)
        run = Run(process, limits)
        try:
            yield run
        finally:
            run.end()

    def answer(
        self, command: Sequence[str], limits: Limits, files: Mapping[str, str | int] | None = None, given: bytes = b"",
        is_idle: bool = False,
    ) -> bytes:  # fmt: skip
        """What a program writes when it is given `given`."""
        with self.running(command, limits, files, is_idle) as run:
            run.give(given)
            answer = run.read_all()
            if run.wait() != 0:
                raise Failure("it failed")
            return answer


class Run:
    """A program that runs in a sandbox."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self._process, self._limits = process, limits
        self._left = limits.answer_bytes
        self._writer: threading.Thread | None = None
        self._timer = threading.Timer(limits.seconds, self._kill)
        self._timer.daemon = True
        self._timer.start()

    def give(self, text: bytes) -> None:
        """Sends all of its input, on another thread: it may answer before it has read everything."""
        self._writer = threading.Thread(target=self._write, args=(text,), name="dewpoint-sandbox", daemon=True)
        self._writer.start()

    def _write(self, text: bytes) -> None:
        pipe = self._process.stdin
        assert pipe
        with contextlib.suppress(OSError):  # it reads no further, or has ended
            view = memoryview(text)
            while view:
                view = view[pipe.write(view) or 0 :]
        with contextlib.suppress(OSError):
            pipe.close()

    def read(self, count: int) -> bytes:
        """The next bytes of its answer, fewer only at the end of it."""
        pipe, parts = self._process.stdout, []
        assert pipe
        while count > 0:
            part = pipe.read(min(count, READ_BYTES))
            if not part:
                break
            self._left -= len(part)
            if self._left < 0:
                raise Failure("its answer is too long")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def read_all(self) -> bytes:
        return self.read(self._left + 1)

    def wait(self) -> int:
        return self._process.wait()

    def _kill(self) -> None:
        # Its number is its own as long as it is not waited for; what it started dies with it.
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        self._kill()
        self._process.wait()
        self._timer.cancel()
        if self._writer:
            self._writer.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
