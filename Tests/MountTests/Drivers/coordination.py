"""Coordinated access on a real mount, one case per behaviour:
python3 coordination.py CASE DIRECTORY [DEWPOINT [DIRECTORY_B]]

The rules are those of "Coordinated access" in the Semantics page, implemented here a second time.
"""

import json
import os
import shlex
import subprocess
import sys
import time

from session import Ended, Gone, Holder, Session, request

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
NAME_PATIENCE = 2.0
# How many seconds an operation that does not wait may take on a busy machine. One that waits would wait forever.
BUSY_LIMIT_SECONDS = 10


def is_write(kind):
    return isinstance(kind, str)


def waits(relation, earlier, new):
    if relation in ("same", "package"):
        return is_write(earlier) or is_write(new)
    if relation == "inside":
        return is_write(earlier) and earlier in DEEP
    if relation == "ancestor":
        return is_write(new) and new in DEEP
    return False


class Case:
    def __init__(self, point, dewpoint, other):
        self.point, self.dewpoint, self.other = point, dewpoint, other

    def path(self, name):
        return f"{self.point}/{name}"

    def write(self, name, text="old\n", point=None):
        path = f"{point or self.point}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name, point=None):
        with open(f"{point or self.point}/{name}", encoding="utf-8") as file:
            return file.read()

    def tree(self):
        for name in ("d/f", "d/g", "p.rtfd/one", "p.rtfd/two"):
            self.write(name)

    def start(self, *command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *command, limit=20):
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)

    def locks(self, point=None):
        return request(point or self.point, "GET", "/v1/locks")

    def sync(self, point=None):
        outcome = self.run(self.dewpoint, "sync", point or self.point, "--wait", limit=60)
        assert outcome.returncode == 0, outcome.stderr

    def eventually(self, condition, limit=10):
        end = time.monotonic() + limit
        while not (value := condition()):
            assert time.monotonic() < end, "the condition did not become true in time"
            time.sleep(0.01)
        return value

    def listed_claims(self, name):
        """The claims as getfattr prints them; None if the value grew between its two calls of getxattr(2) (ERANGE)."""
        outcome = self.run("getfattr", "--only-values", "-n", "user.dewpoint.claims", self.path(name))
        if outcome.returncode != 0:
            assert "out of range" in outcome.stderr, outcome
            return None
        return json.loads(outcome.stdout)

    def nobody_is_left(self):
        self.eventually(lambda: self.locks() == [])

    # The matrix

    def every_third_cell_of_the_matrix(self):
        self.tree()
        a, b = Session(self.point), Session(self.point)
        cells = [(r, e, n) for r in RELATIONS for e in KINDS for n in KINDS]
        for relation, earlier, new in cells[::3]:
            first, second = RELATIONS[relation]
            held = a.claim((first, earlier))
            asked = b.ask((second, new))
            cell = f"{relation}: {earlier}, then {new}"
            if waits(relation, earlier, new):
                assert b.take("waiting", where=lambda body, asked=asked: body["claim"] == asked), cell
                assert b.nothing("granted", limit=0), cell
                a.release(held)
                b.wait(asked)
            else:
                b.wait(asked)
                a.release(held)
            b.release(asked)
        self.nobody_is_left()

    def plain_programs_wait_for_claims(self):
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
            assert outcome.returncode == 0, (item, program, took, outcome.stderr.read())
        self.nobody_is_left()

    def beside_a_claim(self, item, program, is_waiting):
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

    def names_are_refused_after_a_while(self):
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

    def a_claim_covers_descendants_only(self):
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

    def a_writer_finishes_before_a_claim_is_granted(self):
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

    def several_items_are_granted_together(self):
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

    def purposes_and_coordinators_do_not_wait_for_their_own(self):
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

    def cancelling_and_timing_out(self):
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

    def bad_requests_say_what_is_wrong(self):
        self.tree()
        a = Session(self.point)
        for claim, code in [
            ({"items": []}, "invalid"),
            ({"items": [{"path": "d/f"}]}, "invalid"),
            ({"items": [{"path": "d/f", "writing": "forLaughs"}]}, "invalid"),
            ({"items": [{"path": "none/such", "reading": []}]}, "notFound"),
            ({"items": [{"path": "d/f", "reading": []}], "timeoutSeconds": -1}, "invalid"),
            ({"items": [{"path": "d/f", "writing": "forReplacing"}], "mode": "batch"}, "invalid"),
            ({"items": [{"path": "d/f", "reading": []}], "presenter": 9}, "notFound"),
        ]:
            a.last += 1
            a.send({"claim": {"claim": a.last, **claim}})
            outcome = a.outcome(a.last)
            assert (outcome["kind"], outcome["code"]) == ("ended", code), (claim, outcome)
        for line in ({"nothing": {}}, {"release": {"claim": 999}}, {"claim": {"claim": "x"}}):
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

    # The command line

    def coordinate_runs_a_command_under_a_claim(self):
        self.tree()
        marker = self.path("d/marker")
        inside = f"echo > {marker}; sleep 1; echo mine >> {self.path('d/f')}; exit 7"
        held = self.start(self.dewpoint, "coordinate", self.path("d/f"), "--", "sh", "-c", inside)
        self.eventually(lambda: os.path.exists(marker))
        listed = self.eventually(lambda: self.listed_claims("d/f"))
        assert listed["holders"][0]["kind"] == "write claim" and listed["holders"][0]["processes"] == [held.pid], listed
        printed = self.run(self.dewpoint, "locks", self.point).stdout
        assert "write claim" in printed and str(held.pid) in printed, printed
        # A write by another program waits for the claim.
        with open(self.path("d/f"), "a", encoding="utf-8") as file:
            file.write("other\n")
        assert held.wait(10) == 7
        assert self.read("d/f") == "old\nmine\nother\n"
        none = self.run("getfattr", "--only-values", "-n", "user.dewpoint.claims", self.path("d/f"))
        assert none.returncode != 0 and "No such attribute" in none.stderr, none

    def coordinate_says_how_it_ended(self):
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        rows = [
            (["--timeout", "0.3", self.path("d/f"), "--", "true"], 124),
            (["--reading", self.path("d/g"), "--", "true"], 0),
            (["--reading", self.path("none/such"), "--", "true"], 125),
            ([self.path("d/g"), "--", "/no/such/command"], 127),
            ([self.path("d/g"), "--", self.path("d")], 126),
            ([self.path("d/g"), "--", "sh", "-c", "kill -9 $$"], 137),
            (
                [
                    "--moving",
                    self.path("d/g"),
                    "--replacing",
                    self.path("d/h"),
                    "--",
                    "mv",
                    self.path("d/g"),
                    self.path("d/h"),
                ],
                0,
            ),
        ]
        for arguments, status in rows:
            outcome = self.run(self.dewpoint, "coordinate", *arguments)
            assert outcome.returncode == status, (arguments, outcome)
        # A claim that was broken no longer keeps others waiting.
        claim = next(p["claim"] for node in self.locks() for p in node["holders"] if p.get("claim"))
        assert self.run(self.dewpoint, "locks", self.point, "--break", str(claim)).returncode == 0
        assert self.run(self.dewpoint, "coordinate", self.path("d/f"), "--", "true").returncode == 0
        assert self.run(self.dewpoint, "locks", self.point, "--break", "99999").returncode != 0
        holder.kill()
        self.sync()
        assert self.run(self.dewpoint, "evict", self.path("d/f")).returncode == 0
        refused = self.run(self.dewpoint, "coordinate", "--reading", self.path("d/f"), "--", "cat", self.path("d/f"))
        assert refused.returncode == 125 and "--wait-for-download" in refused.stderr, refused
        read = self.run(
            self.dewpoint,
            "coordinate",
            "--wait-for-download",
            "--reading",
            self.path("d/f"),
            "--",
            "cat",
            self.path("d/f"),
        )
        assert read.stdout == "old\n", read
        self.nobody_is_left()

    def a_claim_ends_with_its_connection_and_its_process(self):
        self.tree()
        a = Session(self.point)
        held = a.claim(("d/f", "plain"))
        b = Session(self.point)
        asked = b.ask(("d/f", "plain"))
        assert b.take("waiting")
        began = time.monotonic()
        a.close()
        b.wait(asked)
        assert held and time.monotonic() - began < BUSY_LIMIT_SECONDS
        b.release(asked)
        holder = Holder(self.point, ("d/f", "plain"))
        asked = b.ask(("d/f", "plain"))
        began = time.monotonic()
        holder.kill()
        b.wait(asked)
        assert time.monotonic() - began < BUSY_LIMIT_SECONDS
        b.release(asked)
        # The connection stays open in a child; the claim ends with its process.
        ready, written = os.pipe()
        pid = os.fork()
        if pid == 0:
            Session(self.point).claim(("d/f", "plain"))
            if os.fork() == 0:
                os.write(written, b"%d" % os.getpid())
                time.sleep(30)
                os._exit(0)
            time.sleep(30)
        child = int(os.read(ready, 20))
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        b.release(b.claim(("d/f", "plain")))
        os.kill(child, 9)

    def a_holder_of_another_pid_namespace_is_shown_as_such(self):
        self.tree()
        program = (
            "import os, sys, time\nfrom session import Session\n"
            "session = Session(sys.argv[1]); claim = session.claim(('d/f', 'plain')); print(os.getpid(), flush=True)\n"
            "time.sleep(1)\nopen(sys.argv[1] + '/d/f', 'a').write('own\\n')\nsession.release(claim)\n"
        )
        # Only root may create a PID namespace alone; other users need a user namespace with it.
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        holder = subprocess.Popen(
            ["unshare", *user, "--fork", "--pid", "--mount-proc", sys.executable, "-c", program, self.point],
            stdout=subprocess.PIPE,
            text=True,
            cwd=os.path.dirname(os.path.abspath(__file__)),
        )
        assert holder.stdout.readline() == "1\n"
        party = next(p for node in self.locks() for p in node["holders"] if p.get("claim"))
        assert party["namespace"].startswith("pid:[") and party["processes"] != [1], party
        other = self.start("sh", "-c", f"echo other >> {self.path('d/f')}")
        assert holder.wait(10) == 0 and other.wait(10) == 0
        assert self.read("d/f") == "old\nown\nother\n"

    # Presenters

    def presenters_are_asked_in_order(self):
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
            asked = []

            def answer(question, asked=asked):
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

    def a_presenter_refuses(self):
        self.tree()
        p, a = Session(self.point), Session(self.point)
        p.present(1, "d/f", answer=lambda question: {"error": "the document is locked"})
        outcome = a.outcome(a.ask(("d/f", [])))
        assert outcome["reason"] == "presenter" and "the document is locked" in outcome["message"], outcome
        # A claim in the presenter's own name does not ask it.
        p.release(p.claim(("d/f", "plain"), presenter=1))

    def plain_programs_are_told_of(self):
        self.tree()
        p = Session(self.point)
        p.present(1, "d/f")
        p.present(2, "d")

        def told(presenter, expected, late=()):
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

    def other_devices_are_told_of(self):
        self.tree()
        self.sync()
        self.sync(self.other)
        p = Session(self.point)
        p.present(1, "d/f")
        p.present(2, "d")

        def told(presenter, notice):
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

    def events_can_be_followed(self):
        self.tree()
        monitor = self.start(self.dewpoint, "monitor", self.path("d"), "--json")

        def told():
            # Uploads continue in the meantime and change attributes.
            while True:
                line = json.loads(monitor.stdout.readline())
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

    # Pitfalls

    def two_presenters_that_read_in_their_handlers(self):
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

    def presenters_on_one_queue_lock_each_other_out(self):
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

    def a_deadlock_is_named(self):
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

    def a_deadlock_is_refused(self):
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

    def evicting_inside_a_claim(self):
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

    def presenters_decide_about_evictions(self):
        self.tree()
        self.sync()
        p = Session(self.point)

        def evict(name):
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

    def a_claim_follows_a_rename_of_case_only(self):
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"mv {self.point}/d/f {self.point}/d/F")
        other = self.start("sh", "-c", f"echo other >> {self.point}/d/F")
        time.sleep(0.3)
        assert self.read("d/F") == "old\n"
        assert holder.release()
        assert other.wait(10) == 0

    def a_claim_follows_its_directories(self):
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        assert holder.run(f"mv {self.point}/d {self.point}/e")
        other = self.start("sh", "-c", f"echo other >> {self.point}/e/f")
        time.sleep(0.3)
        assert self.read("e/f") == "old\n"
        assert holder.release()
        assert other.wait(10) == 0
        assert self.read("e/f") == "old\nother\n"

    def a_claim_for_replacing_stays_with_the_place(self):
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

    def a_directory_is_moved_while_a_child_is_written(self):
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

    def a_presenter_never_answers(self, expected):
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

    def a_presenter_that_never_answers_is_waited_for(self):
        self.a_presenter_never_answers("wait")

    def a_presenter_that_never_answers_is_skipped(self):
        self.a_presenter_never_answers("skip")

    def a_presenter_that_never_answers_fails_the_claim(self):
        self.a_presenter_never_answers("fail")

    def a_stopped_presenter_is_not_waited_for(self):
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

    def a_slow_handler_delays_a_later_relinquish(self):
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

    # Downloads

    def a_claim_says_that_it_downloads(self):
        self.write("d/big", "x" * (1 << 20))
        self.sync()
        assert self.run(self.dewpoint, "evict", self.path("d/big")).returncode == 0
        a = Session(self.point)

        def is_here():
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

    # Editors and other devices

    def an_editor_saves_before_others_read(self):
        """A process presents a file with unsaved changes; a plain cp under a claim gets the saved state."""
        self.write("d/f", "saved long ago\n")
        editor = Session(self.point)
        unsaved = ["typed just now\n"]

        def answer(question):
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

    def an_editor_saves_before_another_device_overwrites(self):
        self.write("d/f", "saved long ago\n")
        self.sync()
        self.eventually(lambda: os.path.exists(f"{self.other}/d/f"))
        editor = Session(self.point)
        unsaved = ["typed on A\n"]

        def answer(question):
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

    def an_upload_asks_to_save_first(self):
        self.write("d/f", "base\n")
        self.sync()
        editor = Session(self.point)
        unsaved = ["typed just now\n"]

        def answer(question):
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

    def what_is_written_under_a_claim_is_uploaded_after_it(self):
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

    def a_refusal_does_not_keep_a_change_away(self):
        self.write("d/f", "base\n")
        self.sync()
        self.sync(self.other)
        editor = Session(self.point)
        editor.present(1, "d/f", answer=lambda question: {"error": "not now"})
        self.write("d/f", "from B\n", point=self.other)
        self.eventually(lambda: self.read("d/f") == "from B\n")

    def a_hung_presenter_keeps_nothing_from_moving(self):
        self.write("d/f", "base\n")
        self.sync()
        self.sync(self.other)
        editor = Session(self.point)
        editor.present(1, "d/f", answer=None)
        self.write("d/f", "from A\n")
        self.eventually(lambda: self.read("d/f", point=self.other) == "from A\n")
        self.write("d/f", "from B\n", point=self.other)
        self.eventually(lambda: self.read("d/f") == "from B\n")

    def a_claim_holds_another_device_off(self):
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


def main():
    case, point = sys.argv[1:3]
    dewpoint = sys.argv[3] if len(sys.argv) > 3 else None
    other = sys.argv[4] if len(sys.argv) > 4 else None
    try:
        getattr(Case(point, dewpoint, other), case)()
    except Ended as error:
        raise SystemExit(f"{case}: a claim ended: {error.reason}, {error}") from error
    finally:
        Session.end_all()


if __name__ == "__main__":
    main()
