"""The helper of a file manager: a process beside it that talks to the daemons.

A file manager has one thread for its windows, and holds Python's lock in it nearly all the time: another thread of its
process gets no turn, and a request on the main thread would stop the windows. So the extension starts this process and
reads what it says when its main loop has time. Lines of JSON both ways, paths as text with surrogates for bytes that
are no UTF-8:

    → {"show": "/mnt/notes/Photos"}                 a directory that is shown from now on
    → {"act": "/v1/items/pin", "paths": ["/mnt/notes/a.txt"], "values": {"pinned": true}}
    ← {"directory": "/mnt/notes/Photos", "items": {"a.jpg": ["cloud", "In the cloud", "file", false], "b.jpg": null}}

An answer has the items that changed; null for one that is not known any more. The helper ends with its input. Meanwhile
it writes thumbnails of the pictures in such directories that are not local, from their previews.

A file manager whose extension is not written in Python asks here what its menu offers. The answer comes at once; what
is chosen is sent back as it came, with the paths:

    → {"menu": 7, "paths": ["/mnt/notes/a.txt"]}
    ← {"menu": 7, "actions": [{"label": "_Keep on…", "tip": "…", "order": {"act": "/v1/items/pin", "values": {…}}}]}
    → {"start": "versions", "paths": ["/mnt/notes/a.txt"]}
"""

import json
import os
import sys
import threading
from collections.abc import Iterable
from typing import IO, Any

from . import actions
from .following import Items, States
from .viewing import PreviewViewer


def encoded(value: object) -> bytes:
    # ASCII with escapes: any bytes of names survive, also halves of surrogates.
    return (json.dumps(value) + "\n").encode("ascii")


class Helper:
    def __init__(self, output: IO[bytes], states: States | None = None, viewer: PreviewViewer | None = None) -> None:
        self._output = output
        self._writing = threading.Lock()
        self._states = states or States(self._changed)
        self._viewer = viewer or PreviewViewer(self._states.place)

    def run(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                order = json.loads(line)
            except ValueError:
                continue
            if "show" in order:
                self._states.show(os.fsencode(order["show"]))
            elif "act" in order:
                paths = [os.fsencode(path) for path in order["paths"]]
                threading.Thread(target=self._act, args=(order["act"], paths, order["values"]), daemon=True).start()
            elif "menu" in order:
                self._offer(order["menu"], [os.fsencode(path) for path in order["paths"]])
            elif order.get("start") == "versions":
                actions.start("versions", *map(os.fsencode, order["paths"]))

    def _act(self, route: str, paths: list[bytes], values: dict[str, Any]) -> None:
        actions.perform(self._states, route, paths, values)

    def _offer(self, number: int, paths: list[bytes]) -> None:
        def order(action: actions.Action) -> dict[str, Any]:
            return {"act": action.route, "values": action.values} if action.route else {"start": action.name}

        offered = [
            {"label": action.label, "tip": action.tip, "order": order(action)}
            for action in actions.offered([self._states.of(path) for path in paths])
        ]
        self._say({"menu": number, "actions": offered})

    def _changed(self, directory: bytes, items: Items) -> None:
        self._viewer.offer(directory, items)
        answer = {
            "directory": os.fsdecode(directory),
            "items": {
                name: shown and [shown.state.value, shown.words, shown.kind, shown.is_pinned]
                for name, shown in items.items()
            },
        }
        self._say(answer)

    def _say(self, answer: Any) -> None:
        with self._writing:
            try:
                self._output.write(encoded(answer))
                self._output.flush()
            except OSError:
                os._exit(0)  # the file manager has ended


def main() -> None:
    # What somebody else prints must not come between the lines.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    Helper(output).run(sys.stdin.buffer)
