"""Editors and other devices. Cases of coordination.py."""

import json
import os
import time
from typing import Any

from coordination_case import Case
from session import Holder, Session


class Editors(Case):
    def an_editor_saves_before_others_read(self) -> None:
        """A process presents a file with unsaved changes; a plain cp under a claim gets the saved state."""
        self.write("d/f", "saved long ago\n")
        editor = Session(self.point)
        unsaved = ["typed just now\n"]

        def answer(question: dict[str, Any]) -> dict[str, Any]:
            if question["message"] == "save" and unsaved:
                self.write("d/f", unsaved.pop())
            return {}

        editor.present(1, "d/f", answer=answer)
        outcome = self.run(
            self.dewpoint, "coordinate", "--reading", self.path("d/f"), "--", "cp", self.path("d/f"), self.path("copy")
        )
        assert outcome.returncode == 0, outcome.stderr
        copied = self.read("copy")
        assert copied == "typed just now\n", copied

    def an_editor_saves_before_another_device_overwrites(self) -> None:
        self.write("d/f", "saved long ago\n")
        self.sync()
        self.eventually(lambda: os.path.exists(f"{self.other}/d/f"))
        editor = Session(self.point)
        unsaved = ["typed on A\n"]

        def answer(question: dict[str, Any]) -> dict[str, Any]:
            if question["message"] == "save" and unsaved:
                self.write("d/f", unsaved.pop())
            return {}

        editor.present(1, "d/f", answer=answer)
        self.write("d/f", "typed on B\n", point=self.other)
        self.eventually(lambda: not unsaved)
        self.sync()
        self.sync(self.other)
        versions = json.loads(self.run(self.dewpoint, "versions", "--json", self.path("d/f")).stdout)
        kinds = sorted(version["kind"] for version in versions if version["kind"] != "earlier")
        assert kinds == ["conflict", "current"], versions
        conflict = next(version for version in versions if version["kind"] == "conflict")
        texts = {self.read("d/f")}
        assert self.run(self.dewpoint, "resolve", self.path("d/f"), "--keep", conflict["id"]).returncode == 0
        texts.add(self.read("d/f"))
        assert texts == {"typed on A\n", "typed on B\n"}, texts

    def an_upload_asks_to_save_first(self) -> None:
        self.write("d/f", "base\n")
        self.sync()
        editor = Session(self.point)
        unsaved = ["typed just now\n"]

        def answer(question: dict[str, Any]) -> dict[str, Any]:
            if question["message"] == "save" and unsaved:
                with open(self.path("d/f"), "a", encoding="utf-8") as file:
                    file.write(unsaved.pop())
            return {}

        editor.present(1, "d/f", answer=answer)
        with open(self.path("d/f"), "a", encoding="utf-8") as file:
            file.write("by another program\n")
        self.eventually(lambda: not unsaved)
        self.sync()
        self.sync(self.other)
        assert self.read("d/f", point=self.other) == "base\nby another program\ntyped just now\n"

    def what_is_written_under_a_claim_is_uploaded_after_it(self) -> None:
        self.write("d/f", "base\n")
        self.sync()
        self.sync(self.other)
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"echo half >> {self.point}/d/f")
        time.sleep(1.5)
        assert self.read("d/f", point=self.other) == "base\n"
        assert holder.run(f"echo whole >> {self.point}/d/f")
        assert holder.release()
        self.eventually(lambda: self.read("d/f", point=self.other) == "base\nhalf\nwhole\n")

    def a_refusal_does_not_keep_a_change_away(self) -> None:
        self.write("d/f", "base\n")
        self.sync()
        self.sync(self.other)
        editor = Session(self.point)
        editor.present(1, "d/f", answer=lambda question: {"error": "not now"})
        self.write("d/f", "from B\n", point=self.other)
        self.eventually(lambda: self.read("d/f") == "from B\n")

    def a_hung_presenter_keeps_nothing_from_moving(self) -> None:
        self.write("d/f", "base\n")
        self.sync()
        self.sync(self.other)
        editor = Session(self.point)
        editor.present(1, "d/f", answer=None)
        self.write("d/f", "from A\n")
        self.eventually(lambda: self.read("d/f", point=self.other) == "from A\n")
        self.write("d/f", "from B\n", point=self.other)
        self.eventually(lambda: self.read("d/f") == "from B\n")

    def a_claim_holds_another_device_off(self) -> None:
        self.write("d/f", "base\n")
        self.sync()
        self.eventually(lambda: os.path.exists(f"{self.other}/d/f"))
        holder = Holder(self.point, ("d/f", "plain"))
        self.write("d/f", "from B\n", point=self.other)
        self.sync(self.other)
        time.sleep(1.5)
        assert self.read("d/f") == "base\n"
        status = self.run(self.dewpoint, "status").stdout
        assert "dewpoint locks" in status, status
        assert holder.release()
        self.eventually(lambda: self.read("d/f") == "from B\n")
