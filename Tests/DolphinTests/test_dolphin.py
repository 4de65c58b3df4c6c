"""The plugins of Dolphin on a real mount, used by FileManager.cpp as Dolphin uses them.

Run with Sources/Desktop and Tests in PYTHONPATH, and DEWPOINT_BINARY.
"""

import os
import shutil
import subprocess
import tempfile

from DesktopTests.mounted import COMMAND_SECONDS, Mounted

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "Sources")
BUILD_SECONDS = 300


class DolphinTests(Mounted):
    build: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.build = tempfile.mkdtemp(prefix="dpdolphin")
        cls.addClassCleanup(shutil.rmtree, cls.build, ignore_errors=True)
        for command in (
            ["cmake", "-S", f"{SOURCES}/Dolphin", "-B", cls.build, "-DBUILD_TESTING=ON"],
            ["cmake", "--build", cls.build],
        ):
            subprocess.run(command, check=True, timeout=BUILD_SECONDS, stdout=subprocess.DEVNULL)

    def use(self, name: str, *words: str) -> list[list[str]]:
        """The entries of each menu, as FileManager prints them."""
        done = subprocess.run(
            [f"{self.build}/FileManager", f"{self.build}/plugins", f"{self.point}/{name}", *words],
            timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**self.environment, "QT_QPA_PLATFORM": "offscreen", "DEWPOINT_DESKTOP_MODULES": f"{SOURCES}/Desktop"},
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return [menu.split("\n") for menu in done.stdout.strip().split("\n\n")]

    def test_emblems_and_menus_follow_what_is_chosen(self) -> None:
        self.away("a b.jpg")
        menus = self.use(
            "a b.jpg", "emblem-dewpoint-cloud", "&Download Now", "emblem-dewpoint-local", "&Keep on This Device",
            "emblem-dewpoint-pinned", "Do Not &Keep on This Device", "emblem-dewpoint-local", "&Free Up Space",
            "emblem-dewpoint-cloud",
        )  # fmt: skip
        self.assertEqual(menus[0], ["&Keep on This Device", "&Download Now", "&Versions…"])
        self.assertEqual(menus[1], ["&Keep on This Device", "&Free Up Space", "&Versions…"])
        self.assertEqual(len(menus), 5)
