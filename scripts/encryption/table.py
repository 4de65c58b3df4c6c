"""What a run prints and keeps."""

from collections.abc import Iterator, Sequence
from typing import Any

from . import leaks
from .dewpoint import Dewpoint
from .judge import MEANINGS, Outcome
from .plain import EXPECTED, Plain
from .rows import NEW, ROWS
from .trial import Cell, Trial

# What the page Encryption says that Dewpoint cannot prevent: the worst that may come. A device that has seen nothing
# yet cannot tell an older state, or none, from the newest.
ALLOWED = {("9", NEW): Outcome.SERVED, ("12-13", NEW): Outcome.MISSING}
# How what is measured of Dewpoint begins.
FINDINGS = {"17": "refused", "19": "its length, to 16 KiB", "21": "nothing"}


def titles() -> dict[str, str]:
    return {row.key: row.title for row in ROWS} | {one.key: one.title for one in leaks.MEASURES}


def present(trials: Sequence[Trial]) -> list[str]:
    return [key for key in titles() if any(key in trial.cells for trial in trials)]


def notes(trials: Sequence[Trial]) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for trial in trials:
        for key, cell in trial.cells.items():
            if cell.reason is not None:
                reasons.setdefault(f"{trial.kind.label}: {cell.reason}", []).append(key)
    for reason, keys in reasons.items():
        yield f"n/a, {', '.join(keys)}, {reason}"
    for trial in trials:
        if trial.problem:
            yield f"could not be run: {trial.kind.label}: {trial.problem}"


def plain(trials: Sequence[Trial], verbose: bool) -> Iterator[str]:
    width = max(len(title) for title in titles().values())
    for key in present(trials):
        yield titles()[key]
        for trial in trials:
            cell = trial.cells.get(key, Cell(reason="not run"))
            yield f"  {trial.kind.label:<14}{cell.text()}"
            for what, device, verdict in cell.cases:
                if verbose or verdict.outcome < Outcome.REFUSED:
                    yield f"{'':<18}{verdict.outcome.word}: {what}, {device}: {verdict.detail}"[: width + 150]
    yield from notes(trials)
    for outcome, meaning in MEANINGS.items():
        yield f"{outcome.word}: {meaning}"
    for trial in trials:
        if trial.byte_counts:
            yield f"{trial.kind.label}: {trial.byte_counts['files']} bytes of files in {trial.byte_counts['store']} bytes"


def markdown(trials: Sequence[Trial]) -> Iterator[str]:
    labels = [trial.kind.label for trial in trials]
    yield "| the store | " + " | ".join(labels) + " |"
    yield "|---" * (len(labels) + 1) + "|"
    for key in present(trials):
        cells = [trial.cells.get(key, Cell(reason="not run")).text() for trial in trials]
        yield f"| {titles()[key]} | " + " | ".join(cells) + " |"
    yield ""
    for note in notes(trials):
        yield f"- {note}"


def unexpected(trial: Trial) -> Iterator[str]:
    """What Dewpoint did that the page Encryption says it never does, or what an attack on a plain directory did not."""
    for key, cell in trial.cells.items():
        if trial.kind is Plain:
            if cell.text() != EXPECTED[key]:
                yield f"not as expected: {key}: {cell.text()}, not {EXPECTED[key]}"
            for what, _, verdict in cell.cases:
                if verdict.outcome > Outcome.MISSING:
                    yield f"not as expected: {key}: {what}: {verdict.outcome.word}: {verdict.detail}"
        elif trial.kind is Dewpoint:
            for device, verdict in cell.verdicts.items():
                if verdict.outcome < ALLOWED.get((key, device), Outcome.UNNAMED):
                    yield f"not as the page Encryption says: {key}, {device}: {verdict.detail}"
            if cell.found and not cell.found.startswith(FINDINGS.get(key, "")):
                yield f"not as the page Encryption says: {key}: {cell.found}"


def document(trial: Trial) -> dict[str, Any]:
    return {
        "version": trial.version,
        "seconds": round(trial.seconds, 1),
        "problem": trial.problem,
        "byteCounts": trial.byte_counts,
        "rows": {
            key: {
                "outcome": cell.text(),
                "reason": cell.reason,
                "cases": [
                    {"what": what, "device": device, "outcome": verdict.outcome.word, "detail": verdict.detail}
                    for what, device, verdict in cell.cases
                ],
            }
            for key, cell in trial.cells.items()
        },
    }
