"""A directory without any encryption: the attacks must succeed on it, or it is not the store that does them."""

import contextlib
import os
from collections.abc import Iterator

from . import command
from .judge import Reading
from .system import DirectoryWriter, Programs, System, Writer

# By row, what must come of it.
EXPECTED = {
    **dict.fromkeys(["1-data", "1-metadata", "2-data", "2-metadata", "3-data", "3-metadata"], "served"),
    **dict.fromkeys(["4", "5", "6", "7", "8", "9", "14", "16"], "served"),
    "12-13": "missing",
    "15": "n/a",
    "17": "n/a",
    "19": "its length, to the byte",
    "21": "1000 names, 1000 contents",
}


class Plain(System):
    label = "a plain directory"
    program, absent = "plain", ""
    header, segment = 0, 4096
    no_config = "there are no keys"

    @classmethod
    def missing(cls, programs: Programs) -> str | None:
        return None

    def version(self) -> str:
        return ""

    def create(self) -> None:
        os.makedirs(self.store)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        yield DirectoryWriter(self.store)

    def kind(self, key: str) -> str:
        return "data"

    def has_names(self) -> bool:
        return True

    def read(self, witness: int | None = None) -> Reading:
        return Reading(*command.tree(self.store))
