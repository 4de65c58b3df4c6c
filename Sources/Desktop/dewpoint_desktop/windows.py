"""The window with the versions of a file: resolves conflicts, restores and saves versions."""

import datetime
import os
import threading
from collections.abc import Callable
from typing import Any

import gi

gi.require_version("Gtk", "3.0")
from gi.repository import GLib, Gtk

from . import mounts
from .control import Control, Fault

KINDS = {"current": "Current", "conflict": "In conflict", "earlier": "Earlier"}


def size_text(count: int) -> str:
    return str(GLib.format_size(count))


def date_text(text: str) -> str:
    """A time of the API, RFC 3339 in UTC, as local time."""
    try:
        return datetime.datetime.fromisoformat(text[:19] + "+00:00").astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return text


class VersionsWindow(Gtk.Window):
    def __init__(self, control: Control, path: str) -> None:
        super().__init__(title=f"Versions of {os.path.basename(path)}", default_width=620, default_height=320)
        self._control, self._path = control, path
        self._versions: list[dict[str, Any]] = []
        self._store = Gtk.ListStore(str, str, str, str)
        self._view = Gtk.TreeView(model=self._store)
        for index, title in enumerate(("Version", "Date", "Device", "Size")):
            column = Gtk.TreeViewColumn(title, Gtk.CellRendererText(), text=index)
            column.set_expand(index == 2)
            self._view.append_column(column)
        self._view.get_selection().connect("changed", lambda *_: self._update())
        self._label = Gtk.Label(xalign=0, wrap=True)
        self._keep = self._button("_Keep This Version", self._choose)
        self._save = self._button("_Save a Copy…", self._save_copy)
        buttons = Gtk.Box(spacing=6, halign=Gtk.Align.END)
        for button in (self._save, self._keep):
            buttons.add(button)
        scrolled = Gtk.ScrolledWindow(vexpand=True)
        scrolled.add(self._view)
        box = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6, margin=12)
        for part in (self._label, scrolled, buttons):
            box.add(part)
        self.add(box)
        self.connect("destroy", Gtk.main_quit)
        self._load()

    def _button(self, label: str, call: Callable[..., Any]) -> Any:
        button = Gtk.Button(label=label, use_underline=True, sensitive=False)
        button.connect("clicked", lambda _: call())
        return button

    def _selected(self) -> dict[str, Any] | None:
        _, place = self._view.get_selection().get_selected()
        return self._versions[self._store.get_path(place)[0]] if place else None

    @property
    def _has_conflict(self) -> bool:
        return any(version["kind"] == "conflict" for version in self._versions)

    def _update(self) -> None:
        version = self._selected()
        self._save.set_sensitive(version is not None)
        self._keep.set_sensitive(version is not None and (self._has_conflict or version["kind"] != "current"))
        self._keep.set_label("_Keep This Version" if self._has_conflict else "_Restore This Version")

    def _load(self) -> None:
        self._ask(lambda: self._control.get("/v1/items/versions", path=self._path), self._show)

    def _show(self, versions: list[dict[str, Any]]) -> None:
        self._versions = versions
        self._store.clear()
        for version in versions:
            device = version.get("computer") or "another device"
            words = KINDS.get(version["kind"], version["kind"])
            self._store.append([words, date_text(version["date"]), device, size_text(version["size"])])
        if self._has_conflict:
            self._label.set_text(
                "The file was changed on two devices. Choose the version to keep; the others stay as earlier ones."
            )
        else:
            self._label.set_text("Earlier versions are kept for 30 days.")
        if versions:
            self._view.get_selection().select_path(0)
        self._update()

    def _choose(self) -> None:
        version = self._selected()
        if not version:
            return
        if self._has_conflict and version["kind"] != "earlier":
            route, body = "/v1/items/resolve", {"path": self._path, "keep": version["id"]}
        else:
            route, body = "/v1/items/restore-version", {"path": self._path, "id": version["id"]}
        self._ask(lambda: self._control.post(route, body), lambda _: self._load())

    def _save_copy(self) -> None:
        version = self._selected()
        if not version:
            return
        dialog = Gtk.FileChooserNative(title="Save a Copy", transient_for=self, action=Gtk.FileChooserAction.SAVE)
        dialog.set_do_overwrite_confirmation(True)
        dialog.set_current_name(os.path.basename(self._path))
        if dialog.run() != Gtk.ResponseType.ACCEPT:
            return
        place = dialog.get_filename()

        def save() -> None:
            part = f"{place}.part"
            try:
                with open(part, "wb") as file:
                    self._control.save("/v1/items/versions/content", file, path=self._path, id=version["id"])
                os.replace(part, place)
            except OSError as error:
                raise Fault("inputOutput", f"{place}: {error.strerror}") from None
            finally:
                if os.path.exists(part):
                    os.unlink(part)

        self._ask(save, lambda _: None)

    def _ask(self, request: Callable[[], Any], done: Callable[[Any], object]) -> None:
        """Makes a request on another thread, and passes its answer on the main loop."""
        self.set_sensitive(False)

        def work() -> None:
            try:
                answer = request()
            except Fault as fault:
                GLib.idle_add(self._fail, str(fault))
            else:
                GLib.idle_add(self._finish, done, answer)

        threading.Thread(target=work, daemon=True).start()

    def _finish(self, done: Callable[[Any], object], answer: Any) -> None:
        self.set_sensitive(True)
        done(answer)

    def _fail(self, text: str) -> None:
        self.set_sensitive(True)
        self._label.set_text(text)


def main(path: str) -> int:
    place = mounts.container(os.fsencode(os.path.abspath(path)))
    if not place:
        print(f"{path} is in no mounted container")
        return 1
    VersionsWindow(Control(place[0]), os.fsdecode(place[1])).show_all()
    Gtk.main()
    return 0
