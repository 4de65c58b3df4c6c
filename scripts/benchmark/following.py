"""How soon another mount sees a change."""

import contextlib
import os
from collections.abc import Sequence

from .data import DIRECTORY_METADATA
from .machine import TooSlow, work
from .report import Aim, Sample
from .row import Row
from .store import Store
from .systems import PEER_BUCKET, Dewpoint, System


class See(Row):
    unit = "s"
    most_rounds = 1
    in_directory = False

    def systems(self, systems: Sequence[System]) -> list[System]:
        families = ("dewpoint", "rclone") if self.in_directory else ("dewpoint", "rclone", "s3fs")
        return [one for one in super().systems(systems) if one.family in families]

    def prepare(self) -> None:
        place = "a directory" if self.in_directory else "S3"
        self.title = f"writing a file on one mount, until another mount gives the same bytes; the store is {place}"
        self.state = (
            "The other mount is asked every millisecond. The slower of the medians for new and for changed files; "
            "peers that are tuned cache for 1 s here."
        )

    def sample(self, system: System) -> Sample:
        self.bench.count += 1
        source, directory = f"see-{self.bench.count}", None
        if self.in_directory:
            directory = os.path.join(self.bench.work, source)
            os.makedirs(directory)
        elif system.is_peer:
            Store(self.bench.environment).put(PEER_BUCKET, f"{source}/", b"", DIRECTORY_METADATA)
        if isinstance(system, Dewpoint):
            system.create(source, directory)
        limit, rounds = self.scale.see_limit, self.scale.sights
        with contextlib.ExitStack() as stack:
            ours, theirs = (
                stack.enter_context(system.mount(source, following=True, directory=directory)) for _ in range(2)
            )
            result, details = self.observe(
                theirs,
                lambda: work(
                    "see", rounds * 2 * (limit + 5), writer=ours.point, reader=theirs.point, rounds=rounds, limit=limit
                ),
            )
        medians = {}
        for kind in ("created", "changed"):
            times = sorted(float("inf") if one is None else one for one in result[kind])
            medians[kind] = times[len(times) // 2] if times else float("inf")
        details["times"] = result
        words = [f"{kind} {self.words(seconds, limit)}" for kind, seconds in medians.items()]
        slowest = max(medians.values())
        if slowest == float("inf"):
            return Sample(problem=f"{TooSlow(limit)}; {', '.join(words)}", **details)
        return Sample(slowest, notes=words, **details)

    @staticmethod
    def words(seconds: float, limit: float) -> str:
        return f"> {limit:g} s" if seconds == float("inf") else f"{seconds * 1000:.0f} ms"


class SeeS3(See):
    key = "see-s3"
    aims = (Aim("dewpoint", "≤", 1.5),)


class SeeDirectory(See):
    key = "see-directory"
    in_directory = True
    needs_server = False
    aims = (Aim("dewpoint", "≤", 0.1),)
