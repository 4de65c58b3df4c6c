"""Who waits for whom: claims, and the programs beside them. Cases of coordination.py."""

import os
import shlex
import subprocess
import sys
import time
from typing import Any

from coordination_case import BUSY_LIMIT_SECONDS, NAME_PATIENCE, Case
from session import Gone, Holder, Session, request

READS = [[], ["withoutChanges"], ["immediatelyAvailableMetadataOnly"], ["forUploading"]]
WRITES = ["plain", "forDeleting", "forMoving", "forMerging", "forReplacing", "contentIndependentMetadataOnly"]
KINDS = READS + WRITES
DEEP = {"forDeleting", "forMoving", "forReplacing"}
# For each relation, the earlier claim's item and the new claim's item.
RELATIONS = {
    "same": ("d/f", "d/f"),
    "inside": ("d", "d/f"),
    "ancestor": ("d/f", "d"),
    "unrelated": ("d/f", "d/g"),
    "package": ("p.rtfd/one", "p.rtfd/two"),
}


def is_write(kind: object) -> bool:
    return isinstance(kind, str)


def waits(relation: str, earlier: Any, new: Any) -> bool:
    if relation in ("same", "package"):
        return is_write(earlier) or is_write(new)
    if relation == "inside":
        return is_write(earlier) and earlier in DEEP
    if relation == "ancestor":
        return is_write(new) and new in DEEP
    return False


