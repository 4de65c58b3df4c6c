"""Changes that another device makes, and what they are on a single file system."""

import os

from . import observation
from .descriptors import Place

TEMPORARY = ".elsewhere~"


class Elsewhere(Place):
    """Operations of the second device, below its mount; on the file system beside it they are done in place.

    What another device writes gives a name new bytes and leaves open files as they are, so there it is a new file
    renamed over.
    """

    def edit(self, path: str, letter: str, count: int) -> None:
        place = self.path(path)
        data = letter.encode() * count
        if self.is_ours:
            with open(place, "r+b") as file:
                file.truncate(0)
                file.write(data)
            return
        seen = observation.attributes(-100, place, 0)
        values = {name: os.getxattr(place, name) for name in os.listxattr(place)}
        temporary = f"{self.root}/{TEMPORARY}"
        with open(temporary, "wb") as file:
            os.chown(temporary, seen["uid"], seen["gid"])
            os.chmod(temporary, int(seen["mode"], 8))
            for name, value in values.items():
                os.setxattr(temporary, name, value)
            # Last: the write of an ordinary user takes set-id bits away.
            file.write(data)
        os.rename(temporary, place)

    def make(self, path: str, letter: str, count: int) -> None:
        """A new file, which is the mounting user's on every device."""
        with open(os.open(self.path(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
            file.write(letter.encode() * count)
