"""The extension of Nautilus, Nemo and Thunar: emblems, a column and a context menu.

They load it by name, `dewpoint.py` in a directory of theirs. Nothing here waits: see shown.
"""

import os
import urllib.parse
from collections.abc import Callable
from typing import Any

from gi.repository import Gio, GLib, GObject

from . import actions
from .shown import ShownItems

ATTRIBUTE = "dewpoint_state"
# File objects that are told in one go, so that a window with 100,000 of them stays usable.
BATCH = 200


def path_of(file: Any) -> bytes | None:
    """The path of bytes of a file object; None for what is not on a file system, such as the trash."""
    uri = file.get_uri() if file else None
    if not uri or not uri.startswith("file:///"):
        return None
    return urllib.parse.unquote_to_bytes(uri[7:])


def uri_of(path: bytes) -> str:
    """As GLib writes it: file managers find their objects by it."""
    return str(GLib.filename_to_uri(os.fsdecode(path), None))


class Host:
    """One file manager's objects, which are the same but for their names. `is_told`: whether it has objects to tell of
    a change; one that has none asks when a menu is opened."""

    def __init__(self, namespace: Any, tip: str = "tip", is_told: bool = True) -> None:
        self.namespace, self._tip, self._is_told = namespace, tip, is_told
        self.shown = ShownItems(self._changed)

    def _changed(self, paths: list[bytes]) -> None:
        for start in range(0, len(paths) if self._is_told else 0, BATCH):
            GLib.idle_add(self._invalidate, paths[start : start + BATCH])

    def _invalidate(self, paths: list[bytes]) -> Any:
        for path in paths:
            file = self.namespace.FileInfo.lookup_for_uri(uri_of(path))
            if file:
                file.invalidate_extension_info()
        return GLib.SOURCE_REMOVE

    def update(self, file: Any) -> None:
        path = path_of(file)
        shown = self.shown.of(path) if path else None
        if shown:
            if shown.state.emblem:
                file.add_emblem(shown.state.emblem)
            file.add_string_attribute(ATTRIBUTE, shown.words)

    def items(self, files: list[Any]) -> list[Any]:
        paths = [path for file in files if (path := path_of(file)) and self.shown.is_in_container(path)]
        if len(paths) < len(files):
            return []
        items = []
        for action in actions.offered([self.shown.of(path) for path in paths]):
            texts = {"name": f"Dewpoint::{action.name}", "label": action.label, self._tip: action.tip, "icon": ""}
            item = self.namespace.MenuItem(**texts)
            item.connect("activate", lambda _, action=action: self.shown.perform(action, paths))
            items.append(item)
        return items


def follow_windows(show: Callable[[bytes], object]) -> Any:
    """Tells of the directories in the windows of Thunar, which tells extensions of none; its windows have a property."""

    def tell(window: Any, *_: object) -> None:
        path = path_of(window.get_property("current-directory"))
        if path:
            show(path)

    def follow(window: Any) -> None:
        # Not all of its windows show one.
        if window.find_property("current-directory"):
            window.connect("notify::current-directory", tell)
            tell(window)

    application = Gio.Application.get_default()
    if application and hasattr(application, "get_windows"):
        application.connect("window-added", lambda _, window: follow(window))
        for window in application.get_windows():
            follow(window)
    return GLib.SOURCE_REMOVE


def menu_provider(namespace: Any) -> type:
    """The class that Thunar looks for in the module: it lets extensions add menu entries, but no emblems."""
    host = Host(namespace, tip="tooltip", is_told=False)
    GLib.idle_add(follow_windows, host.shown.show)

    class DewpointThunarExtension(GObject.GObject, namespace.MenuProvider):
        def get_file_menu_items(self, window: object, files: list[Any]) -> list[Any]:
            return host.items(files)

        def get_folder_menu_items(self, window: object, folder: Any) -> list[Any]:
            return host.items([folder])

    return DewpointThunarExtension


def provider(namespace: Any) -> type:
    """The class that Nautilus or Nemo looks for in the module."""
    host = Host(namespace)

    class DewpointExtension(GObject.GObject, namespace.InfoProvider, namespace.MenuProvider, namespace.ColumnProvider):
        def update_file_info(self, file: Any) -> Any:
            host.update(file)
            return namespace.OperationResult.COMPLETE

        # Nemo's have the window first.
        def get_file_items(self, *arguments: Any) -> list[Any]:
            return host.items(arguments[-1])

        def get_background_items(self, *arguments: Any) -> list[Any]:
            return host.items([arguments[-1]])

        def get_columns(self) -> list[Any]:
            return [
                namespace.Column(
                    name="Dewpoint::state",
                    attribute=ATTRIBUTE,
                    label="Cloud status",
                    description="Whether the file is on this device, in the cloud, or on its way",
                )
            ]

    if namespace.__name__.endswith("Nemo"):
        # Nemo lists its extensions by these.
        class DewpointNemoExtension(DewpointExtension, namespace.NameAndDescProvider):
            def get_name_and_desc(self) -> list[str]:
                return ["Dewpoint:::Cloud status, emblems and menu entries for mounted containers"]

        return DewpointNemoExtension
    return DewpointExtension
