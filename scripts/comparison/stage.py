"""Where programs run: a mounted container, a second device of it, and a directory beside them."""

import contextlib
import os
import shutil
from collections.abc import Sequence
from typing import Any

from . import mount
from .mount import Device
from .process import Hang, Process
from .program import Step
from .replacing import Replacing
from .sides import Side

SCENE_SECONDS = 60
EVICT_SECONDS = 60
REMOUNT_SECONDS = 20


class Stage:
    def __init__(
        self,
        work: str,
        container: mount.Container | None,
        options: Sequence[str],
        is_root: bool,
        placeholders: bool,
        ignored: Sequence[str] = (),
        has_rings: bool = False,
        replaces: bool = False,
    ) -> None:
        self.work, self.is_root, self.placeholders = work, is_root, placeholders
        self.container, self.options = container, options
        self.has_rings = has_rings
        # Whether the daemon is killed while programs run, and replaced.
        self.replaces = replaces
        self.replacing: Replacing | None = None
        # Attributes that are not compared.
        self.ignored = ignored
        self.reference = os.path.join(work, "beside")
        os.makedirs(self.reference)
        self.device: Device | None = None
        self.other: Device | None = None
        self.count = 0
        if container is None:
            self.point = os.path.join(work, "itself")
            os.makedirs(self.point)
        else:
            self.mount(container)

    def mount(self, container: mount.Container) -> None:
        self.count += 1
        options = [*self.options, "survive"] if self.replaces else self.options
        self.device = Device(container, f"A{self.count}", options)
        self.device.mount()
        if self.replaces:
            self.replacing = Replacing(self.device)
        self.point = self.device.point

    # Start trees

    def prepare(self, names: list[str]) -> None:
        """Makes start trees with these names on both sides."""
        for root in (self.reference, self.point):
            self.housekeep(SCENE_SECONDS, "make_scenes", [f"{root}/{name}" for name in names])
        if self.placeholders and self.device:
            self.device.sync()
            for name in names:
                self.housekeep(EVICT_SECONDS, "evict", f"{self.point}/{name}")

    def housekeep(self, seconds: float, name: str, *arguments: Any) -> Any:
        """Has a process of its own do something on the mount. Raises Hang, and Failure where it does not work."""
        process = Process("", True)
        try:
            process.start(Step("housekeeping", name, arguments))
            result = process.result(seconds)
        finally:
            process.end()
        if result[0] != "ok":
            raise mount.Failure(f"{name}: {result[0]}")
        return result[1]

    def sides(self, name: str) -> tuple[Side, Side]:
        elsewhere = f"{self.other.point}/{name}" if self.other else None
        return (
            Side(f"{self.reference}/{name}", False, self.is_root, has_rings=self.has_rings),
            Side(f"{self.point}/{name}", self.device is not None, self.is_root, elsewhere, self.has_rings),
        )

    # What only the mount has

    def sync(self) -> None:
        if self.device:
            self.device.sync()

    def evict(self, path: str) -> str:
        return self.attempt(EVICT_SECONDS, "evict", path)

    def download(self, path: str) -> str:
        return self.attempt(EVICT_SECONDS, "download", path)

    def attempt(self, seconds: float, name: str, path: str) -> str:
        if self.device is None:
            return "ok"
        try:
            self.housekeep(seconds, name, f"{self.point}/{path}")
            return "ok"
        except mount.Failure as refusal:
            return str(refusal)

    def drop(self) -> None:
        """Has the kernel forget the names and inodes of the mount that nobody uses, with their pages."""
        if self.is_root and self.device:
            self.housekeep(REMOUNT_SECONDS, "remount", self.point)

    def crash(self) -> None:
        if self.device and self.replaces:
            with self.device.guard:
                self.device.kill()
        elif self.device:
            self.device.kill()
            self.device.mount()

    def second(self) -> Device | None:
        """Has a second device mounted."""
        if self.other is None and self.container:
            self.other = Device(self.container, f"B{self.count}")
            self.other.mount()
        return self.other

    def meet(self) -> None:
        """Waits until the second device has what this one has."""
        if self.device and self.other:
            self.device.sync()
            self.other.sync()

    def meet_back(self, edited: str | None = None) -> None:
        """Waits until this device has what the second one has; an edited file is to have its new bytes."""
        if self.device and self.other:
            self.other.sync()
            self.device.sync()
            if edited:
                self.device.await_newer_bytes(edited)

    # Ends

    def recover(self) -> None:
        """After a hang: abandons the mounts, and begins with new ones."""
        if self.container is None:
            return
        self.end_replacing()
        for device in (self.device, self.other):
            if device:
                device.abandon()
        self.other = None
        self.mount(self.container)

    def end_replacing(self) -> None:
        replacing, self.replacing = self.replacing, None
        if replacing:
            replacing.end()

    def close(self) -> None:
        try:
            self.end_replacing()
        finally:
            for device in (self.other, self.device):
                if device:
                    with contextlib.suppress(mount.Failure, Hang):
                        device.unmount()
            shutil.rmtree(self.reference, ignore_errors=True)
