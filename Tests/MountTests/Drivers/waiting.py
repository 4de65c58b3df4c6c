"""Waiting for what comes in its own time."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def eventually(
    condition: Callable[[], T], why: Any = "the condition did not become true in time", limit: float = 30
) -> T:
    """Returns what the condition gives once that is true. `why`: what an error says, or what gives it."""
    end = time.monotonic() + limit
    while not (value := condition()):
        assert time.monotonic() < end, why() if callable(why) else why
        time.sleep(0.02)
    return value
