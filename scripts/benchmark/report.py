"""Results, their medians, and how they are printed."""

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .row import Row


class Sample:
    """One measured run: a value in the row's unit, or why there is none."""

    def __init__(self, value: float | None = None, problem: str | None = None, **details: Any) -> None:
        self.value, self.problem, self.details = value, problem, details

    def json(self) -> dict[str, Any]:
        return {"value": self.value, "problem": self.problem, **self.details}


class Aim:
    """What Dewpoint is to reach in a row.

    `against`: None for an absolute figure, the label of a system, or `peer` for the best of them. `kind`: `share` is
    the value divided by the other's, `times` how many times as fast, `more` how much more than the other's.
    """

    def __init__(self, label: str, sign: str, number: float, against: str | None = None, kind: str = "share") -> None:
        self.label, self.sign, self.number, self.against, self.kind = label, sign, number, against, kind

    def text(self, unit: str) -> str:
        words = {"≥": "at least", "≤": "at most"}[self.sign]
        if self.against is None:
            return f"{words} {show(self.number, unit)}"
        other = "the best peer" if self.against == "peer" else self.against
        if self.kind == "more":
            return f"{words} {show(self.number, unit)} more than {other}"
        return f"{words} {self.number:g} {'of' if self.kind == 'share' else 'times'} {other}"

    def holds(self, value: float) -> bool:
        return value >= self.number if self.sign == "≥" else value <= self.number


def show(value: float | None, unit: str) -> str:
    """A figure with three digits."""
    if value is None:
        return "-"
    if unit == "s":
        if value == 0:
            return "0 s"
        if value < 0.001:
            return f"{value * 1e6:.0f} µs"
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    if unit == "B":
        for name, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
            if value >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.0f} B"
    if unit == "B/s":
        return f"{value / 2**30:.3g} GiB/s" if value >= 2**30 else f"{value / 2**20:.3g} MiB/s"
    return f"{value:,.0f}{unit}"


class Result:
    """All samples of a row, by system and round."""

    def __init__(self, row: "Row") -> None:
        self.row = row
        self.samples: dict[str, dict[int, Sample]] = {}

    def add(self, label: str, number: int, sample: Sample) -> None:
        self.samples.setdefault(label, {})[number] = sample

    def median(self, label: str) -> float | None:
        values = [one.value for one in self.samples.get(label, {}).values() if one.value is not None]
        return statistics.median(values) if values else None

    def problem(self, label: str) -> str | None:
        return next((one.problem for one in self.samples.get(label, {}).values() if one.problem), None)

    def best_peer(self) -> str | None:
        peers = [label for label in self.samples if self.row.is_peer(label)]
        return self.best_of(peers)

    def best_of(self, labels: Sequence[str]) -> str | None:
        medians = {label: median for label in labels if (median := self.median(label)) is not None}
        best = max if self.row.more_is_better else min
        return best(medians, key=lambda label: medians[label]) if medians else None

    def pairs(self, label: str, other: str) -> list[tuple[float, float]]:
        """The values of runs that were made side by side."""
        others = self.samples.get(other, {})
        pairs = [
            (sample.value, others[number].value)
            for number, sample in self.samples.get(label, {}).items()
            if number in others
        ]
        return [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs]

    def ratio(self, label: str, other: str) -> float | None:
        """The median of their ratios."""
        ratios = [ours / theirs for ours, theirs in self.pairs(label, other)]
        return statistics.median(ratios) if ratios else None

    def difference(self, label: str, other: str) -> float | None:
        """The median of their differences."""
        differences = [ours - theirs for ours, theirs in self.pairs(label, other)]
        return statistics.median(differences) if differences else None

    def judge(self, aim: Aim) -> tuple[bool | None, str]:
        """How far an aim is met: (holds, figure as text); (None, why) when it cannot be said."""
        note = f" ({self.row.scale_note})" if self.row.scale_note else ""
        if aim.against is None:
            value = self.median(aim.label)
            if value is None:
                return None, self.problem(aim.label) or "not measured"
            return aim.holds(value), show(value, self.row.unit) + note
        if aim.against == "peer":
            other = self.best_peer()
        elif aim.against == "raw GETs":
            other = self.best_of([label for label in self.samples if label.startswith("raw GETs")])
        else:
            other = aim.against
        if aim.kind == "more" and other and (more := self.difference(aim.label, other)) is not None:
            sign = "less" if more < 0 else "more"
            return aim.holds(more), f"{show(abs(more), self.row.unit)} {sign} than {other}{note}"
        value = self.ratio(aim.label, other) if other else None
        if value is None:
            return None, "nothing to compare with" + note
        if aim.kind == "times" and not self.row.more_is_better:
            value = 1 / value
        return aim.holds(value), f"{value:.3g} {'of' if aim.kind == 'share' else 'times'} {other}{note}"

    def lines(self) -> Iterator[str]:
        row = self.row
        yield ""
        yield f"{row.key}: {row.title}"
        yield f"  {row.state}"
        yield f"  {'':<20}{'median':>12}{'of native':>11}{'lowest to highest':>26}{'daemon CPU':>12}  requests, notes"
        for label, samples in self.samples.items():
            values = [one.value for one in samples.values() if one.value is not None]
            median = self.median(label)
            native = self.ratio(label, "native") if label != "native" else None
            spread = f"{show(min(values), row.unit)} to {show(max(values), row.unit)}" if len(values) > 1 else ""
            last = next((one for one in reversed(samples.values()) if one.value is not None), None)
            details = last.details if last else {}
            cpu = show(details["cpuSeconds"], "s") if "cpuSeconds" in details else ""
            notes = []
            if requests := details.get("requests"):
                notes.append(" ".join(f"{count} {method}" for method, count in sorted(requests.items())))
            notes += details.get("notes", [])
            if problem := self.problem(label):
                notes.append(problem)
            shown = show(median, row.unit) if median is not None else "failed"
            problem = self.problem(label) or ""
            if median is None and problem.startswith(">"):
                shown = problem.partition(";")[0]
                notes = [note.partition("; ")[2] if note.startswith(">") else note for note in notes]
            share = f"{native:.3g}" if native is not None else ""
            yield f"  {label:<20}{shown:>12}{share:>11}{spread:>26}{cpu:>12}  {'; '.join(filter(None, notes))}".rstrip()
        for aim in row.aims:
            holds, figure = self.judge(aim)
            verdict = {True: "met", False: "MISSED", None: "?"}[holds]
            yield f"  aim, {aim.label}: {aim.text(row.unit)}: {verdict}, {figure}"

    def json(self) -> dict[str, Any]:
        return {
            "row": self.row.key,
            "title": self.row.title,
            "state": self.row.state,
            "unit": self.row.unit,
            "medians": {label: self.median(label) for label in self.samples},
            "samples": {
                label: [{"round": number, **one.json()} for number, one in samples.items()]
                for label, samples in self.samples.items()
            },
            "aims": [
                {"system": aim.label, "aim": aim.text(self.row.unit), "met": holds, "figure": figure}
                for aim in self.row.aims
                for holds, figure in [self.judge(aim)]
            ],
        }


def summary(results: Sequence[Result]) -> Iterator[str]:
    """One line for each aim."""
    yield ""
    yield f"{'row':<20}{'system':<20}{'aim':<36}{'':<8}figure"
    for result in results:
        for aim in result.row.aims:
            holds, figure = result.judge(aim)
            verdict = {True: "met", False: "MISSED", None: "?"}[holds]
            yield f"{result.row.key:<20}{aim.label:<20}{aim.text(result.row.unit):<36}{verdict:<8}{figure}"
