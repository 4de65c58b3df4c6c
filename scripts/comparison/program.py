"""Programs: lists of steps, each one operation of one process, in a text form that can be run again."""

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

# The processes of a program. The last one belongs to another user where the run is root's.
PROCESSES = "ABCD"
# Steps that no process makes: the controller (evict, sync, crash …), and the second device.
CONTROLLER, ELSEWHERE = "dewpoint", "elsewhere"


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation. `who` is a letter of PROCESSES, CONTROLLER or ELSEWHERE; the arguments are literals."""

    who: str
    name: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.who}.{self.name}({', '.join(map(repr, self.arguments))})"


class Malformed(Exception):
    """A text is not a program; the message names the line."""


def write(steps: Sequence[Step]) -> str:
    return "".join(f"{step}\n" for step in steps)


def read(text: str) -> list[Step]:
    """Parses what `write` returns. Empty lines and comments are skipped, so that a printed report can be given back."""
    steps = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("  #")[0].strip()
        if not line or line.startswith("#"):
            continue
        try:
            call = ast.parse(line, mode="eval").body
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                raise ValueError("no call of a method")
            if not isinstance(call.func.value, ast.Name):
                raise ValueError("no process")
            arguments = tuple(ast.literal_eval(argument) for argument in call.args)
            steps.append(Step(call.func.value.id, call.func.attr, arguments))
        except (SyntaxError, ValueError) as problem:
            raise Malformed(f"line {number} is not a step: {line}") from problem
    return steps
