"""Operations on names: making, renaming, removing, attributes."""

import os
import stat

from . import observation, syscalls
from .descriptors import flags


class Names:
    """Paths are relative to the root of the program's tree."""

    def path(self, path):
        return f"{self.root}/{path}"

    def truncate(self, path, size):
        os.truncate(self.path(path), size)

    def rename(self, source, target, flags=0):
        if flags:
            syscalls.renameat2(self.path(source), self.path(target), flags)
        else:
            os.rename(self.path(source), self.path(target))

    def link(self, source, target):
        os.link(self.path(source), self.path(target), follow_symlinks=False)

    def symlink(self, content, path):
        os.symlink(content, self.path(path))

    def readlink(self, path):
        return os.readlink(self.path(path))

    def unlink(self, path):
        os.unlink(self.path(path))

    def mkdir(self, path, mode):
        os.mkdir(self.path(path), mode)

    def rmdir(self, path):
        os.rmdir(self.path(path))

    def mkfifo(self, path, mode):
        os.mknod(self.path(path), mode | stat.S_IFIFO)

    def mknod(self, path, mode):
        """A regular file by mknod(2)."""
        os.mknod(self.path(path), mode | stat.S_IFREG)

    def umask(self, mask):
        return os.umask(mask)

    # Attributes

    def stat(self, path):
        return observation.attributes(syscalls.AT_FDCWD, self.path(path), 0)

    def lstat(self, path):
        return observation.attributes(syscalls.AT_FDCWD, self.path(path), syscalls.AT_SYMLINK_NOFOLLOW)

    def chmod(self, path, mode):
        os.chmod(self.path(path), mode)

    def chown(self, path, user, group):
        os.chown(self.path(path), user, group)

    def lchown(self, path, user, group):
        os.lchown(self.path(path), user, group)

    def utimes(self, path, access, modification):
        os.utime(self.path(path), ns=(access, modification))

    def touch(self, path):
        os.utime(self.path(path))

    def access(self, path, mode):
        return os.access(self.path(path), mode)

    def setxattr(self, path, name, letter, count, flags=0):
        os.setxattr(self.path(path), name, letter.encode() * count, flags)

    def getxattr(self, path, name):
        return observation.runs(os.getxattr(self.path(path), name))

    def removexattr(self, path, name):
        os.removexattr(self.path(path), name)

    def listxattr(self, path):
        return sorted(name for name in os.listxattr(self.path(path)) if name.startswith("user."))

    # Looking

    def listing(self, path):
        return observation.listing(self.path(path))

    def cat(self, path):
        """Opens, reads and closes: what another program does with a file."""
        return observation.contents(self.path(path))

    def peek(self, path, times):
        """The sizes that are seen after each close of a reader."""
        sizes = []
        for _ in range(times):
            os.close(os.open(self.path(path), os.O_RDONLY | os.O_NONBLOCK))
            sizes.append(os.stat(self.path(path)).st_size)
        return sizes

    def reopen(self, path, words, times):
        for _ in range(times):
            os.close(os.open(self.path(path), flags(words) | self.patience(self.path(path))))

    def syncdir(self, path):
        descriptor = os.open(self.path(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def tree(self):
        return observation.tree(self.root)
