"""One system as its store's victim: fills containers, lets the rows happen, and keeps what came of them."""

import dataclasses
import os
import time
from collections.abc import Callable, Iterator

from benchmark.machine import Failure

from . import leaks, rows, store, tree
from .judge import Outcome, Verdict, judge, worst
from .rows import KNOWING, NEW, Case, Row, Scene
from .system import STRANGE_PASSPHRASE, NotApplicable, Programs, System


@dataclasses.dataclass
class Cell:
    """What came of a row: for each kind of device the worst verdict; or why there is none."""

    verdicts: dict[str, Verdict] = dataclasses.field(default_factory=dict)
    cases: list[tuple[str, str, Verdict]] = dataclasses.field(default_factory=list)
    reason: str | None = None
    # What a row that measures has found.
    found: str | None = None

    def text(self) -> str:
        if self.reason is not None:
            return "n/a"
        if self.found is not None:
            return self.found
        words = {device: verdict.outcome.word for device, verdict in self.verdicts.items()}
        if len(set(words.values())) == 1:
            return next(iter(words.values()))
        return "; ".join(f"{device}: {word}" for device, word in words.items())


class Trial:
    """Runs rows on one kind of system."""

    def __init__(
        self, kind: type[System], work: str, programs: Programs, seed: str, say: Callable[[str], None]
    ) -> None:
        self.kind, self.work, self.programs, self.seed, self.say = kind, work, programs, seed, say
        self.cells: dict[str, Cell] = {}
        self.byte_counts: dict[str, int] = {}
        self.problem: str | None = None
        self.version = "?"
        self.seconds = 0.0
        # Set by who no longer wants to know: the next case is not begun.
        self.is_stopped = False
        os.makedirs(work)

    def run(self, keys: list[str]) -> None:
        """Runs the rows with these keys."""
        start = time.monotonic()
        try:
            if reason := self.kind.missing(self.programs):
                raise Failure(reason)
            self.version = self.made("version").version()
            chosen = [row for row in rows.ROWS if row.key in keys]
            if chosen:
                scene = self.scene()
                for row in chosen:
                    self.cells[row.key] = self.row(scene, row)
                    self.say(f"{self.kind.label}: {row.key}: {self.cells[row.key].text()}")
            for measure in leaks.MEASURES:
                if measure.key in keys:
                    self.cells[measure.key] = self.measure(measure)
                    self.say(f"{self.kind.label}: {measure.key}: {self.cells[measure.key].text()}")
        except (Failure, OSError, ValueError, KeyError) as problem:
            self.problem = f"{type(problem).__name__}: {problem}"
        self.seconds = time.monotonic() - start

    def made(self, name: str, passphrase: str | None = None, secrets: str | None = None) -> System:
        work = os.path.join(self.work, name)
        if passphrase is None:
            return self.kind(work, self.programs, secrets=secrets)
        return self.kind(work, self.programs, passphrase, secrets)

    def scene(self) -> Scene:
        older, current = tree.first(self.seed), tree.second(self.seed)
        main = self.made("main")
        main.create()
        older_objects = main.fill(older)
        witness = main.acquaint() if main.has_witnesses else None
        older_store = os.path.join(self.work, "older")
        store.replace(older_store, main.store)
        objects = older_objects | main.fill(current)
        if witness is not None:
            main.inform(witness)
        main.keep()
        pristine = os.path.join(self.work, "pristine")
        store.replace(pristine, main.store)
        kin = self.made("kin", secrets=main.secrets)
        kin.create()
        kin_objects = kin.fill(tree.second(f"{self.seed} kin"))
        stranger = self.made("stranger", STRANGE_PASSPHRASE)
        stranger.create()
        stranger.write_all(tree.second(f"{self.seed} stranger"))
        self.byte_counts = {"files": sum(map(len, current.values())), "store": store.byte_count(pristine)}
        scene = Scene(
            main, self.seed, current, older, objects, older_objects, older_store, kin.store, kin_objects, stranger.store,
            pristine, witness,
        )  # fmt: skip
        reading = main.read()
        self.usual = reading.words
        if (verdict := judge(reading, current, older, [])).outcome is not Outcome.UNHARMED:
            raise Failure(f"cannot be judged: without any attack, {verdict.detail}")
        return scene

    def row(self, scene: Scene, row: Row) -> Cell:
        cell = Cell()
        try:
            for case in row.cases(scene):
                for device in self.devices(case):
                    verdict = self.attack(scene, row, case, device)
                    cell.cases.append((case.what, device, verdict))
        except NotApplicable as reason:
            return Cell(reason=str(reason))
        except Failure as problem:
            if self.is_stopped:
                raise
            self.problem = f"{row.key}: {problem}"
            return Cell(found="could not be run")
        for device in (KNOWING, NEW):
            if verdicts := [verdict for _, one, verdict in cell.cases if one == device]:
                cell.verdicts[device] = worst(verdicts)
        return cell

    def devices(self, case: Case) -> Iterator[str]:
        for device in case.devices:
            is_asked = self.kind.always_asked or (self.kind.has_witnesses and NEW not in case.devices)
            if device == NEW or is_asked:
                yield device

    def attack(self, scene: Scene, row: Row, case: Case, device: str) -> Verdict:
        """Makes the change, has everything read, and judges."""
        if self.is_stopped:
            raise Failure("stopped")
        system = scene.system
        store.replace(system.store, scene.pristine)
        system.reset()
        witness = None
        if device == KNOWING:
            # The device that knows both states can be asked once.
            witness = scene.witness if row.key == "8" else system.acquaint()
        before = store.listing(system.store)
        case.edit(system.store)
        changed = store.difference(before, store.listing(system.store))
        if not changed:
            raise Failure(f"{row.key}: {case.what}: nothing was changed")
        names = {name for key in changed for name in system.aliases(key)}
        known_as = {
            path: {name for key in keys for name in system.aliases(key)} for path, keys in scene.objects.items()
        }
        return judge(system.read(witness), scene.current, scene.older, names, self.usual, known_as)

    def measure(self, measure: leaks.Measure) -> Cell:
        if self.is_stopped:
            raise Failure("stopped")
        try:
            return Cell(found=measure.find(self.made, self.seed))
        except NotApplicable as reason:
            return Cell(reason=str(reason))
        except Failure as problem:
            self.problem = f"{measure.key}: {problem}"
            return Cell(found="could not be run")
