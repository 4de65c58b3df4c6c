"""Where programs run: a mounted container, a second device of it, and a directory beside them."""

import contextlib
import os
import shutil

from . import mount
from .process import Hang, Process
from .program import Step
from .sides import Side

SCENE_SECONDS = 60
EVICT_SECONDS = 60
REMOUNT_SECONDS = 20


class Stage:
    def __init__(self, work, container, options, is_root, placeholders, itself=False, ignored=(), has_rings=False):
        self.work, self.is_root, self.placeholders, self.itself = work, is_root, placeholders, itself
        self.container, self.options = container, options
        self.has_rings = has_rings
        # Attributes that are not compared.
        self.ignored = ignored
        self.reference = os.path.join(work, "beside")
        os.makedirs(self.reference)
        self.device, self.other = None, None
        self.count = 0
        if itself:
            self.point = os.path.join(work, "itself")
            os.makedirs(self.point)
        else:
            self.mount()

    def mount(self):
        self.count += 1
        self.device = mount.Device(self.container, f"A{self.count}", self.options)
        self.device.mount()
        self.point = self.device.point

    # Start trees

    def prepare(self, names):
        """Makes start trees with these names on both sides."""
        for root in (self.reference, self.point):
            self.housekeep(SCENE_SECONDS, "make_scenes", [f"{root}/{name}" for name in names])
        if self.placeholders and not self.itself:
            self.device.sync()
            for name in names:
                self.housekeep(EVICT_SECONDS, "evict", f"{self.point}/{name}")

    def housekeep(self, seconds, name, *arguments):
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

    def sides(self, name):
        elsewhere = f"{self.other.point}/{name}" if self.other else None
        return (
            Side(f"{self.reference}/{name}", False, self.is_root, has_rings=self.has_rings),
            Side(f"{self.point}/{name}", not self.itself, self.is_root, elsewhere, self.has_rings),
        )

    # What only the mount has

    def sync(self):
        if not self.itself:
            self.device.sync()

    def evict(self, path):
        return self.attempt(EVICT_SECONDS, "evict", path)

    def download(self, path):
        return self.attempt(EVICT_SECONDS, "download", path)

    def attempt(self, seconds, name, path):
        if self.itself:
            return "ok"
        try:
            self.housekeep(seconds, name, f"{self.point}/{path}")
            return "ok"
        except mount.Failure as refusal:
            return str(refusal)

    def drop(self):
        """Has the kernel forget the names and inodes of the mount that nobody uses, with their pages."""
        if self.is_root and not self.itself:
            self.housekeep(REMOUNT_SECONDS, "remount", self.point)

    def crash(self):
        if not self.itself:
            self.device.kill()
            self.device.mount()

    def second(self):
        """Has a second device mounted."""
        if self.other is None and not self.itself:
            self.other = mount.Device(self.container, f"B{self.count}")
            self.other.mount()
        return self.other

    def meet(self):
        """Waits until the second device has what this one has."""
        if not self.itself:
            self.device.sync()
            self.other.sync()

    def meet_back(self, edited=None):
        """Waits until this device has what the second one has; an edited file is to have its new bytes."""
        if not self.itself:
            self.other.sync()
            self.device.sync()
            if edited:
                self.device.await_newer_bytes(edited)

    # Ends

    def recover(self):
        """After a hang: abandons the mounts, and begins with new ones."""
        if self.itself:
            return
        for device in (self.device, self.other):
            if device:
                device.abandon()
        self.other = None
        self.mount()

    def close(self):
        for device in (self.other, self.device):
            if device:
                with contextlib.suppress(mount.Failure, Hang):
                    device.unmount()
        shutil.rmtree(self.reference, ignore_errors=True)