class Claims(Case):
    def every_third_cell_of_the_matrix(self) -> None:
        self.tree()
        a, b = Session(self.point), Session(self.point)
        cells = [(r, e, n) for r in RELATIONS for e in KINDS for n in KINDS]
        for relation, earlier, new in cells[::3]:
            first, second = RELATIONS[relation]
            held = a.claim((first, earlier))
            asked = b.ask((second, new))
            cell = f"{relation}: {earlier}, then {new}"
            if waits(relation, earlier, new):
                assert b.waits(asked), cell
                assert b.nothing("granted", limit=0), cell
                a.release(held)
                b.wait(asked)
            else:
                b.wait(asked)
                a.release(held)
            b.release(asked)
        self.nobody_is_left()

    def plain_programs_wait_for_claims(self) -> None:
        # (the claim, the program, whether it waits); the programs are not children of the holder.
        self.tree()
        rows = [
            (("d/f", "plain"), "dd if=/dev/zero of=d/f bs=1 count=3 conv=notrunc status=none", True),
            (("d/f", []), "dd if=/dev/zero of=d/f bs=1 count=3 conv=notrunc status=none", True),
            (("d/f", "forMerging"), "echo new > d/f", True),
            (("d/f", "contentIndependentMetadataOnly"), "truncate -s 1 d/f", True),
            (("d", "forDeleting"), "echo new >> d/f", True),
            (("d", "forMoving"), "truncate -s 1 d/f", True),
            (("d", "forReplacing"), "dd if=/dev/zero of=d/f bs=1 count=3 status=none", True),
            (("d", "plain"), "echo new >> d/f", False),
            (("d", []), "echo new >> d/f", False),
            (("d/g", "plain"), "echo new >> d/f", False),
            (("p.rtfd/one", "plain"), "echo new >> p.rtfd/two", True),
            (("d/f", "plain"), "cat d/f > /dev/null", False),
            (("d/f", "plain"), "mv d/f d/h && mv d/h d/f", True),
            (("d/f", []), "mv d/f d/h && mv d/h d/f", True),
            (("d", []), "mv d e && mv e d", True),
            (("d/f", "plain"), "mv d e && mv e d", True),
            (("d/f", "plain"), "rm d/f && echo again > d/f", True),
            (("d/f", "plain"), "echo x > d/t && mv d/t d/f", True),
            (("d/f", "plain"), "chmod 600 d/f; touch d/f", False),
        ]
        for item, program, is_waiting in rows:
            # On a machine that was too busy to release the claim in time, a refused rename says nothing.
            for _ in range(3):
                took, outcome = self.beside_a_claim(item, program, is_waiting)
                if outcome.returncode == 0 or took < NAME_PATIENCE - 0.5:
                    break
            assert outcome.returncode == 0, (item, program, took, outcome.stderr and outcome.stderr.read())
        self.nobody_is_left()

    def beside_a_claim(self, item: Any, program: str, is_waiting: bool) -> tuple[float, subprocess.Popen[str]]:
        """Runs a program beside a claim; returns the seconds until the claim was released, and the ended program."""
        holder = Holder(self.point, item)
        began = time.monotonic()
        other = self.start("sh", "-c", f"cd {shlex.quote(self.point)} && {program}")
        if is_waiting:
            try:
                other.wait(0.4)
                raise AssertionError(f"{program} did not wait for {item}")
            except subprocess.TimeoutExpired:
                pass
        else:
            other.wait(10)
            assert time.monotonic() - began < NAME_PATIENCE, f"{program} waited for {item}"
        assert holder.release(), item
        took = time.monotonic() - began
        other.wait(10)
        return took, other

    def names_are_refused_after_a_while(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        for program in ("mv d/f d/h", "rm d/f", "mv d e"):
            began = time.monotonic()
            outcome = self.run("sh", "-c", f"cd {shlex.quote(self.point)} && {program}")
            assert outcome.returncode != 0 and "busy" in outcome.stderr, (program, outcome)
            assert NAME_PATIENCE - 0.2 < time.monotonic() - began < NAME_PATIENCE + BUSY_LIMIT_SECONDS, program
        # The holder itself may rename and move the item, atomic saves included.
        assert holder.run(f"cd {self.point}/d && echo saved > t && mv t f && mv f h && mv h f")
        assert holder.release()
        assert self.read("d/f") == "saved\n"
        self.nobody_is_left()

    def a_claim_covers_descendants_only(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"sh -c 'sh -c \"echo deep >> {self.point}/d/f\"'")
        other = self.start("sh", "-c", f"echo other >> {self.point}/d/f")
        time.sleep(0.3)
        assert self.read("d/f") == "old\ndeep\n"
        assert holder.run(f"echo last >> {self.point}/d/f")
        assert holder.release()
        assert other.wait(10) == 0
        assert self.read("d/f") == "old\ndeep\nlast\nother\n"

    def a_writer_finishes_before_a_claim_is_granted(self) -> None:
        self.write("d/f", "")
        # Prints its longest pause: after half a second without a write others may go on (turn_quiet).
        writer = self.start(
            sys.executable,
            "-c",
            "import os, sys, time\nf = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)\nlast, longest = time.monotonic(), 0\n"
            "for i in range(40):\n os.write(f, b'x' * 1000); now = time.monotonic(); longest = max(longest, now - last)\n"
            " last = now; time.sleep(0.02)\nprint(longest)\n",
            self.path("d/f"),
        )
        self.eventually(lambda: os.path.getsize(self.path("d/f")) > 0)
        # Another process requests the claim: a claim does not wait for descendants of its own process, as the writer is
        # of this one.
        holder = Holder(self.point, ("d/f", []))
        size = os.path.getsize(self.path("d/f"))
        assert holder.release()
        longest = float(writer.communicate(timeout=10)[0])
        assert writer.returncode == 0
        assert size == 40_000 or longest > 0.4, f"the claim was granted between two writes, at most {longest} s apart"

    def several_items_are_granted_together(self) -> None:
        self.tree()
        a, b, c = (Session(self.point) for _ in range(3))
        held = a.claim(("d/f", "plain"))
        pair = b.ask(("d/f", "forMoving"), ("d/h", "forReplacing"))
        assert b.take("waiting")
        # First come, first served: a later claim waits for the pair although no claim on d/h is held.
        later = c.ask(("d/h", "plain"))
        assert c.take("waiting")
        a.release(held)
        b.wait(pair)
        assert c.nothing("granted")
        b.release(pair)
        c.wait(later)
        c.release(later)

    def purposes_and_coordinators_do_not_wait_for_their_own(self) -> None:
        self.tree()
        a, b = Session(self.point), Session(self.point)
        held = a.claim(("d/f", "plain"), purpose="com.example.same")
        b.release(b.claim(("d/f", "plain"), purpose="com.example.same"))
        other = b.ask(("d/f", "plain"), purpose="com.example.other")
        assert b.take("waiting")
        a.release(held)
        b.wait(other)
        b.release(b.claim(("d/g", "plain")))
        first = a.claim(("d/g", "plain"), coordinator="one")
        # Not even behind another that waits for the first, as an upload does.
        reader = b.ask(("d/g", ["forUploading"]))
        assert b.take("waiting")
        a.release(a.claim(("d/g", "forDeleting"), coordinator="one"))
        a.release(first)
        b.release(b.wait(reader))

    def cancelling_and_timing_out(self) -> None:
        self.tree()
        a, b = Session(self.point), Session(self.point)
        held = a.claim(("d/f", "plain"))
        asked = b.ask(("d/f", []), timeoutSeconds=0.2)
        assert b.outcome(asked)["reason"] == "timedOut"
        asked = b.ask(("d/f", []))
        b.send({"cancel": {"claim": asked}})
        assert b.outcome(asked)["reason"] == "cancelled"
        asked = b.ask(("d/f", []), coordinator="c")
        b.send({"cancelCoordinator": {"coordinator": "c"}})
        assert b.outcome(asked)["reason"] == "cancelled"
        assert b.outcome(b.ask(("d/g", []), coordinator="c"))["code"] == "cancelled"
        identity = a.client  # `locks` lists its claim by number
        listed = [p for node in self.locks() for p in node["holders"] if p.get("claim")]
        assert len(listed) == 1 and identity
        request(self.point, "POST", "/v1/claims/break", {"id": listed[0]["claim"]})
        assert a.outcome(held)["reason"] == "revoked"
        self.nobody_is_left()

    def bad_requests_say_what_is_wrong(self) -> None:
        self.tree()
        a = Session(self.point)
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"items": []}, "invalid"),
            ({"items": [{"path": "d/f"}]}, "invalid"),
            ({"items": [{"path": "d/f", "writing": "forLaughs"}]}, "invalid"),
            ({"items": [{"path": "none/such", "reading": []}]}, "notFound"),
            ({"items": [{"path": "d/f", "reading": []}], "timeoutSeconds": -1}, "invalid"),
            ({"items": [{"path": "d/f", "writing": "forReplacing"}], "mode": "batch"}, "invalid"),
            ({"items": [{"path": "d/f", "reading": []}], "presenter": 9}, "notFound"),
        ]
        for claim, code in wrong:
            a.last += 1
            a.send({"claim": {"claim": a.last, **claim}})
            outcome = a.outcome(a.last)
            assert (outcome["kind"], outcome["code"]) == ("ended", code), (claim, outcome)
        lines: list[dict[str, Any]] = [{"nothing": {}}, {"release": {"claim": 999}}, {"claim": {"claim": "x"}}]
        for line in lines:
            a.send(line)
            assert a.take("refused"), line
        a.release(a.claim(("d/f", "plain")))
        # A line that is too long is refused.
        b = Session(self.point)
        try:
            b.send({"claim": {"claim": 1, "items": [], "purpose": "x" * (2 << 20)}})
            refused = b.take("refused")
            assert refused["code"] == "tooLarge", refused
        except Gone:
            pass
        a.close()
        self.nobody_is_left()

    def a_claim_says_that_it_downloads(self) -> None:
        self.write("d/big", "x" * (1 << 20))
        self.sync()
        assert self.run(self.dewpoint, "evict", self.path("d/big")).returncode == 0
        a = Session(self.point)

        def is_here() -> bool:
            status = self.run("getfattr", "--only-values", "-n", "user.dewpoint.downloadingStatus", self.path("d/big"))
            return status.stdout == "Current"

        for kind in (
            ["immediatelyAvailableMetadataOnly"],
            "forDeleting",
            "forMoving",
            "forReplacing",
            "contentIndependentMetadataOnly",
        ):
            a.release(a.claim(("d/big", kind)))
            assert not is_here(), kind
        asked = a.ask(("d/big", []))
        told = a.take("downloading")
        assert told and told["bytesTotal"] == 1 << 20, told
        a.wait(asked)
        assert is_here()
        a.release(asked)
