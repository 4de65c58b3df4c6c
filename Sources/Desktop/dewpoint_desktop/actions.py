"""What a context menu offers for items, and carries out."""

import dataclasses
import os
import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from .control import Fault
from .following import Shown, States
from .states import State

# Beyond, nothing is offered: the command line is the better tool.
SELECTED_ITEMS = 1000
# Errors that a notification shows.
SHOWN_ERRORS = 3
_MODULE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
_one_at_a_time = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Action:
    name: str
    label: str
    tip: str
    route: str | None
    """The request that carries it out; None for one that opens a window."""
    values: dict[str, Any] = dataclasses.field(default_factory=dict)


_UNPIN = Action(
    "unpin", "Do Not _Keep on This Device", "Its space may be freed again", "/v1/items/pin", {"pinned": False}
)
_PIN = Action(
    "pin", "_Keep on This Device", "Downloads it, and does not free its space", "/v1/items/pin", {"pinned": True}
)
_DOWNLOAD = Action("download", "_Download Now", "Downloads it in the background", "/v1/items/download", {"wait": False})
_EVICT = Action("evict", "_Free Up Space", "Removes the local bytes; they stay in the cloud", "/v1/items/evict")
_RESOLVE = Action("versions", "_Resolve Conflict…", "Chooses which version of the file is kept", None)
_VERSIONS = Action("versions", "_Versions…", "Shows earlier versions of the file, and restores them", None)


def offered(shown: Sequence[Shown | None]) -> list[Action]:
    """The actions for a selection: what is shown of each item, None for one whose state is not known."""
    if not shown or len(shown) > SELECTED_ITEMS:
        return []
    known = [item for item in shown if item]
    files = [item for item in known if item.kind == "file"]
    if known and all(item.state is State.UNSYNCED for item in files) and len(files) == len(shown):
        return []
    # Directories, and what is not known, may have anything in them.
    is_open = len(files) < len(shown)
    actions = []
    if is_open or any(not item.is_pinned for item in files):
        actions.append(_PIN)
    if any(item.is_pinned for item in known):
        actions.append(_UNPIN)
    if is_open or any(item.state in (State.CLOUD, State.ERROR) for item in files):
        actions.append(_DOWNLOAD)
    if is_open or any(item.state is State.LOCAL for item in files):
        actions.append(_EVICT)
    if len(shown) == 1 and files:
        actions.append(_RESOLVE if files[0].state is State.CONFLICT else _VERSIONS)
    return actions


def perform(states: States, route: str, paths: list[bytes], values: dict[str, Any]) -> None:
    """Carries an action out, item by item, and shows what failed in a notification."""
    errors = []
    # One after another: a person who clicks twice wants the second after the first.
    with _one_at_a_time:
        for path in paths:
            try:
                place = states.place(path)
                if not place:
                    raise Fault("notFound", "it is in no container any more")
                place[0].post(route, {"path": place[1], **values})
                states.refresh(path)
            except Fault as fault:
                errors.append(f"{os.fsdecode(os.path.basename(path))}: {fault}")
    if errors:
        more = [f"… and {len(errors) - SHOWN_ERRORS} more"] if len(errors) > SHOWN_ERRORS else []
        start("notify", "\n".join(errors[:SHOWN_ERRORS] + more))


def start(*words: str | bytes) -> None:
    """Starts `dewpoint-desktop` with arguments; what it cannot do it says itself."""
    process = subprocess.Popen([PYTHON, _MODULE, *words], stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=process.wait, name="dewpoint-child", daemon=True).start()
