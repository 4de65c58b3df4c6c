"""Claims by the command line, and how they end with their processes. Cases of coordination.py."""

import os
import subprocess
import sys
import time

from coordination_case import BUSY_LIMIT_SECONDS, Case
from session import Holder, Session


class Commands(Case):
    def coordinate_runs_a_command_under_a_claim(self) -> None:
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
        # The daemon has a claim of its own while it reads the file to upload it.
        self.sync()
        none = self.run("getfattr", "--only-values", "-n", "user.dewpoint.claims", self.path("d/f"))
        assert none.returncode != 0 and "No such attribute" in none.stderr, none

    def coordinate_says_how_it_ended(self) -> None:
        self.tree()
        holder = Holder(self.point, ("d/f", "plain"))
        moving = ["--moving", self.path("d/g"), "--replacing", self.path("d/h")]
        rows = [
            (["--timeout", "0.3", self.path("d/f"), "--", "true"], 124),
            (["--reading", self.path("d/g"), "--", "true"], 0),
            (["--reading", self.path("none/such"), "--", "true"], 125),
            ([self.path("d/g"), "--", "/no/such/command"], 127),
            ([self.path("d/g"), "--", self.path("d")], 126),
            ([self.path("d/g"), "--", "sh", "-c", "kill -9 $$"], 137),
            ([*moving, "--", "mv", self.path("d/g"), self.path("d/h")], 0),
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
        reading = ["coordinate", "--wait-for-download", "--reading", self.path("d/f")]
        read = self.run(self.dewpoint, *reading, "--", "cat", self.path("d/f"))
        assert read.stdout == "old\n", read
        self.nobody_is_left()

    def a_claim_ends_with_its_connection_and_its_process(self) -> None:
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

    def a_holder_of_another_pid_namespace_is_shown_as_such(self) -> None:
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
        assert holder.stdout and holder.stdout.readline() == "1\n"
        party = next(p for node in self.locks() for p in node["holders"] if p.get("claim"))
        assert party["namespace"].startswith("pid:[") and party["processes"] != [1], party
        other = self.start("sh", "-c", f"echo other >> {self.path('d/f')}")
        assert holder.wait(10) == 0 and other.wait(10) == 0
        assert self.read("d/f") == "old\nown\nother\n"
