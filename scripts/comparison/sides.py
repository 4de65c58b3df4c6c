"""The two places a program runs in: a tree on the file system beside the mount, and one on the mount."""

from . import scene
from .judge import Clock
from .process import Process
from .program import ELSEWHERE, PROCESSES

STEP_SECONDS = 20
ELSEWHERE_SECONDS = 40


class Side:
    """The processes of one program on one side."""

    def __init__(self, root, is_ours, is_root, elsewhere_root=None, has_rings=False):
        self.root, self.is_ours, self.is_root = root, is_ours, is_root
        self.elsewhere_root = elsewhere_root or root
        self.has_rings = has_rings
        self.processes, self.clock = {}, Clock()

    def process(self, who):
        if who not in self.processes:
            user = scene.USER if self.is_root and who == PROCESSES[-1] else None
            root = self.elsewhere_root if who == ELSEWHERE else self.root
            self.processes[who] = Process(root, self.is_ours, user, self.has_rings and who != ELSEWHERE)
        return self.processes[who]

    def start(self, step):
        self.process(step.who).start(step)

    def result(self, step):
        seconds = ELSEWHERE_SECONDS if step.who == ELSEWHERE else STEP_SECONDS
        return self.clock.plain(self.processes[step.who].result(seconds))

    def call(self, step):
        self.start(step)
        return self.result(step)

    def end(self, who=None):
        """Kills processes, which closes what they have open. Returns those that do not end."""
        left = []
        for name in [who] if who else list(self.processes):
            process = self.processes.pop(name, None)
            if process is not None and process.end() is None:
                left.append(f"{name} does not end; {process.standing()}")
        return left
