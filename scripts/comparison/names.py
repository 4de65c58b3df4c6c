"""Operations on names: making, renaming, removing, attributes."""

import os
import stat
from typing import Any

from . import observation, syscalls
from .descriptors import Descriptors, flags


class Names(Descriptors):
    """Paths are relative to the root of the program's tree."""

    def truncate(self, path: str, size: int) -> None:
        os.truncate(self.path(path), size)

    def rename(self, source: str, target: str, flags: int = 0) -> None:
        if flags:
            syscalls.renameat2(self.path(source), self.path(target), flags)
        else:
            os.rename(self.path(source), self.path(target))

    def link(self, source: str, target: str) -> None:
        os.link(self.path(source), self.path(target), follow_symlinks=False)

    def name(self, slot: int, target: str) -> None:
        """Gives a name to an open file, which may have none."""
        syscalls.link_followed(f"/proc/self/fd/{self.file(slot)}", self.path(target))

    def symlink(self, content: str, path: str) -> None:
        os.symlink(content, self.path(path))

    def readlink(self, path: str) -> str:
        return os.readlink(self.path(path))

    def unlink(self, path: str) -> None:
        os.unlink(self.path(path))

    def mkdir(self, path: str, mode: int) -> None:
        os.mkdir(self.path(path), mode)

    def rmdir(self, path: str) -> None:
        os.rmdir(self.path(path))

    def mkfifo(self, path: str, mode: int) -> None:
        os.mknod(self.path(path), mode | stat.S_IFIFO)

    def mknod(self, path: str, mode: int) -> None:
        """A regular file by mknod(2)."""
        os.mknod(self.path(path), mode | stat.S_IFREG)

    def umask(self, mask: int) -> int:
        return os.umask(mask)

    # Attributes

    def stat(self, path: str) -> dict[str, Any]:
        return observation.attributes(syscalls.AT_FDCWD, self.path(path), 0)

    def lstat(self, path: str) -> dict[str, Any]:
        return observation.attributes(syscalls.AT_FDCWD, self.path(path), syscalls.AT_SYMLINK_NOFOLLOW)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self.path(path), mode)

    def chown(self, path: str, user: int, group: int) -> None:
        os.chown(self.path(path), user, group)

    def lchown(self, path: str, user: int, group: int) -> None:
        os.lchown(self.path(path), user, group)

    def utimes(self, path: str, access: int, modification: int) -> None:
        os.utime(self.path(path), ns=(access, modification))

    def touch(self, path: str) -> None:
        os.utime(self.path(path))

    def access(self, path: str, mode: int) -> bool:
        return os.access(self.path(path), mode)

    def setxattr(self, path: str, name: str, letter: str, count: int, flags: int = 0) -> None:
        os.setxattr(self.path(path), name, letter.encode() * count, flags)

    def getxattr(self, path: str, name: str) -> str:
        return observation.runs(os.getxattr(self.path(path), name))

    def removexattr(self, path: str, name: str) -> None:
        os.removexattr(self.path(path), name)

    def listxattr(self, path: str) -> list[str]:
        return sorted(name for name in os.listxattr(self.path(path)) if name.startswith("user."))

    # Looking

    def listing(self, path: str) -> list[str]:
        return observation.listing(self.path(path))

    def cat(self, path: str) -> str:
        """Opens, reads and closes: what another program does with a file."""
        return observation.contents(self.path(path))

    def peek(self, path: str, times: int) -> list[int]:
        """The sizes that are seen after each close of a reader."""
        sizes = []
        for _ in range(times):
            os.close(os.open(self.path(path), os.O_RDONLY | os.O_NONBLOCK))
            sizes.append(os.stat(self.path(path)).st_size)
        return sizes

    def reopen(self, path: str, words: str, times: int) -> None:
        for _ in range(times):
            os.close(os.open(self.path(path), flags(words) | self.patience(self.path(path))))

    def syncdir(self, path: str) -> None:
        descriptor = os.open(self.path(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def tree(self) -> dict[str, Any]:
        return observation.tree(self.root)
