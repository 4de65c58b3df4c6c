"""One run: many seeds on one stage, and a report of what differs."""

import collections
import time
from collections.abc import Callable, Sequence

from . import program
from .generator import Generator
from .lockstep import Lockstep, Outcome
from .program import Step
from .shrink import shrink
from .stage import Stage

# How many start trees are made, uploaded and evicted together.
BATCH = 25
SHOWN_SEEDS = 12


def make(seed: int | str, is_root: bool) -> list[Step]:
    """The program of a seed, or that of a file."""
    if isinstance(seed, int):
        return Generator(seed, is_root).program()
    with open(seed, encoding="utf-8") as file:
        return program.read(file.read())


class Run:
    def __init__(
        self, stage: Stage, label: str, shrink_seconds: float, say: Callable[[str], None], traces: bool = False
    ) -> None:
        self.stage, self.label, self.shrink_seconds, self.say, self.traces = stage, label, shrink_seconds, say, traces
        self.found: dict[tuple[str, str], list[int | str]] = {}
        self.passed_over: collections.Counter[str] = collections.Counter()
        self.count, self.trees = 0, 0
        self.prepared: list[str] = []

    def seeds(self, numbers: Sequence[int | str]) -> int:
        start = time.monotonic()
        for number in numbers:
            self.seed(number, len(numbers))
        seconds = time.monotonic() - start
        rate = len(numbers) / max(seconds, 0.001)
        differing = sum(len(seeds) for seeds in self.found.values())
        self.say(
            f"{self.label}: {self.count} programs in {seconds:.1f} s ({rate:.1f}/s), {differing} with a difference"
        )
        return differing

    def seed(self, number: int | str, ahead: int) -> None:
        outcome = self.perform(make(number, self.stage.is_root), ahead)
        self.count += 1
        self.passed_over.update(outcome.passed_over)
        if self.traces:
            self.say(f"\n{self.label}, {number}:")
            self.show(outcome)
        if outcome.signature:
            self.difference(number, outcome, outcome.signature)

    def show(self, outcome: Outcome) -> None:
        for step, remark in outcome.trace:
            self.say(f"  {step}  # {remark}")
        if outcome.difference:
            self.say(f"    {outcome.difference}")

    def perform(self, steps: Sequence[Step], ahead: int = 1) -> Outcome:
        """Runs a program in a fresh tree."""
        if not self.prepared:
            self.prepared = [str(self.trees + index) for index in range(min(BATCH, max(ahead, 1)))]
            self.trees += len(self.prepared)
            self.stage.prepare(self.prepared)
        outcome = Lockstep(self.stage, self.prepared.pop(0)).run(steps)
        if outcome.is_broken:
            # The trees that were prepared are on a mount that was given up.
            self.prepared = []
        return outcome

    def difference(self, number: int | str, outcome: Outcome, signature: tuple[str, str]) -> None:
        """Prints a difference of a new kind with a program as short as can be found; of a known one only its seed is
        kept."""
        known = signature in self.found
        self.found.setdefault(signature, []).append(number)
        if known:
            return
        steps = [step for step, _ in outcome.trace]
        best = [outcome]

        def shows(shorter: list[Step]) -> bool:
            again = self.perform(shorter, 8)
            if again.signature == signature:
                best[0] = again
                return True
            return False

        if self.shrink_seconds:
            steps = shrink(steps, shows, self.shrink_seconds)
        operation, place = signature
        self.say(f"\n{self.label}, {number}: {operation} differs in {place}")
        self.show(best[0])

    def summary(self) -> None:
        for (operation, place), seeds in self.found.items():
            shown = " ".join(map(str, seeds[:SHOWN_SEEDS])) + (" …" if len(seeds) > SHOWN_SEEDS else "")
            self.say(f"{self.label}: {operation} differs in {place}: {len(seeds)} seeds: {shown}")
        for name, count in sorted(self.passed_over.items()):
            self.say(f"{self.label}: accepted: {name}: in {count} programs")
