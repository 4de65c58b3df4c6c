"""What the controller has done on a mount by a process of its own, since it may hang."""

import os

from . import scene, syscalls
from .descriptors import Place


class Housekeeping(Place):
    def make_scenes(self, names: list[str]) -> None:
        for name in names:
            scene.make(self.path(name))

    def evict(self, path: str) -> None:
        os.setxattr(self.path(path), "user.dewpoint.evict", b"1", follow_symlinks=True)

    def download(self, path: str) -> None:
        os.setxattr(self.path(path), "user.dewpoint.download", b"wait", follow_symlinks=True)

    def remount(self, point: str) -> None:
        syscalls.remount(point)
