"""Makes a program of a seed. It needs no mount: what it guesses of names and open files only makes most steps worth
their while."""

import random
import string
from typing import Any

from . import choices, file_choices, further_choices, scene, words
from .program import CONTROLLER, ELSEWHERE, PROCESSES, Step

SHORTEST, LONGEST = 12, 45
# One program in so many has a step that takes long: an upload, a crash, another device.
TICK_EVERY, SYNC_EVERY, CRASH_EVERY, ELSEWHERE_EVERY, EVICT_EVERY = 3, 20, 50, 25, 8


class Generator:
    def __init__(self, seed: int, is_root: bool) -> None:
        self.random = random.Random(seed)
        self.further = random.Random(f"further {seed}")
        self.nameless = random.Random(f"nameless {seed}")
        self.is_root = is_root
        self.steps: list[Step] = []
        count = self.random.choice([2, 2, 2, 3, 4])
        # The last letter stands for another user; only root can be two.
        self.processes = PROCESSES[: count - 1] + (
            PROCESSES[-1] if is_root and self.random.random() < 0.4 else PROCESSES[count - 1]
        )
        self.files = [*scene.FILES, scene.HARD_LINK[1], *scene.LINKS]
        self.directories = [".", *scene.DIRECTORIES]
        # Where processes meet.
        self.focus = [*self.random.sample(self.files, 2), self.random.choice(words.NEW)]
        self.slots: dict[str, dict[int, str]] = {who: {} for who in self.processes}
        self.maps: dict[str, dict[int, bool]] = {who: {} for who in self.processes}
        self.letters = iter(string.ascii_letters.replace("a", "") * 4)

    def program(self) -> list[Step]:
        wanted = self.random.randint(SHORTEST, LONGEST)
        kinds, weights = zip(*choices.KINDS)
        while len(self.steps) < wanted:
            who = self.random.choice(self.processes)
            choices.find(self.random.choices(kinds, weights)[0])(self, who)
        for every, kind in (
            (SYNC_EVERY, "sync"), (EVICT_EVERY, "evict"), (CRASH_EVERY, "crash"), (ELSEWHERE_EVERY, "elsewhere")
        ):  # fmt: skip
            if self.random.randrange(every) == 0:
                self.insert(kind)
        for group in further_choices.groups(self.further, self):
            self.put(group, self.further)
        for group in further_choices.nameless(self.nameless, self):
            self.put(group, self.nameless)
        self.add(self.processes[0], "tree")
        if self.random.randrange(TICK_EVERY) == 0:
            self.steps.insert(0, Step(CONTROLLER, "tick", ()))
        return self.steps

    def put(self, group: list[Step], chance: random.Random) -> None:
        at = chance.randrange(len(self.steps) + 1)
        # Not between two steps that run at the same time.
        while (at > 0 and self.steps[at - 1].name == "together") or (at > 1 and self.steps[at - 2].name == "together"):
            at -= 1
        self.steps[at:at] = group

    def insert(self, kind: str) -> None:
        """Puts a step of the controller somewhere; what follows it was made without regard to it."""
        at = self.random.randrange(len(self.steps) // 3, len(self.steps) + 1)
        path, letter = self.file(), self.letter()
        added = {
            "sync": [Step(CONTROLLER, "sync", ())],
            "evict": [Step(CONTROLLER, "sync", ()), Step(CONTROLLER, "evict", (self.random.choice([path, ".", "d"]),))],
            "crash": [Step(CONTROLLER, "crash", ())],
            "elsewhere": [self.random.choice([
                Step(ELSEWHERE, "edit", (path, letter, self.count())),
                Step(ELSEWHERE, "make", (self.random.choice(words.NEW), letter, self.count())),
                Step(ELSEWHERE, "rename", (self.random.choice(["d", "w", path]), self.random.choice(["n", "d/n", "w/n"]))),
                Step(ELSEWHERE, "unlink", (path,)),
                Step(ELSEWHERE, "chmod", (path, self.random.choice(words.MODES))),
            ])],
        }[kind]  # fmt: skip
        if self.random.random() < 0.7:
            added.append(Step(self.processes[0], "tree", ()))
        self.steps[at:at] = added

    # What the choices are made of

    def add(self, who: str, name: str, *arguments: Any) -> None:
        self.steps.append(Step(who, name, arguments))

    def look(self, who: str, path: str) -> None:
        """Half of all changes are looked at; to look has effects of its own."""
        if self.random.random() < 0.5:
            self.add(self.random.choice(self.processes), self.random.choice(["stat", "lstat", "stat"]), path)

    def file(self) -> str:
        return self.random.choice(self.focus if self.random.random() < 0.7 else self.files)

    def directory(self) -> str:
        return self.random.choice(self.directories)

    def name(self) -> str:
        """A path that may or may not be there."""
        if self.random.random() < 0.6:
            return self.file()
        return self.random.choice(words.NEW + self.directories)

    def letter(self) -> str:
        return next(self.letters)

    def offset(self) -> int:
        return self.random.choice(words.OFFSETS) if self.random.random() < 0.8 else self.random.randrange(90_000)

    def count(self) -> int:
        return self.random.choice(words.COUNTS) if self.random.random() < 0.8 else self.random.randrange(1, 20_000)

    def slot(self, who: str, opening: str = "any") -> int:
        """An open slot of a process; it opens one where there is none."""
        fitting = [slot for slot, opened in self.slots[who].items() if opening == "any" or opened != "directory"]
        if not fitting or self.random.random() < 0.05:
            file_choices.open(self, who)
            fitting = list(self.slots[who])
        return self.random.choice(fitting)

    def is_direct(self, who: str, slot: int) -> bool:
        return "O_DIRECT" in self.slots[who].get(slot, "")

    def place(self, who: str, slot: int) -> tuple[int, int]:
        """Offset and count for a slot: of whole blocks where it bypasses the cache."""
        if self.is_direct(who, slot):
            return self.random.choice([0, 4096, 65536, 69632]), self.random.choice([4096, 8192, 65536])
        return self.offset(), self.count()
