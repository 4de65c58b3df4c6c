"""Whether two results are the same: times by their order, inode numbers not at all.

The kernel stamps files with a clock that ticks every few milliseconds, so two changes in one tick have the same time,
and which of them do differs from run to run. Programs that begin with `dewpoint.tick()` make each step in a tick of its
own: only there the order of times within a file, and access times, are compared.
"""

import time
from typing import Any

# Times this far from now were set by somebody, and are compared to the nanosecond.
NOW_SECONDS = 7 * 86400
# CLOCK_REALTIME_COARSE, for which Python has no name.
COARSE = 5
FIELDS = ("atime", "mtime", "ctime")


def order(one: int, other: int) -> str:
    return "earlier" if one < other else "later" if one > other else "equal"


def await_tick() -> None:
    """Some file systems stamp a file that was looked at with the exact time, and the ticks of a busy machine are
    late."""
    before = time.time_ns()
    while time.clock_gettime_ns(COARSE) <= before:
        time.sleep(0.0005)


class Clock:
    """What was last seen of the times of one side's files."""

    def __init__(self) -> None:
        self.seen: dict[Any, list[int]] = {}
        self.ticks = False
        # Whether another device has changed something: the times are its own, or of the moment when its change came.
        self.has_met = False

    def meet(self) -> None:
        self.seen.clear()
        self.ticks, self.has_met = False, True

    def plain(self, result: Any) -> Any:
        """A result with times in words, all through."""
        if isinstance(result, dict):
            if "times" in result and "identity" in result:
                return self.ordered(result)
            return {key: self.plain(value) for key, value in result.items()}
        if isinstance(result, (list, tuple)):
            return [self.plain(value) for value in result]
        return result

    def ordered(self, attributes: dict[str, Any]) -> dict[str, Any]:
        rest = {key: value for key, value in attributes.items() if key not in ("times", "identity")}
        if self.has_met and (attributes["kind"] == "directory" or attributes["nlink"] == 0):
            return rest
        times, now = attributes["times"], time.time_ns()
        last = self.seen.get(attributes["identity"])
        self.seen[attributes["identity"]] = times
        for index, field in enumerate(FIELDS):
            # Whether following a link counts as access to it depends on the kernel's caches.
            if field == "atime" and (not self.ticks or attributes["kind"] == "link"):
                continue
            if abs(times[index] - now) > NOW_SECONDS * 10**9:
                rest[field] = times[index]
            else:
                rest[field] = "now"
            if last is not None and not self.has_met:
                rest[f"{field} and before"] = order(times[index], last[index])
        if rest["mtime"] == "now" and self.ticks:
            rest["mtime and ctime"] = order(times[1], times[2])
        return rest


def differences(reference: Any, ours: Any, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any, Any]]:
    """Where two results differ: (path, what ext4 has, what Dewpoint has)."""
    if isinstance(reference, dict) and isinstance(ours, dict):
        found = []
        for key in sorted({*reference, *ours}, key=str):
            if (str(key).endswith("and before") or key == "has blocks") and (key not in reference or key not in ours):
                # One side has seen the inode before, and the other has made a new one; or one is empty, which its size
                # tells.
                continue
            found += differences(reference.get(key, "nothing"), ours.get(key, "nothing"), (*path, key))
        return found
    if isinstance(reference, list) and isinstance(ours, list) and len(reference) == len(ours):
        return [one for index, pair in enumerate(zip(reference, ours)) for one in differences(*pair, (*path, index))]
    return [] if reference == ours else [(path, reference, ours)]
