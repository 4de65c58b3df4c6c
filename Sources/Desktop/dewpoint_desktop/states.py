"""What an item's status means to a person: one state, its word and its emblem."""

import enum
from typing import Any


class State(enum.Enum):
    """In the order of importance: an item has the first that applies."""

    CONFLICT = "conflict"
    ERROR = "error"
    UPLOADING = "uploading"
    DOWNLOADING = "downloading"
    PAUSED = "paused"
    PINNED = "pinned"
    CLOUD = "cloud"
    LOCAL = "local"
    UNSYNCED = "unsynced"

    @property
    def emblem(self) -> str | None:
        """The name of its icon; None for items that look like those of any other directory."""
        if self is State.UNSYNCED:
            return None
        return f"emblem-dewpoint-{'cloud' if self is State.PAUSED else self.value}"


def state(status: dict[str, Any]) -> State:
    """The state of an item, from the object that the control API sends of it."""
    if not status.get("isUbiquitousItem", True):
        return State.UNSYNCED
    if status.get("conflictCount", 0) > 0:
        return State.CONFLICT
    if status.get("downloadingError") or status.get("uploadingError"):
        return State.ERROR
    is_file = status.get("kind") == "file"
    if status.get("isUploading") or (not status.get("isUploaded", True) and not status.get("isSyncPaused")):
        return State.UPLOADING
    if status.get("isDownloading"):
        return State.DOWNLOADING
    if status.get("isSyncPaused") and not status.get("isUploaded", True):
        return State.PAUSED
    if status.get("pinned"):
        return State.PINNED
    if is_file and status.get("downloadingStatus") == "NotDownloaded":
        return State.CLOUD
    # A directory is neither: what is in it says more.
    return State.LOCAL if is_file else State.UNSYNCED


def words(status: dict[str, Any]) -> str:
    """The state in words, for a column: at most some forty letters."""
    found = state(status)
    match found:
        case State.CONFLICT:
            count = status["conflictCount"]
            return "Conflict" if count == 1 else f"Conflict ({count} versions)"
        case State.ERROR:
            fault = status.get("uploadingError") or status["downloadingError"]
            return f"Error: {fault.get('text', '')}".strip()
        case State.UPLOADING:
            return (
                _percent("Uploading", status.get("percentUploaded"))
                if status.get("isUploading")
                else "Waiting to upload"
            )
        case State.DOWNLOADING:
            return _percent("Downloading", status.get("percentDownloaded"))
        case State.PAUSED:
            return "Sync paused"
        case State.PINNED:
            return "Kept on this device"
        case State.CLOUD:
            return "In the cloud"
        case State.LOCAL:
            return "On this device"
        case State.UNSYNCED:
            return "" if status.get("isUbiquitousItem", True) else "Not synced"


def _percent(word: str, percent: float | None) -> str:
    return f"{word} {int(percent)} %" if percent and 0 < percent < 100 else word
