"""A real mount, for tests of what runs in file managers."""

import os
import shutil
import subprocess
import tempfile
import unittest

BINARY = os.environ.get("DEWPOINT_BINARY")
COMMAND_SECONDS = 60
# What is promised is 2 s; a busy machine gets more.
FOLLOWING_SECONDS = 10


@unittest.skipUnless(BINARY and os.path.exists("/dev/fuse"), "DEWPOINT_BINARY is not set, or there is no /dev/fuse")
class Mounted(unittest.TestCase):
    """A test with a container that is mounted at self.point."""

    def setUp(self) -> None:
        self.work = tempfile.mkdtemp(prefix="dpdesk")
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.addCleanup(self.unmount)
        os.makedirs(f"{self.work}/run", mode=0o700)
        # The name of the socket is a hash of the mountpoint's bytes.
        self.point = f"{self.work}/Übersicht 1"
        os.makedirs(self.point)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": f"{self.work}/run", "XDG_STATE_HOME": f"{self.work}/home"}
        self.url = f"file://{self.work}/store"
        self.dewpoint("container", "create", self.url, "--id", "iCloud.org.dewpoint.Desktop")
        self.mount()

    def dewpoint(self, *words: str) -> None:
        subprocess.run(
            [str(BINARY), *words], check=True, timeout=COMMAND_SECONDS, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def mount(self) -> None:
        self.dewpoint("mount", self.url, self.point, "--state", f"{self.work}/state", "--device-name", "desk")

    def unmount(self) -> None:
        if os.path.ismount(self.point):
            try:
                self.dewpoint("unmount", self.point)
            except subprocess.SubprocessError:
                subprocess.run(["umount", "--lazy", self.point], timeout=10, check=False)

    def away(self, *names: str) -> None:
        for name in names:
            with open(f"{self.point}/{name}", "wb") as file:
                file.write(os.urandom(5000))
        self.dewpoint("sync", self.point, "--wait")
        self.dewpoint("evict", *[f"{self.point}/{name}" for name in names])
