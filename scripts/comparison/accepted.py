"""The differences from the file system beside it that are meant. The page Semantics lists them under the same names.

A difference that is not here, or in what the generator leaves out, is a fault.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from .program import Step


@dataclasses.dataclass(frozen=True)
class Case:
    """One difference: at which step, where in its result, what either side has."""

    step: Step
    path: tuple[Any, ...]
    reference: Any
    ours: Any
    # Whether the step is about a file that was opened with O_DIRECT.
    bypasses_cache: bool = False
    # Whether the kernel may bypass the cache of its own accord: for a placeholder, or a writer that came to readers.
    may_bypass_cache: bool = False
    # Whether every step has a tick of the kernel's clock to itself.
    ticks: bool = False
    # Whether something was stored into a map.
    has_stored: bool = False
    # Whether room was allocated to a file.
    has_allocated: bool = False
    # Whether another device has set modes.
    has_modes_from_elsewhere: bool = False

    @property
    def field(self) -> Any:
        return self.path[-1] if self.path else None


@dataclasses.dataclass(frozen=True)
class Accepted:
    name: str
    reason: str
    covers: Callable[[Case], bool]
    # Whether the two sides have gone apart, so that nothing after it can be compared.
    ends: bool = False


def is_kept_setgid(reference: int, ours: int) -> bool:
    return ours & 0o2010 == 0o2000 and reference == ours & ~0o2000


TABLE = [
    Accepted(
        "blocks-of-holes",
        "A file that has bytes always has blocks, so that archivers do not take a placeholder for a hole.",
        lambda case: case.field == "has blocks" and case.reference is False and case.ours is True,
    ),
    Accepted(
        "access-times",
        "Reading changes no access time, as on a mount with noatime.",
        lambda case: (
            (case.field == "atime" and case.reference == "now" and case.ours != "now")
            or case.field == "atime and before"
        ),
    ),
    Accepted(
        "clock-tick",
        "Two changes within a tick of the kernel's clock, 4 ms, may have the same time even where it was looked at in between.",
        lambda case: (
            (
                str(case.field).endswith("and before")
                and not case.ticks
                and {case.reference, case.ours} == {"later", "equal"}
            )
            # fallocate(2) on ext4 sets the two times one after the other.
            or (
                case.field == "mtime and ctime"
                and case.has_allocated
                and (case.reference, case.ours) == ("earlier", "equal")
            )
        ),
    ),
    Accepted(
        "mapped-times",
        "A store into a map with pass-through changes the file's times when the file is closed.",
        lambda case: case.has_stored and str(case.field).startswith(("mtime", "ctime")),
    ),
    Accepted(
        "setgid-without-exec",
        "Writing keeps the set-group-ID bit of a file that its group may not execute.",
        lambda case: case.field == "mode" and is_kept_setgid(int(case.reference, 8), int(case.ours, 8)),
    ),
    Accepted(
        "setid-elsewhere",
        "Set-id bits that another device sets do not reach a file that root owns.",
        lambda case: (
            case.field == "mode"
            and case.has_modes_from_elsewhere
            and int(case.ours, 8) == int(case.reference, 8) & ~0o6000
        ),
    ),
    Accepted(
        "lock-of-a-description",
        "F_GETLK tells a process for each lock, and F_OFD_GETLK -1, where ext4 tells locks of processes from those of descriptions.",
        lambda case: case.step.name in ("getlock", "getofdlock") and case.field == 3,
    ),
    Accepted(
        "direct-alignment",
        "O_DIRECT asks for no alignment: what ext4 refuses with EINVAL, for its disk's sake, is done.",
        lambda case: case.bypasses_cache and case.path == () and case.reference == ["EINVAL"] and case.ours[0] == "ok",
        ends=True,
    ),
    Accepted(
        "io-uring-direct",
        "By io_uring, the position does not advance and reads go on past the end where a handle bypasses the page cache.",
        # ext4 does the same with O_DIRECT.
        lambda case: (
            case.field == "kernel" and (case.bypasses_cache or (case.may_bypass_cache and case.reference == "nothing"))
        ),
    ),
]


def find(case: Case) -> Accepted | None:
    """The accepted difference that covers a case; None for a fault."""
    return next((one for one in TABLE if one.covers(case)), None)
