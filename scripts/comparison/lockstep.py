"""Runs one program on both sides, a step at a time, and stops at the first difference that is not accepted."""

import dataclasses
import os
import stat
from collections.abc import Sequence
from typing import Any

from . import accepted
from .accepted import Case
from .judge import await_tick, differences
from .mount import Failure
from .process import Hang
from .program import CONTROLLER, ELSEWHERE, Step
from .stage import Stage
from .turns import Turns

NOT_ISSUED = "not issued: it would wait for a turn"
TREE = "tree"


@dataclasses.dataclass
class Outcome:
    """What a run showed: the steps up to its end with a remark each, and the difference, if there was one."""

    trace: list[tuple[Step, str]] = dataclasses.field(default_factory=list)
    difference: str | None = None
    # What kind of difference it is, to know it again: the operation, and where in the result.
    signature: tuple[str, str] | None = None
    passed_over: set[str] = dataclasses.field(default_factory=set)
    is_broken: bool = False


class Lockstep:
    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.name = stage, name
        self.reference, self.ours = stage.sides(name)
        self.turns = Turns(self.reference.root, self.inode_at)
        self.outcome = Outcome()
        # Before the first one: nobody's.
        self.step, self.has_parted = Step(CONTROLLER, "tick", ()), False
        self.has_stored, self.has_allocated, self.has_modes_from_elsewhere = False, False, False
        self.has_placeholders = stage.placeholders
        # `together()` was the last step; and the step that runs since, with its result beside the mount.
        self.is_held_next = False
        self.held: tuple[Step, list[Any]] | None = None

    def run(self, program: Sequence[Step]) -> Outcome:
        outcome = self.outcome
        try:
            for self.step in program:
                found, remark = self.perform(self.step)
                outcome.trace.append((self.step, remark))
                if found:
                    self.tell(found)
                if found or self.has_parted:
                    break
        except (Hang, Failure) as problem:
            outcome.trace.append((self.step, "fails"))
            self.fail(type(problem).__name__.lower(), str(problem))
        if outcome.is_broken:
            self.stage.recover()
        left = self.reference.end() + self.ours.end()
        if left and not outcome.is_broken:
            self.fail("hang at the end", "\n    ".join(left))
            self.stage.recover()
        return outcome

    def inode_at(self, who: str, slot: int, name: str) -> tuple[int, int] | None:
        result = self.reference.call(Step(who, "inode_at", (slot, name)))
        return tuple(result[1]) if result[0] == "ok" else None

    def tell(self, found: list[Case]) -> None:
        lines = [
            f"{' › '.join(map(str, case.path)) or 'result'}: ext4 {case.reference!r}, Dewpoint {case.ours!r}"
            for case in found
        ]
        self.outcome.difference = "\n    ".join(lines)
        self.outcome.signature = (self.step.name, str(found[0].field if self.step.name == TREE else found[0].path))

    def fail(self, kind: str, text: str) -> None:
        if self.outcome.difference is None:
            self.outcome.difference, self.outcome.signature = text, (self.step.name, kind)
        self.outcome.is_broken = True

    def perform(self, step: Step) -> tuple[list[Case], str]:
        """Makes a step. Returns the differences that are not accepted, and a remark."""
        if step.who in (CONTROLLER, ELSEWHERE) and self.held:
            found = self.settle()
            if found:
                return found, NOT_ISSUED
        if step.who == CONTROLLER:
            return [], getattr(self, step.name)(*step.arguments)
        if step.who == ELSEWHERE:
            return self.elsewhere(step)
        if self.turns.would_wait(step):
            return self.settle(), NOT_ISSUED
        if self.ours.clock.ticks:
            await_tick()
        if self.is_held_next:
            return self.hold(step)
        self.reference.start(step)
        found = self.settle() if self.held and self.held[0].who == step.who else []
        self.ours.start(step)
        found += self.settle()
        more, remark = self.judge(step, self.reference.result(step), self.ours.result(step))
        return found + more, remark

    def hold(self, step: Step) -> tuple[list[Case], str]:
        """Starts a step on the mount and does not wait: the next one runs at the same time."""
        self.is_held_next = False
        result = self.reference.call(step)
        if result[0] != "ok":
            # The next one may make what this one misses: which of them comes first would show in both.
            return self.judge(step, result, self.ours.call(step))
        self.held = step, result
        self.turns.note(step)
        self.ours.start(step)
        return [], "at the same time as the next"

    def settle(self) -> list[Case]:
        """The differences of the step that is held."""
        if self.held is None:
            return []
        (step, reference), self.held = self.held, None
        return self.judge(step, reference, self.ours.result(step))[0]

    def judge(self, step: Step, reference: list[Any], ours: list[Any]) -> tuple[list[Case], str]:
        if reference[0] == "ok" and ours[0] == "ok":
            self.turns.note(step)
        else:
            self.turns.attempted(step)
        self.has_stored = self.has_stored or step.name == "store"
        self.has_allocated = self.has_allocated or step.name == "fallocate"
        self.has_modes_from_elsewhere = self.has_modes_from_elsewhere or (
            step.who == ELSEWHERE and step.name == "chmod"
        )
        found = []
        bypasses = self.turns.bypasses_cache(step)
        may_bypass = self.has_placeholders or self.turns.is_later_writer(step)
        for path, one, other in differences(reference, ours):
            case = Case(
                step,
                path,
                one,
                other,
                bypasses,
                may_bypass,
                self.ours.clock.ticks,
                self.has_stored,
                self.has_allocated,
                self.has_modes_from_elsewhere,
            )
            meant = accepted.find(case)
            if case.field in self.stage.ignored:
                continue
            if meant:
                self.outcome.passed_over.add(meant.name)
                self.has_parted = self.has_parted or meant.ends
            else:
                found.append(case)
        short = ours[0] if len(ours) == 1 else "ok" if isinstance(ours[1], (dict, type(None))) else repr(ours[1])
        return found, short[:120]

    # Steps of the controller

    def together(self) -> None:
        """The next two steps, of two processes, run at the same time. They must be such as do not touch each other's
        results."""
        self.is_held_next = True

    def tick(self) -> None:
        self.reference.clock.ticks = self.ours.clock.ticks = True

    def kill(self, who: str) -> None:
        """A process dies with all that it has open; the next step of its name is a new one's."""
        left = self.reference.end(who) + self.ours.end(who)
        self.turns.ended(who)
        if left:
            raise Hang("\n    ".join(left))

    def crash(self) -> None:
        """Everything is closed, then the daemon is killed; what was closed must be there after."""
        left = self.reference.end() + self.ours.end()
        for who in {who for who, _, _ in self.turns.references}:
            self.turns.ended(who)
        if left:
            raise Hang("\n    ".join(left))
        self.stage.crash()

    def sync(self) -> None:
        self.stage.sync()

    def evict(self, path: str) -> str:
        self.has_placeholders = True
        return self.stage.evict(f"{self.name}/{path}")

    def download(self, path: str) -> str:
        return self.stage.download(f"{self.name}/{path}")

    def drop(self) -> None:
        self.stage.drop()

    # Steps of the second device

    def elsewhere(self, step: Step) -> tuple[list[Case], str]:
        refusal = self.unfit(step)
        if refusal:
            return [], f"not issued: {refusal}"
        other = self.stage.second()
        if other:
            self.ours.elsewhere_root = f"{other.point}/{self.name}"
        self.stage.meet()
        self.has_placeholders = True
        ours = self.ours.call(step)
        self.stage.meet_back(f"{self.name}/{step.arguments[0]}" if step.name == "edit" and ours[0] == "ok" else None)
        reference = self.reference.call(step)
        for side in (self.reference, self.ours):
            side.clock.meet()
        return self.judge(step, reference, ours)

    def unfit(self, step: Step) -> str | None:
        """Why a step of another device is none that compares: two edits that meet are a conflict, and some items never
        travel."""
        path = step.arguments[0]
        try:
            kind = stat.S_IFMT(os.lstat(f"{self.reference.root}/{path}").st_mode)
        except OSError:
            return None if step.name == "make" else "there is no such item"
        if step.name == "make":
            return None
        if kind != stat.S_IFREG and not (step.name == "rename" and kind == stat.S_IFDIR):
            return "it is for files"
        if self.turns.is_written(path) or (step.name == "rename" and self.turns.is_written(step.arguments[1])):
            return "it is open for writing here"
        return None
