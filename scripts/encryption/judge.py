"""The outcomes, and which of them a reading is."""

import dataclasses
import enum
from collections.abc import Collection, Iterable, Mapping

from .tree import Tree


class Outcome(enum.IntEnum):
    """What happened, the worst first."""

    SERVED = 0
    MISSING = 1
    UNNAMED = 2
    REFUSED = 3
    UNHARMED = 4

    @property
    def word(self) -> str:
        return WORDS[self]


WORDS = {
    Outcome.SERVED: "served",
    Outcome.MISSING: "missing",
    Outcome.UNNAMED: "refused, unnamed",
    Outcome.REFUSED: "refused",
    Outcome.UNHARMED: "unharmed",
}
MEANINGS = {
    Outcome.SERVED: "wrong bytes, or an older state, are taken for the right ones",
    Outcome.MISSING: "files are missing, and nothing says so",
    Outcome.UNNAMED: "an error, which names neither a file nor an object",
    Outcome.REFUSED: "an error names the file or the object",
    Outcome.UNHARMED: "every file is as it was written",
}


@dataclasses.dataclass
class Reading:
    """What a system gives out when everything is read.

    `errors` are those of single files. `failure` is what a command said that failed: the whole reading, or, where files
    came out all the same, that something is wrong. `words` is all that the system has printed and logged.
    """

    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    failure: str | None = None
    words: str = ""


@dataclasses.dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    detail: str


def judge(
    reading: Reading,
    current: Tree,
    older: Tree,
    names: Collection[str],
    usual: str = "",
    known_as: Mapping[str, Collection[str]] | None = None,
) -> Verdict:
    """Judges what was read.

    - current: the files as they are; older: as they were once.
    - names: how messages may name the objects that were changed.
    - usual: what the system prints when nothing is wrong.
    - known_as: how messages may name files besides, by path: by their objects.
    """
    known = set(usual.split("\n"))
    said = "\n".join(line for line in reading.words.split("\n") if line not in known)
    missing = sorted(path for path in current if path not in reading.files and path not in reading.errors)
    wrong = sorted(path for path, data in reading.files.items() if current.get(path) != data)
    if wrong and (reading.failure is None or any(reading.files[path] != older.get(path) for path in wrong)):
        kind = "the older" if all(reading.files[path] == older.get(path) for path in wrong) else "wrong"
        return Verdict(Outcome.SERVED, f"{kind} bytes of {some(wrong)}")
    if reading.errors:
        return Verdict(Outcome.REFUSED, f"{some(reading.errors)}: {next(iter(reading.errors.values()))}")
    affected = [path.rpartition("/")[2] for path in missing or wrong]
    affected += [name for path in missing for name in (known_as or {}).get(path, ())]
    is_named = any(name in text for text in (said, reading.failure or "") for name in [*names, *affected] if name)
    if reading.failure is not None:
        return Verdict(Outcome.REFUSED if is_named else Outcome.UNNAMED, reading.failure)
    if missing:
        outcome = Outcome.REFUSED if is_named else Outcome.MISSING
        return Verdict(outcome, f"{some(missing)} missing" + (", and a message says so" if is_named else ""))
    return Verdict(Outcome.UNHARMED, "everything is right")


def some(paths: Collection[str] | Mapping[str, object]) -> str:
    first = next(iter(paths))
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    return min(verdicts, key=lambda one: one.outcome)
