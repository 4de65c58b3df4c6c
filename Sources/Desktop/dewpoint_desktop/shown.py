"""The file manager's end of its helper: asks and answers on the main loop, and never waits."""

import collections
import json
import os
import subprocess
from collections.abc import Callable
from typing import IO, Any

from gi.repository import GLib

from . import actions
from .following import KNOWN_DIRECTORIES, Places, Shown
from .helper import encoded
from .states import State

# A helper that ended is started again after this time, after each further failure twice as late.
RESTART_SECONDS = (1, 60)
# Directories of all mounts that are kept.
DIRECTORIES = 2 * KNOWN_DIRECTORIES
# What is not read yet of a helper that is asked; beyond, it hangs.
QUEUE_BYTES = 4 << 20
# One turn of the main loop reads so much.
READ_BYTES = 256 << 10


class ShownItems:
    """What is to be shown of items. `changed(paths)` is called on the main loop, with absolute paths of bytes."""

    def __init__(self, changed: Callable[[list[bytes]], object], command: list[str] | None = None) -> None:
        self._changed = changed
        self._command = command or [actions.PYTHON, os.path.dirname(os.path.abspath(__file__)), "states"]
        self._places = Places()
        # By directory, by name.
        self._known: collections.OrderedDict[bytes, dict[str, Shown]] = collections.OrderedDict()
        self._process: subprocess.Popen[bytes] | None = None
        self._queue, self._buffer = b"", b""
        self._sources: list[int] = []
        self._pause = RESTART_SECONDS[0]
        self._is_restarting = False

    def of(self, path: bytes) -> Shown | None:
        """What to show of the item at an absolute path of bytes, at once; None while it is not known, and elsewhere."""
        directory, _, name = path.rpartition(b"/")
        # The root of a container is looked at in its parent, which is no part of it.
        if not self._places.of(directory):
            return None
        self.show(directory)
        return self._known.get(directory, {}).get(os.fsdecode(name))

    def show(self, directory: bytes) -> None:
        """A directory, an absolute path of bytes, is shown from now on; does nothing outside of containers."""
        if directory in self._known:
            self._known.move_to_end(directory)
        elif self._places.of(directory):
            self._known[directory] = {}
            if len(self._known) > DIRECTORIES:
                self._known.popitem(last=False)
            self._send({"show": os.fsdecode(directory)})

    def is_in_container(self, path: bytes) -> bool:
        return self._places.of(path) is not None

    def perform(self, action: actions.Action, paths: list[bytes]) -> None:
        if action.route is None:
            actions.start(action.name, *paths)
        else:
            self._send({"act": action.route, "paths": [os.fsdecode(path) for path in paths], "values": action.values})

    def close(self) -> None:
        self._end()

    # The process

    def _send(self, order: dict[str, Any]) -> None:
        if self._is_restarting:
            return  # what is known is asked for again after the start
        if not self._process and not self._start():
            return
        self._queue += encoded(order)
        self._write()

    def _start(self) -> bool:
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        except OSError:
            self._restart_later()
            return False
        asked, answers = self._process.stdin, self._process.stdout
        assert asked and answers
        for pipe in (asked, answers):
            os.set_blocking(pipe.fileno(), False)
        self._watch(answers, GLib.IOCondition.IN | GLib.IOCondition.HUP, self._read)
        return True

    def _watch(self, pipe: IO[bytes], condition: Any, call: Callable[..., Any]) -> None:
        self._sources.append(GLib.unix_fd_add_full(GLib.PRIORITY_DEFAULT_IDLE, pipe.fileno(), condition, call))

    def _write(self, *_: object) -> Any:
        asked = self._process and self._process.stdin
        try:
            while asked and self._queue:
                self._queue = self._queue[os.write(asked.fileno(), self._queue) :]
        except BlockingIOError:
            if len(self._queue) > QUEUE_BYTES:
                self._end()
                self._restart_later()
            else:
                GLib.timeout_add(100, self._write_again, self._process)
        except OSError:
            self._queue = b""  # it has ended; the end of its output says so too
        return GLib.SOURCE_REMOVE

    def _write_again(self, process: subprocess.Popen[bytes]) -> Any:
        if process is self._process:
            self._write()
        return GLib.SOURCE_REMOVE

    def _read(self, descriptor: int, _: object) -> Any:
        try:
            text = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return GLib.SOURCE_CONTINUE
        except OSError:
            text = b""
        if not text:
            self._sources.clear()
            self._end()
            self._restart_later()
            return GLib.SOURCE_REMOVE
        *lines, self._buffer = (self._buffer + text).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return GLib.SOURCE_CONTINUE

    def _take(self, answer: Any) -> None:
        self._pause = RESTART_SECONDS[0]
        directory = os.fsencode(answer["directory"])
        items = self._known.get(directory)
        if items is None:
            return
        for name, shown in answer["items"].items():
            if shown:
                items[name] = Shown(State(shown[0]), *shown[1:])
            else:
                items.pop(name, None)
        self._changed([directory + b"/" + os.fsencode(name) for name in answer["items"]])

    def _end(self) -> None:
        for source in self._sources:
            GLib.source_remove(source)
        self._sources.clear()
        self._queue = self._buffer = b""
        process, self._process = self._process, None
        if process:
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
            process.terminate()
            GLib.timeout_add_seconds(1, lambda: process.poll() is None)

    def _restart_later(self) -> None:
        if self._is_restarting:
            return
        self._is_restarting = True
        GLib.timeout_add_seconds(self._pause, self._restart)
        self._pause = min(self._pause * 2, RESTART_SECONDS[1])

    def _restart(self) -> Any:
        self._is_restarting = False
        for directory in list(self._known):
            self._known[directory] = {}
            self._send({"show": os.fsdecode(directory)})
        return GLib.SOURCE_REMOVE
