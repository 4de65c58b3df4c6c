"""The two places a program runs in: a tree on the file system beside the mount, and one on the mount."""

from typing import Any

from . import scene
from .judge import Clock
from .process import Process
from .program import ELSEWHERE, PROCESSES, Step

STEP_SECONDS = 20
ELSEWHERE_SECONDS = 40


class Side:
    """The processes of one program on one side."""

    def __init__(
        self, root: str, is_ours: bool, is_root: bool, elsewhere_root: str | None = None, has_rings: bool = False
    ) -> None:
        self.root, self.is_ours, self.is_root = root, is_ours, is_root
        self.elsewhere_root = elsewhere_root or root
        self.has_rings = has_rings
        self.processes: dict[str, Process] = {}
        self.clock = Clock()

    def process(self, who: str) -> Process:
        if who not in self.processes:
            user = scene.USER if self.is_root and who == PROCESSES[-1] else None
            root = self.elsewhere_root if who == ELSEWHERE else self.root
            self.processes[who] = Process(root, self.is_ours, user, self.has_rings and who != ELSEWHERE)
        return self.processes[who]

    def start(self, step: Step) -> None:
        self.process(step.who).start(step)

    def result(self, step: Step) -> Any:
        seconds = ELSEWHERE_SECONDS if step.who == ELSEWHERE else STEP_SECONDS
        return self.clock.plain(self.processes[step.who].result(seconds))

    def call(self, step: Step) -> Any:
        self.start(step)
        return self.result(step)

    def end(self, who: str | None = None) -> list[str]:
        """Kills processes, which closes what they have open. Returns those that do not end."""
        left = []
        for name in [who] if who else list(self.processes):
            process = self.processes.pop(name, None)
            if process is not None and process.end() is None:
                left.append(f"{name} does not end; {process.standing()}")
        return left
