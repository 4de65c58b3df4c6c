"""Operations on files that a process holds without having them open, and on directories by positions."""

import os
import tempfile
from typing import Any

from . import observation, syscalls
from .descriptors import Place


class Holding(Place):
    """A file by an `O_PATH` descriptor or by a mount of it: what becomes of its name meanwhile, it stays."""

    held: int | None = None
    point: str | None = None

    def hold(self, path: str) -> None:
        self.let_go()
        self.held = os.open(self.path(path), os.O_PATH)

    def let_go(self) -> None:
        if self.held is not None:
            os.close(self.held)
            self.held = None

    def held_path(self) -> str:
        if self.held is None:
            raise OSError(9, "nothing is held")
        return f"/proc/self/fd/{self.held}"

    def held_look(self) -> list[Any]:
        path = self.held_path()
        assert self.held is not None
        return [
            observation.attributes(self.held, "", syscalls.AT_EMPTY_PATH),
            self.bytes_at(path),
            self.attributes_at(path),
        ]

    @staticmethod
    def bytes_at(path: str) -> Any:
        def read() -> Any:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                return observation.runs(file.read())

        return observation.attempt(read)

    @staticmethod
    def attributes_at(path: str) -> Any:
        def read() -> Any:
            names = sorted(name for name in os.listxattr(path) if name.startswith("user."))
            return {name: observation.runs(os.getxattr(path, name)) for name in names}

        return observation.attempt(read)

    def held_chmod(self, mode: int) -> None:
        os.chmod(self.held_path(), mode)

    def held_truncate(self, size: int) -> None:
        os.truncate(self.held_path(), size)

    def held_setxattr(self, name: str, letter: str) -> None:
        os.setxattr(self.held_path(), name, letter.encode())

    # Mounts of a file, which only root can make. They end with the process, whose mount namespace has them alone.

    def bind(self, path: str) -> None:
        source = self.path(path)
        if self.point is None:
            syscalls.own_mounts()
            descriptor, self.point = tempfile.mkstemp(prefix="compare-")
            os.close(descriptor)
        syscalls.bind(source, self.point)

    def bound_look(self) -> list[Any]:
        if self.point is None:
            raise OSError(9, "nothing is bound")
        return [observation.attributes(syscalls.AT_FDCWD, self.point, 0), self.bytes_at(self.point)]

    def unbind(self) -> None:
        """Takes the mount away, and the place that was made for it."""
        if self.point is None:
            return
        point, self.point = self.point, None
        try:
            syscalls.unbind(point)
        finally:
            os.unlink(point)

    # Directories

    def pages(self, path: str, victim: str, count: int) -> list[str]:
        """Every name of a directory but one, which is removed after the first page; it is opened anew for each page."""
        names, position, removed = [], 0, False
        while True:
            descriptor = os.open(self.path(path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.lseek(descriptor, position, os.SEEK_SET)
                page = syscalls.entries(descriptor, count)
            finally:
                os.close(descriptor)
            if not page:
                break
            names += [name for name, _ in page]
            position = page[-1][1]
            if not removed:
                removed = True
                observation.attempt(os.unlink, f"{self.path(path)}/{victim}")
        return sorted(name for name in names if name != victim)
