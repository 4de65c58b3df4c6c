"""Programs that watch files follow the changes of another device, each once: cases of WatchTests.

python3 watchers.py CASE MOUNTPOINT DEWPOINT OTHER_MOUNTPOINT

Emacs reloads what it shows, entr runs a command, and gio tells what GLib's programs are told.
"""

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Self

from watching import Devices

PATIENCE = 30.0
# How long nothing more must come.
QUIET = 1.0
ROUNDS = 10

# Shows a file, and says what it holds whenever it was loaded again. It never looks by itself.
EDITOR = """
(require 'autorevert)
(setq auto-revert-use-notify t auto-revert-avoid-polling t auto-revert-interval 3600 revert-without-query '(".")
      auto-revert-notify-exclude-dir-regexp "^$" auto-revert-verbose nil)
(defun say (text) (princ (concat text "\\n") #'external-debugging-output))
(find-file (car command-line-args-left))
(setq command-line-args-left nil)
(add-hook 'after-revert-hook
          (lambda () (say (buffer-substring-no-properties (point-min) (point-max))))
          nil t)
(auto-revert-mode 1)
(say "ready")
(while t (read-event nil nil 0.05))
"""


class Program:
    """A program that prints a line for each change that it sees."""

    def __init__(self, *command: str, text: str | None = None) -> None:
        self.file = tempfile.TemporaryFile("w+")
        given = subprocess.PIPE if text is not None else subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdin=given, stdout=self.file, stderr=subprocess.STDOUT, text=True)
        if self.process.stdin:
            self.process.stdin.write(text or "")
            self.process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.file.close()

    def lines(self) -> list[str]:
        size = os.fstat(self.file.fileno()).st_size
        # gio prints an empty line too.
        return [line for line in os.pread(self.file.fileno(), size, 0).decode().splitlines() if line]

    def expect(self, *lines: str) -> None:
        """Exactly these come, and nothing more for a while."""
        end = time.monotonic() + PATIENCE
        while len(self.lines()) < len(lines) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(QUIET)
        assert self.lines() == list(lines), f"expected {list(lines)}\nseen     {self.lines()}"

    def wait_until_watching(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self.is_watching():
            assert time.monotonic() < end and self.process.poll() is None, self.lines()
            time.sleep(0.02)
        # entr forgets what it is told in its first moments.
        time.sleep(QUIET)

    def is_watching(self) -> bool:
        for name in os.listdir(f"/proc/{self.process.pid}/fdinfo"):
            with open(f"/proc/{self.process.pid}/fdinfo/{name}") as file:
                if "inotify wd:" in file.read():
                    return True
        return False


def an_editor_reloads(devices: Devices) -> None:
    devices.change(lambda: devices.write("notes.txt", "0"))
    devices.run("download", devices.on("notes.txt"))
    with Program("emacs", "-Q", "--batch", "--eval", f"(progn {EDITOR})", devices.on("notes.txt")) as editor:
        editor.expect("ready")
        seen = ["ready"]
        for number in range(1, ROUNDS):
            devices.change(functools.partial(devices.write, "notes.txt", f"text {number}"))
            seen.append(f"text {number}")
            editor.expect(*seen)

        # As most editors save: by a new file in its place.
        def save() -> None:
            devices.write("notes.new", "saved")
            os.rename(devices.at("notes.new"), devices.at("notes.txt"))

        devices.change(save)
        editor.expect(*seen, "saved")


def a_command_runs(devices: Devices) -> None:
    devices.change(lambda: devices.write("main.c", "0"))
    devices.run("download", devices.on("main.c"))
    command = ["entr", "-n", "-p", "cat", devices.on("main.c")]
    with Program(*command, text=devices.on("main.c") + "\n") as runner:
        runner.wait_until_watching()
        seen = []
        for number in range(1, ROUNDS):
            devices.change(functools.partial(devices.write, "main.c", f"int x = {number};\n"))
            seen.append(f"int x = {number};")
            runner.expect(*seen)


def programs_of_glib(devices: Devices) -> None:
    devices.change(lambda: os.mkdir(devices.at("d")))
    top = devices.on("d")
    seen: list[str] = []

    def change(body: Callable[[], object], *lines: str) -> None:
        seen.extend(f"{top}: {line}" for line in lines)
        devices.change(body)
        monitor.expect(*seen)

    with Program("gio", "monitor", "--mounts", "--dir", top) as monitor:
        monitor.wait_until_watching()
        change(lambda: devices.write("d/one", "1"), f"{top}/one: created", f"{top}/one: changes done")
        change(lambda: devices.write("d/one", "2"), f"{top}/one: attributes changed")
        change(lambda: os.mkdir(devices.at("d/new")), f"{top}/new: created", f"{top}/new: changes done")
        change(lambda: os.rename(devices.at("d/one"), devices.at("d/two")), f"{top}/one: renamed to {top}/two")
        change(lambda: os.rename(devices.at("d/two"), devices.at("d/new/two")), f"{top}/two: moved out")
        change(lambda: os.rename(devices.at("d/new/two"), devices.at("d/two")), f"{top}/two: moved in")
        change(lambda: os.unlink(devices.at("d/two")), f"{top}/two: deleted")
        change(lambda: os.rmdir(devices.at("d/new")), f"{top}/new: deleted")


def main() -> None:
    case, here, dewpoint, there = sys.argv[1:]
    globals()[case](Devices(here, dewpoint, there))


main()
