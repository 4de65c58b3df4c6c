"""What presenters are asked and told. Cases of coordination.py."""

import json
import os
from typing import Any

from coordination_case import Case
from session import Session


class Presenters(Case):
    def presenters_are_asked_in_order(self) -> None:
        self.tree()
        # Uploaded first, because uploads ask presenters too.
        self.sync()
        p, a = Session(self.point), Session(self.point)
        # (item presented, claim, messages that its presenter gets)
        rows = [
            ("d/f", ("d/f", []), ["relinquishToReader", "save"]),
            ("d/f", ("d/f", ["withoutChanges"]), ["relinquishToReader"]),
            ("d/f", ("d/f", "plain"), ["relinquishToWriter"]),
            ("d/f", ("d/f", "forMerging"), ["relinquishToWriter", "save"]),
            ("d/f", ("d/f", "forMoving"), ["relinquishToWriter"]),
            ("d/f", ("d/f", "forDeleting"), ["relinquishToWriter", "accommodateDeletion"]),
            ("d/f", ("d/f", "contentIndependentMetadataOnly"), ["relinquishToWriter"]),
            ("d/f", ("d", "plain"), []),
            ("d/f", ("d", "forMoving"), ["relinquishToWriter"]),
            ("d/f", ("d", "forDeleting"), ["relinquishToWriter", "accommodateDeletion"]),
            ("d", ("d/f", "plain"), []),
            ("p.rtfd", ("p.rtfd/one", []), ["relinquishToReader", "save"]),
            ("p.rtfd", ("p.rtfd/one", "plain"), ["relinquishToWriter"]),
            ("d/g", ("d/f", "forDeleting"), []),
        ]
        for presented, item, expected in rows:
            asked: list[str] = []

            def answer(question: dict[str, Any], asked: Any = asked) -> dict[str, Any]:
                asked.append(question["message"])
                return {"reacquires": question["message"].startswith("relinquish")}

            p.present(1, presented, answer=answer)
            claim = a.claim(item)
            assert asked == expected, (presented, item, asked)
            assert p.nothing("reacquire", limit=0)
            a.release(claim)
            if expected:
                assert p.take("reacquire"), (presented, item)
            p.withdraw(1)
        self.nobody_is_left()

    def a_presenter_refuses(self) -> None:
        self.tree()
        p, a = Session(self.point), Session(self.point)
        p.present(1, "d/f", answer=lambda question: {"error": "the document is locked"})
        outcome = a.outcome(a.ask(("d/f", [])))
        assert outcome["reason"] == "presenter" and "the document is locked" in outcome["message"], outcome
        # A claim in the presenter's own name does not ask it.
        p.release(p.claim(("d/f", "plain"), presenter=1))

    def plain_programs_are_told_of(self) -> None:
        self.tree()
        p = Session(self.point)
        p.present(1, "d/f")
        p.present(2, "d")

        def told(presenter: Any, expected: Any, late: Any = ()) -> Any:
            """Takes the presenter's next notice; repeated notices of changes to items in `late` may come before it.

            A write causes several notices, for truncation, bytes and close, and the last one may come after a later
            rename.
            """
            while True:
                event = p.take("notice", where=lambda body: body["presenter"] == presenter)
                assert event, f"presenter {presenter} was not notified of {expected}"
                notice = event["notice"], event.get("from"), event.get("path")
                if notice == expected:
                    return
                if "UbiquityAttributes" in notice[0]:
                    continue  # of the uploads, which go on meanwhile
                again = notice[0] in ("didChange", "subitemDidChange") and notice[2] in late
                assert again, (presenter, notice, expected)

        self.write("d/f", "new")
        told(1, ("didChange", None, None))
        told(2, ("subitemDidChange", None, "d/f"))
        os.rename(self.path("d/f"), self.path("d/moved"))
        told(1, ("didMove", None, "d/moved"), late=[None])
        told(2, ("subitemDidMove", "d/f", "d/moved"), late=["d/f", "d/moved"])
        # A case-only rename is a move, and the presenter follows it.
        os.rename(self.path("d/moved"), self.path("d/Moved"))
        told(1, ("didMove", None, "d/Moved"))
        told(2, ("subitemDidMove", "d/moved", "d/Moved"))
        # Renaming a parent directory moves the items in it.
        os.rename(self.path("d"), self.path("e"))
        told(1, ("didMove", None, "e/Moved"))
        told(2, ("didMove", None, "e"))
        # An atomic save is a change of the item, not a move.
        self.write("e/temporary", "saved")
        told(2, ("subitemDidAppear", None, "e/temporary"))
        os.rename(self.path("e/temporary"), self.path("e/Moved"))
        told(1, ("didChange", None, None))
        told(2, ("subitemDidChange", None, "e/Moved"), late=["e/temporary"])
        self.write("e/fresh")
        told(2, ("subitemDidAppear", None, "e/fresh"), late=["e/temporary", "e/Moved"])
        os.unlink(self.path("e/Moved"))
        told(2, ("subitemDidChange", None, "e/Moved"), late=["e/fresh"])
        os.mkdir(self.path("e/sub"))
        told(2, ("subitemDidAppear", None, "e/sub"), late=["e/fresh"])

    def other_devices_are_told_of(self) -> None:
        self.tree()
        self.sync()
        self.sync(self.other)
        p = Session(self.point)
        p.present(1, "d/f")
        p.present(2, "d")

        def told(presenter: int, notice: str) -> Any:
            return self.eventually(
                lambda: p.take(
                    "notice", limit=0.05, where=lambda body: body["presenter"] == presenter and body["notice"] == notice
                )
            )

        self.write("d/f", "from B", point=self.other)
        told(1, "didChange")
        self.eventually(lambda: self.read("d/f") == "from B")
        self.sync(self.other)
        os.rename(f"{self.other}/d/f", f"{self.other}/d/x")
        assert told(1, "didMove")["path"] == "d/x"
        self.write("d/new", point=self.other)
        assert told(2, "subitemDidAppear")["path"] == "d/new"
        os.unlink(f"{self.other}/d/x")
        asked = p.take("ask", where=lambda body: body["message"] == "accommodateDeletion")
        assert asked, "the presenter was not asked about another device's deletion"
        told(2, "subitemDidChange")

    def events_can_be_followed(self) -> None:
        self.tree()
        monitor = self.start(self.dewpoint, "monitor", self.path("d"), "--json")

        assert monitor.stdout
        lines = monitor.stdout

        def told() -> Any:
            # Uploads continue in the meantime and change attributes.
            while True:
                line = json.loads(lines.readline())
                if line["event"] != "ubiquityAttributes":
                    return line

        try:
            assert told()["event"] == "following"
            os.rename(self.path("d/g"), self.path("d/h"))
            line = told()
            assert (line["event"], line["from"], line["path"]) == ("moved", "d/g", "d/h"), line
            assert line["process"] == os.getpid(), line
            os.unlink(self.path("d/h"))
            line = told()
            assert (line["event"], line["path"]) == ("deleted", "d/h"), line
            # Several writes are one change, reported at the close.
            with open(self.path("d/f"), "ab", buffering=0) as file:
                for _ in range(20):
                    file.write(b"x" * 100)
            line = told()
            assert (line["event"], line["path"]) == ("changed", "d/f"), line
            # Changes outside the directory are not reported.
            self.write("p.rtfd/one", "x")
            os.mkdir(self.path("d/last"))
            line = told()
            assert (line["event"], line["path"]) == ("appeared", "d/last"), line
        finally:
            monitor.terminate()
            monitor.wait()
