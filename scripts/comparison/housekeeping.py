"""What the controller has done on a mount by a process of its own, since it may hang."""

import os

from . import scene, syscalls


class Housekeeping:
    def make_scenes(self, names):
        for name in names:
            scene.make(self.path(name))

    def evict(self, path):
        os.setxattr(self.path(path), "user.dewpoint.evict", b"1", follow_symlinks=True)

    def download(self, path):
        os.setxattr(self.path(path), "user.dewpoint.download", b"wait", follow_symlinks=True)

    def remount(self, point):
        syscalls.remount(point)
