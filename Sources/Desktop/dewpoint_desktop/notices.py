"""Which changes are worth a notification, and how often: at most one of each kind and container in ten minutes."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

# Of one kind and container. What comes meanwhile is said together, later.
QUIET_SECONDS = 600
# What stays wrong is said again.
REMINDER_SECONDS = 24 * 3600
# Names in one notification, and those that are remembered for it.
SHOWN_NAMES = 3
KEPT_NAMES = 1000


@dataclasses.dataclass(frozen=True)
class Notice:
    key: tuple[str, str]
    """Kind and container: a later notice of the same key replaces the earlier one on the screen."""
    title: str
    body: str
    is_urgent: bool = False


@dataclasses.dataclass
class _Topic:
    shown: float | None = None
    text: str | None = None
    names: list[str] = dataclasses.field(default_factory=list)


class Notices:
    """Decides; says nothing itself. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._topics: dict[tuple[str, str], _Topic] = {}

    def conflict(self, container: str, name: str) -> None:
        self._note("conflict", container, name)

    def resolved(self, container: str, name: str) -> None:
        self._forget("conflict", container, name)

    def departed(self, container: str, name: str) -> None:
        """A move took an item out of what is synced."""
        self._note("departure", container, name)

    def returned(self, container: str, name: str) -> None:
        self._forget("departure", container, name)

    def status(self, container: str, status: dict[str, Any], now: float) -> list[Notice]:
        """The notices that are due by the answer to `/v1/status`, and by what was reported before."""
        name = status.get("name") or status.get("container") or container
        due = [
            self._names("conflict", container, now, lambda names: _conflicts(name, names)),
            self._names("departure", container, now, lambda names: _departures(name, names)),
            self._lasting("problem", container, now, _blocking(status), lambda text: _problem(name, text)),
            self._lasting(
                "held", container, now, status.get("heldDeletionCount") or None,
                lambda count: _held(name, count, status.get("mountpoint", "MOUNTPOINT")),
            ),
            self._lasting(
                "overdue", container, now,
                sorted(str(device.get("name")) for device in status.get("overdue") or []) or None,
                lambda devices: _overdue(name, devices),
            ),
        ]  # fmt: skip
        return [notice for notice in due if notice]

    def _topic(self, kind: str, container: str) -> _Topic:
        return self._topics.setdefault((kind, container), _Topic())

    def _note(self, kind: str, container: str, name: str) -> None:
        names = self._topic(kind, container).names
        if name not in names and len(names) < KEPT_NAMES:
            names.append(name)

    def _forget(self, kind: str, container: str, name: str) -> None:
        names = self._topic(kind, container).names
        if name in names:
            names.remove(name)

    def _names(
        self, kind: str, container: str, now: float, notice: Callable[[list[str]], tuple[str, str]]
    ) -> Notice | None:
        topic = self._topic(kind, container)
        if not topic.names or (topic.shown is not None and now - topic.shown < QUIET_SECONDS):
            return None
        names, topic.names, topic.shown = topic.names, [], now
        return Notice((kind, container), *notice(names))

    def _lasting(
        self, kind: str, container: str, now: float, value: Any, notice: Callable[[Any], tuple[str, str]]
    ) -> Notice | None:
        topic = self._topic(kind, container)
        if value is None:
            topic.text = None
            return None
        # Numbers and times in it change all the time.
        text = re.sub(r"\d+", "0", str(value))
        wait = REMINDER_SECONDS if text == topic.text else QUIET_SECONDS
        if topic.shown is not None and now - topic.shown < wait:
            return None
        topic.text, topic.shown = text, now
        return Notice((kind, container), *notice(value), is_urgent=True)


def _blocking(status: dict[str, Any]) -> str | None:
    """Why sync is blocked, unless it is for a reason that a person knows or is told of by another notice."""
    # Without a network that is no news, and it passes by itself.
    is_offline = status.get("store", "reachable") != "reachable"
    return None if is_offline or status.get("heldDeletionCount") else status.get("problem")


def _list(names: list[str]) -> str:
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _conflicts(container: str, names: list[str]) -> tuple[str, str]:
    if len(names) == 1:
        return f"Conflict in {container}", f"{names[0]} was changed on two devices. Both versions are kept; choose one."
    return (
        f"Conflicts in {container}",
        f"{len(names)} files were changed on two devices: {_list(names)}. All versions are kept.",
    )


def _departures(container: str, names: list[str]) -> tuple[str, str]:
    return (
        f"No longer synced in {container}",
        f"Moved to where nothing is synced: {_list(names)}. What was moved stays on this device only; other devices find it "
        "in the trash. Move it back to sync it again.",
    )


def _problem(container: str, text: str) -> tuple[str, str]:
    return f"{container} does not sync", text[:1].upper() + text[1:]


def _overdue(container: str, devices: list[str]) -> tuple[str, str]:
    return (
        f"Nothing new in {container}",
        f"{_list(devices)} promised to commit, and nothing has come for twice as long: off or offline, or the store "
        "withholds it.",
    )


def _held(container: str, count: int, mountpoint: str) -> tuple[str, str]:
    return (
        f"Much was deleted in {container}",
        f"{count} deletions are held and not passed on. To delete everywhere: dewpoint confirm {mountpoint}; "
        f"to get the files back: dewpoint confirm --discard {mountpoint}",
    )
