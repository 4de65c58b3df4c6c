"""Thunar, on a display of its own, shows the changes of another device: a case of WatchTests.

python3 file_manager.py possible
python3 file_manager.py MOUNTPOINT DEWPOINT OTHER_MOUNTPOINT

What its window has is asked as a screen reader asks it. Needs thunar, xvfb, dbus, at-spi2-core and gir1.2-atspi-2.0.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from waiting import eventually
from watching import Devices

BUS = "/usr/libexec/at-spi-bus-launcher"
# Of Thunar's window.
ROLE = "table cell"
CELL_LIMIT = 1000


def possible() -> bool:
    return (
        all(map(shutil.which, ("thunar", "xvfb-run", "dbus-run-session")))
        and os.path.exists(BUS)
        and library() is not None
    )


def library() -> Any:
    try:
        import gi

        gi.require_version("Atspi", "2.0")
        from gi.repository import Atspi

        return Atspi
    except (ImportError, ValueError):
        return None


def cells(found: Any, seen: list[str]) -> list[str]:
    """The texts of the cells below something that is on the screen."""
    if found.get_role_name() == ROLE:
        seen.append(found.get_name())
    for number in range(min(found.get_child_count(), CELL_LIMIT)):
        child = found.get_child_at_index(number)
        if child:
            cells(child, seen)
    return seen


class Window:
    """What Thunar shows of a directory, as a list with details."""

    def __init__(self, path: str) -> None:
        self.atspi = library()
        subprocess.Popen([BUS, "--launch-immediately"])
        set_view = ["xfconf-query", "-c", "thunar", "-p", "/last-view", "-n", "-t", "string", "-s", "ThunarDetailsView"]
        subprocess.run(set_view, check=True, timeout=20)
        self.process = subprocess.Popen(["thunar", path])

    def names(self) -> list[str]:
        """The names that end with ".doc", each as often as it is shown."""
        desktop = self.atspi.get_desktop(0)
        seen: list[str] = []
        for number in range(desktop.get_child_count()):
            program = desktop.get_child_at_index(number)
            # What is being shown anew may be gone the next moment.
            try:
                cells(program, seen)
            except self.atspi_error():
                return []
        return sorted(name for name in seen if name.endswith(".doc"))

    @staticmethod
    def atspi_error() -> type[Exception]:
        from gi.repository import GLib

        error: type[Exception] = GLib.Error
        return error

    def expect(self, *names: str) -> None:
        wanted = sorted(names)
        eventually(lambda: self.names() == wanted, lambda: f"expected {wanted}, seen {self.names()}")
        # Nor is one of them shown twice, or again, a moment later.
        time.sleep(1)
        assert self.names() == wanted, self.names()


def inside(here: str, dewpoint: str, there: str) -> None:
    devices = Devices(here, dewpoint, there)

    def make() -> None:
        os.mkdir(devices.at("d"))
        devices.write("d/first.doc", "1")

    devices.change(make)
    window = Window(devices.on("d"))
    window.expect("first.doc")
    devices.change(lambda: devices.write("d/second.doc", "2"))
    window.expect("first.doc", "second.doc")
    devices.change(lambda: os.mkdir(devices.at("d/folder.doc")))
    window.expect("first.doc", "folder.doc", "second.doc")
    devices.change(lambda: os.rename(devices.at("d/second.doc"), devices.at("d/third.doc")))
    window.expect("first.doc", "folder.doc", "third.doc")
    devices.change(lambda: os.rename(devices.at("d/third.doc"), devices.at("d/folder.doc/third.doc")))
    window.expect("first.doc", "folder.doc")
    devices.change(lambda: os.rename(devices.at("d/folder.doc/third.doc"), devices.at("d/third.doc")))
    window.expect("first.doc", "folder.doc", "third.doc")

    def many() -> None:
        for number in range(20):
            devices.write(f"d/{number:02}.doc", "many")

    devices.change(many)
    numbered = [f"{number:02}.doc" for number in range(20)]
    window.expect("first.doc", "folder.doc", "third.doc", *numbered)

    def remove() -> None:
        for name in (*numbered, "first.doc"):
            os.unlink(devices.at(f"d/{name}"))

    devices.change(remove)
    window.expect("folder.doc", "third.doc")
    window.process.terminate()
    window.process.wait(timeout=20)


def main() -> None:
    if sys.argv[1] == "inside":
        inside(*sys.argv[2:])
        return
    with tempfile.TemporaryDirectory() as home:
        environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=f"{home}/config", GTK_MODULES="gail:atk-bridge")
        # The daemons have their sockets there.
        environment.setdefault("XDG_RUNTIME_DIR", home)
        for name in ("NO_AT_BRIDGE", "DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY"):
            environment.pop(name, None)
        command = ["xvfb-run", "-a", "dbus-run-session", "--", sys.executable, __file__, "inside", *sys.argv[1:]]
        sys.exit(subprocess.run(command, env=environment, timeout=240).returncode)


if sys.argv[1:] == ["possible"]:
    sys.exit(0 if possible() else 1)
main()
