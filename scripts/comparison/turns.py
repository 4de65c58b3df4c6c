"""Which opens would wait for another process's turn. They are not issued: that they wait is the one difference by
design.

A rewriting open (write-only without O_APPEND, or with O_TRUNC) has its file's turn until its description is gone, with
all copies and maps. Opens for writing by other processes wait meanwhile. What a path leads to, the file system beside
the mount tells.
"""

import os
from collections.abc import Callable
from typing import Any

from .descriptors import Inode, flags
from .program import Step

# Process, inode, whether it writes, whether it rewrites, flags.
Description = tuple[str, Inode | None, bool, bool, int]


class Turns:
    def __init__(self, reference_root: str, inode_at: Callable[[str, int, str], Inode | None]) -> None:
        """`inode_at(who, slot, name)` asks a process beside the mount for an entry of a directory that it has open."""
        self.root, self.inode_at = reference_root, inode_at
        # Descriptions: (process, inode, writes, rewrites, flags) by number; and who refers to them: (process, "file" or
        # "map", slot).
        self.descriptions: dict[int, Description] = {}
        self.references: dict[tuple[str, str, Any], int] = {}
        # The descriptions of files that were open already.
        self.later: set[int] = set()
        self.count = 0

    def inode(self, path: str) -> Inode | None:
        try:
            found = os.stat(f"{self.root}/{path}")
            return found.st_dev, found.st_ino
        except OSError:
            return None

    def would_wait(self, step: Step) -> bool:
        """Whether an open has to wait for a turn of another process."""
        opened = self.opened(step)
        if opened is None or opened[1] is None:
            return False
        _, inode, writes = opened[:3]
        return writes and any(one[1] == inode and one[3] and one[0] != step.who for one in self.descriptions.values())

    def is_written(self, path: str) -> bool:
        """Whether some process has the file open for writing, or mapped so."""
        inode = self.inode(path)
        return inode is not None and any(one[1] == inode and one[2] for one in self.descriptions.values())

    def bypasses_cache(self, step: Step) -> bool:
        """Whether a step is about a file that was opened with O_DIRECT."""
        slots = step.arguments[0:3:2] if step.name == "copy_range" else step.arguments[:1]
        held = (self.descriptions.get(self.references.get((step.who, "file", slot), 0)) for slot in slots)
        return any(one and one[4] & os.O_DIRECT for one in held)

    def is_later_writer(self, step: Step) -> bool:
        """Whether a step writes to, or reads by, a description that may write and came to a file that was open."""
        number = self.references.get((step.who, "file", *step.arguments[:1]))
        return number in self.later and self.descriptions[number][2]

    def opened(self, step: Step) -> Description | None:
        """What a step opens: process, inode, whether it may write, whether it rewrites, with which flags."""
        if step.name == "open":
            inode, words = self.inode(step.arguments[1]), step.arguments[2]
        elif step.name == "reopen":
            inode, words = self.inode(step.arguments[0]), step.arguments[1]
        elif step.name == "openat":
            inode, words = self.inode_at(step.who, *step.arguments[1:3]), step.arguments[3]
        else:
            return None
        number = flags(words)
        mode, truncates = number & os.O_ACCMODE, bool(number & os.O_TRUNC)
        rewrites = truncates or (mode == os.O_WRONLY and not number & os.O_APPEND)
        return step.who, inode, mode != os.O_RDONLY or truncates, rewrites, number

    def note(self, step: Step) -> None:
        """A step that succeeded on both sides."""
        who, name, arguments = step.who, step.name, step.arguments
        if name in ("open", "openat"):
            self.count += 1
            # Made by this very call, perhaps: so it is asked again.
            opened = self.opened(step)
            assert opened is not None
            self.descriptions[self.count] = opened
            if any(one[1] == opened[1] for number, one in self.descriptions.items() if number != self.count):
                self.later.add(self.count)
            self.refer((who, "file", arguments[0]), self.count)
        elif name == "dup":
            self.refer((who, "file", arguments[1]), self.references.get((who, "file", arguments[0])))
        elif name == "mmap":
            self.refer((who, "map", arguments[1]), self.references.get((who, "file", arguments[0])))
        elif name in ("close", "munmap"):
            self.refer((who, "file" if name == "close" else "map", arguments[0]), None)

    def attempted(self, step: Step) -> None:
        """A step that failed: an open lets go of what was in its slot all the same."""
        if step.name == "open":
            self.refer((step.who, "file", step.arguments[0]), None)
        elif step.name == "mmap":
            self.refer((step.who, "map", step.arguments[1]), None)

    def ended(self, who: str) -> None:
        for key in [key for key in self.references if key[0] == who]:
            self.refer(key, None)

    def refer(self, key: tuple[str, str, Any], description: int | None) -> None:
        if description is None:
            self.references.pop(key, None)
        else:
            self.references[key] = description
        alive = set(self.references.values())
        self.descriptions = {number: one for number, one in self.descriptions.items() if number in alive}
