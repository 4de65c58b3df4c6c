import unittest
from typing import Any, ClassVar
from unittest import mock

try:
    from dewpoint_desktop import extension
    from gi.repository import Gio, GObject
except ImportError:
    GObject = None


@unittest.skipUnless(GObject, "python3-gi is not installed")
class WindowTests(unittest.TestCase):
    """The windows of Thunar, as far as the extension sees them."""

    def test_the_directories_of_all_windows_are_told_and_those_they_change_to(self) -> None:
        class File(GObject.Object):  # type: ignore[misc]
            def __init__(self, uri: str) -> None:
                super().__init__()
                self.get_uri = lambda: uri

        class Window(GObject.Object):  # type: ignore[misc]
            __gproperties__: ClassVar[Any] = {
                "current-directory": (GObject.Object, "", "", GObject.ParamFlags.READWRITE)
            }
            directory: Any = None

            def do_get_property(self, _: object) -> Any:
                return self.directory

            def do_set_property(self, _: object, value: Any) -> None:
                self.directory = value

        class Application(GObject.Object):  # type: ignore[misc]
            __gsignals__: ClassVar[Any] = {"window-added": (GObject.SignalFlags.RUN_LAST, None, (GObject.Object,))}

            def get_windows(self) -> list[Any]:
                return [first, GObject.Object()]

        first, second, application = Window(), Window(), Application()
        shown: list[bytes] = []
        first.set_property("current-directory", File("file:///mnt/a%20%FF"))
        with mock.patch.object(Gio.Application, "get_default", lambda: application):
            extension.follow_windows(shown.append)
        self.assertEqual(shown, [b"/mnt/a \xff"])
        application.emit("window-added", second)
        second.set_property("current-directory", File("trash:///"))
        second.set_property("current-directory", File("file:///mnt/b"))
        first.set_property("current-directory", File("file:///mnt/c"))
        self.assertEqual(shown[1:], [b"/mnt/b", b"/mnt/c"])
