"""Where coordinated access waits for itself, or for what never answers. Cases of coordination.py."""

import os
import time

from coordination_case import BUSY_LIMIT_SECONDS, Case
from session import Holder, Session


class Pitfalls(Case):
    def two_presenters_that_read_in_their_handlers(self) -> None:
        self.tree()
        p, q = Session(self.point), Session(self.point)
        # On queues that answer while a handler runs, both presenters can read.
        p.present(1, "d/f")
        q.present(1, "d/f")
        self.write("d/f", "new")
        assert p.take("notice") and q.take("notice")
        first, second = p.ask(("d/f", []), presenter=1), q.ask(("d/f", []), presenter=1)
        p.wait(first)
        q.wait(second)
        p.release(first)
        q.release(second)

    def presenters_on_one_queue_lock_each_other_out(self) -> tuple[Session, Session, int, int]:
        # Each reads in its handler, on the queue on which it would answer the other: Apple's known deadlock. The lock
        # table reports it.
        self.tree()
        # Uploaded first, because uploads ask presenters too.
        self.sync()
        p, q = Session(self.point), Session(self.point)
        p.present(1, "d/f", answer=None)
        q.present(1, "d/f", answer=None)
        first = p.ask(("d/f", []), presenter=1, fromPresenter=1)
        self.eventually(lambda: any(party.get("claim") for node in self.locks() for party in node["waiters"]))
        second = q.ask(("d/f", []), presenter=1, fromPresenter=1)
        return p, q, first, second

    def a_deadlock_is_named(self) -> None:
        p, q, first, second = self.presenters_on_one_queue_lock_each_other_out()
        self.eventually(
            lambda: len([w for node in self.locks() for w in node["waiters"] if w.get("isDeadlocked")]) == 2
        )
        printed = self.run(self.dewpoint, "locks", self.point).stdout
        assert "deadlock" in printed, printed
        assert p.outcome(first, limit=0.2) is None and q.outcome(second, limit=0.2) is None
        # When one of the two ends, the other proceeds.
        q.close()
        p.wait(first)
        p.release(first)

    def a_deadlock_is_refused(self) -> None:
        p, q, first, second = self.presenters_on_one_queue_lock_each_other_out()
        outcome = q.outcome(second)
        assert outcome["reason"] == "deadlock" and outcome["code"] == "deadlock", outcome
        # The refused call has returned, so its queue answers questions.
        for question in (q.take("ask"), q.take("ask", limit=0.5)):
            if question:
                q.send({"answer": {"question": question["question"]}})
                more = q.take("ask", limit=0.5)
                if more:
                    q.send({"answer": {"question": more["question"]}})
        p.wait(first)
        p.release(first)

    def evicting_inside_a_claim(self) -> None:
        self.tree()
        self.sync()
        holder = Holder(self.point, ("d/f", []))
        began = time.monotonic()
        assert not holder.run(f"setfattr -n user.dewpoint.evict -v 1 {self.point}/d/f 2> /dev/null")
        outcome = self.run("setfattr", "-n", "user.dewpoint.evict", "-v", "1", self.path("d/f"))
        assert "busy" in outcome.stderr, outcome.stderr
        assert time.monotonic() - began < BUSY_LIMIT_SECONDS
        assert holder.release()
        assert self.run("setfattr", "-n", "user.dewpoint.evict", "-v", "1", self.path("d/f")).returncode == 0

    def presenters_decide_about_evictions(self) -> None:
        self.tree()
        self.sync()
        p = Session(self.point)

        def evict(name: str) -> bool:
            return self.run("setfattr", "-n", "user.dewpoint.evict", "-v", "1", self.path(name)).returncode == 0

        # A presenter that does not implement the message keeps the file from being evicted, and so does one that
        # refuses.
        p.present(1, "d/f", methods=["didChange"])
        assert not evict("d/f")
        p.present(1, "d/f", answer=lambda question: {"error": "it is open in a window"})
        assert not evict("d/f")
        p.present(1, "d/f", answer=lambda question: p.send({"withdraw": {"presenter": 1}}))
        assert evict("d/f")
        assert self.run(
            "getfattr", "--only-values", "-n", "user.dewpoint.downloadingStatus", self.path("d/f")
        ).stdout == ("NotDownloaded")

    def a_claim_follows_a_rename_of_case_only(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"mv {self.point}/d/f {self.point}/d/F")
        other = self.start("sh", "-c", f"echo other >> {self.point}/d/F")
        time.sleep(0.3)
        assert self.read("d/F") == "old\n"
        assert holder.release()
        assert other.wait(10) == 0

    def a_claim_follows_its_directories(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"mv {self.point}/d {self.point}/e")
        other = self.start("sh", "-c", f"echo other >> {self.point}/e/f")
        time.sleep(0.3)
        assert self.read("e/f") == "old\n"
        assert holder.release()
        assert other.wait(10) == 0
        assert self.read("e/f") == "old\nother\n"

    def a_claim_for_replacing_stays_with_the_place(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "forReplacing"))
        assert holder.run(f"mv {self.point}/d/f {self.point}/d/away && echo fresh > {self.point}/d/f")
        # The item that was moved away is free; the one that took its place is not.
        self.write("d/away", "by others\n")
        assert self.read("d/away") == "by others\n"
        other = self.start("sh", "-c", f"echo other >> {self.point}/d/f")
        time.sleep(0.3)
        assert self.read("d/f") == "fresh\n"
        assert holder.release()
        assert other.wait(10) == 0

    def a_directory_is_moved_while_a_child_is_written(self) -> None:
        self.tree()
        child = Holder(self.point, ("d/f", "plain"))
        # A claim to write the directory, but not to move it, is granted at the same time; the move itself is refused.
        parent = Holder(self.point, ("d", "plain"))
        assert not parent.run(f"mv {self.point}/d {self.point}/e 2> /dev/null")
        p = Session(self.point)
        p.present(1, "d/f", methods=["didMove"])
        assert child.run(f"echo more >> {self.point}/d/f")
        assert child.release()
        assert parent.run(f"mv {self.point}/d {self.point}/e")
        assert p.take("notice")["path"] == "e/f"
        assert parent.release()
        assert self.read("e/f") == "old\nmore\n"

    def a_presenter_never_answers(self, expected: str) -> None:
        self.tree()
        # Uploaded first, because uploads ask presenters too.
        self.sync()
        p, a = Session(self.point), Session(self.point)
        p.present(1, "d/f", answer=None)
        asked = a.ask(("d/f", []))
        if expected == "wait":
            assert a.outcome(asked, limit=2) is None
            nodes = [proxy for node in self.locks() for proxy in node["presenters"]]
            assert nodes[0]["isUnresponsive"] and nodes[0]["unanswered"] == ["relinquishToReader"], nodes
            p.close()
            a.wait(asked)
        elif expected == "skip":
            a.wait(asked, limit=5)
        else:
            outcome = a.outcome(asked, limit=5)
            assert outcome["reason"] == "presenter" and outcome["code"] == "timedOut", outcome

    def a_presenter_that_never_answers_is_waited_for(self) -> None:
        self.a_presenter_never_answers("wait")

    def a_presenter_that_never_answers_is_skipped(self) -> None:
        self.a_presenter_never_answers("skip")

    def a_presenter_that_never_answers_fails_the_claim(self) -> None:
        self.a_presenter_never_answers("fail")

    def a_stopped_presenter_is_not_waited_for(self) -> None:
        self.tree()
        ready, written = os.pipe()
        pid = os.fork()
        if pid == 0:
            Session(self.point).present(1, "d/f", answer=None)
            os.write(written, b"k")
            time.sleep(60)
            os._exit(0)
        try:
            assert os.read(ready, 1) == b"k"
            os.kill(pid, 19)
            a = Session(self.point)
            a.wait(a.ask(("d/f", [])), limit=15)
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)

    def a_slow_handler_delays_a_later_relinquish(self) -> None:
        self.tree()
        p, a = Session(self.point), Session(self.point)
        p.present(1, "d/f", answer=None)
        self.write("d/f", "new")
        assert p.take("notice")
        asked = a.ask(("d/f", "plain"))
        # The handler of the change takes a second; only then does its queue answer the question.
        time.sleep(1)
        assert a.outcome(asked, limit=0) is None
        # An upload may have asked first: to read, and to save.
        while (question := p.take("ask"))["message"] != "relinquishToWriter":
            p.send({"answer": {"question": question["question"]}})
        p.send({"answer": {"question": question["question"], "reacquires": True}})
        a.wait(asked)
        a.release(asked)
        assert p.take("reacquire")["question"] == question["question"]
