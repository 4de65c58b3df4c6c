"""Operations on advisory locks, none of which waits."""

import fcntl
import struct
from typing import Any

from . import syscalls
from .descriptors import Descriptors

FLOCK = struct.Struct("hhqqi4x")
KINDS = {"read": fcntl.F_RDLCK, "write": fcntl.F_WRLCK, "unlock": fcntl.F_UNLCK}


class Locks(Descriptors):
    def flock(self, slot: int, kind: str) -> None:
        operation = {"read": fcntl.LOCK_SH, "write": fcntl.LOCK_EX, "unlock": fcntl.LOCK_UN}[kind]
        fcntl.flock(self.file(slot), operation | fcntl.LOCK_NB)

    def lock(self, slot: int, kind: str, start: int, length: int) -> None:
        """A record lock of the process."""
        self.set(slot, fcntl.F_SETLK, kind, start, length)

    def ofdlock(self, slot: int, kind: str, start: int, length: int) -> None:
        """A lock of the open file description."""
        self.set(slot, syscalls.F_OFD_SETLK, kind, start, length)

    def getlock(self, slot: int, kind: str, start: int, length: int) -> Any:
        """What would be in the way of a record lock; the process that has it is not told, as its number differs."""
        return self.get(slot, fcntl.F_GETLK, kind, start, length)

    def getofdlock(self, slot: int, kind: str, start: int, length: int) -> Any:
        return self.get(slot, syscalls.F_OFD_GETLK, kind, start, length)

    def set(self, slot: int, command: int, kind: str, start: int, length: int) -> None:
        fcntl.fcntl(self.file(slot), command, FLOCK.pack(KINDS[kind], 0, start, length, 0))

    def get(self, slot: int, command: int, kind: str, start: int, length: int) -> Any:
        answer = fcntl.fcntl(self.file(slot), command, FLOCK.pack(KINDS[kind], 0, start, length, 0))
        found, _, start, length, process = FLOCK.unpack(answer)
        name = next(name for name, number in KINDS.items() if number == found)
        return name if name == "unlock" else [name, start, length, "description" if process == -1 else "process"]
