"""Finds a shorter program that shows the same difference."""

import time
from collections.abc import Callable

from .program import Step

# A difference that depends on a race is tried so often before a step counts as needed.
TRIES = 3


def shrink(program: list[Step], shows: Callable[[list[Step]], bool], seconds: float) -> list[Step]:
    """Removes steps, halves first, as long as `shows(program)` holds. Ends after `seconds`, with what it has."""
    limit = time.monotonic() + seconds
    size = len(program) // 2
    while size >= 1:
        start = 0
        while start < len(program):
            shorter = program[:start] + program[start + size :]
            for _ in range(TRIES):
                if time.monotonic() > limit:
                    return program
                if shorter and shows(shorter):
                    program = shorter
                    break
            else:
                start += size
        size //= 2
    return program
