"""What the cases of coordination.py are made with."""

import json
import os
import subprocess
from typing import Any

from session import request
from waiting import eventually

NAME_PATIENCE = 2.0
# How many seconds an operation that does not wait may take on a busy machine. One that waits would wait forever.
BUSY_LIMIT_SECONDS = 10


class Case:
    def __init__(self, point: str, dewpoint: str, other: str) -> None:
        self.point, self.dewpoint, self.other = point, dewpoint, other

    def path(self, name: str) -> str:
        return f"{self.point}/{name}"

    def write(self, name: str, text: str = "old\n", point: str | None = None) -> None:
        path = f"{point or self.point}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name: str, point: str | None = None) -> str:
        with open(f"{point or self.point}/{name}", encoding="utf-8") as file:
            return file.read()

    def tree(self) -> None:
        for name in ("d/f", "d/g", "p.rtfd/one", "p.rtfd/two"):
            self.write(name)

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *command: str, limit: float = 20) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)

    def locks(self, point: str | None = None) -> Any:
        return request(point or self.point, "GET", "/v1/locks")

    def sync(self, point: str | None = None) -> None:
        outcome = self.run(self.dewpoint, "sync", point or self.point, "--wait", limit=60)
        assert outcome.returncode == 0, outcome.stderr

    eventually = staticmethod(eventually)

    def listed_claims(self, name: str) -> Any:
        """The claims as getfattr prints them; None if the value grew between its two calls of getxattr(2) (ERANGE)."""
        outcome = self.run("getfattr", "--only-values", "-n", "user.dewpoint.claims", self.path(name))
        if outcome.returncode != 0:
            assert "out of range" in outcome.stderr, outcome
            return None
        return json.loads(outcome.stdout)

    def nobody_is_left(self) -> None:
        self.eventually(lambda: self.locks() == [])
