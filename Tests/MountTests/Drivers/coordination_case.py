"""What the cases of coordination.py are made with."""

import json
import os
import subprocess
import time

from session import request

NAME_PATIENCE = 2.0
# How many seconds an operation that does not wait may take on a busy machine. One that waits would wait forever.
BUSY_LIMIT_SECONDS = 10


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
