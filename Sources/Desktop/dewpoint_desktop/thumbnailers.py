"""The thumbnailers of the desktop: programs that say in `*.thumbnailer` files of what they make a PNG, and how.

[Thumbnailer Entry]
TryExec=/usr/bin/gdk-pixbuf-thumbnailer
Exec=/usr/bin/gdk-pixbuf-thumbnailer -s %s %u %o
MimeType=image/png;image/jpeg;
"""

import configparser
import dataclasses
import logging
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping

# Files that are looked through, and the longest one.
ENTRIES = 200
ENTRY_BYTES = 64 << 10
# Of one type: the second is for what the first cannot do.
TRIED = 2
_SECTION = "Thumbnailer Entry"

log = logging.getLogger("dewpoint")


@dataclasses.dataclass(frozen=True)
class Thumbnailer:
    words: tuple[str, ...]
    """Its command line, with `%i`, `%u`, `%o`, `%s` and `%%` in it."""

    def command(self, source: str, result: str, pixels: int) -> list[str]:
        """Its command line for a file. Paths without anything that a URI would write otherwise."""
        values = {"%i": source, "%u": f"file://{source}", "%o": result, "%s": str(pixels), "%%": "%"}
        return [_filled(word, values) for word in self.words]


def _filled(word: str, values: Mapping[str, str]) -> str:
    filled, position = [], 0
    while position < len(word):
        pair = word[position : position + 2]
        filled.append(values.get(pair, word[position]))
        position += 2 if pair in values else 1
    return "".join(filled)


class Thumbnailers:
    """By MIME type; read once."""

    def __init__(self, directories: list[str] | None = None) -> None:
        self._by_type: dict[str, list[Thumbnailer]] = {}
        for path in _entries(_directories() if directories is None else directories):
            try:
                self._read(path)
            except (OSError, ValueError, configparser.Error) as error:
                log.info("%s: %s", path, error)

    def of(self, kind: str) -> list[Thumbnailer]:
        """Those of a MIME type, the ones to try first."""
        return self._by_type.get(kind, [])[:TRIED]

    def _read(self, path: str) -> None:
        with open(path, "rb") as file:
            # Translated names may be in any encoding; they are not looked at.
            text = file.read(ENTRY_BYTES).decode("utf-8", "surrogateescape")
        entry = configparser.RawConfigParser(strict=False, delimiters="=", comment_prefixes="#", default_section="")
        entry.read_string(text)
        if not entry.has_section(_SECTION):
            return
        words = shlex.split(entry.get(_SECTION, "Exec", fallback=""))
        needed = entry.get(_SECTION, "TryExec", fallback="") or (words[0] if words else "")
        if not words or not _is_there(needed) or not _is_there(words[0]):
            return
        for kind in entry.get(_SECTION, "MimeType", fallback="").split(";"):
            if kind:
                self._by_type.setdefault(kind, []).append(Thumbnailer(tuple(words)))


def _is_there(program: str) -> bool:
    """Whether a program is installed where the sandbox has it."""
    found = shutil.which(program)
    return found is not None and os.path.realpath(found).startswith(("/usr/", "/bin/"))


def _directories(environment: Mapping[str, str] = os.environ) -> list[str]:
    home = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    places = environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return [f"{place}/thumbnailers" for place in [home, *places.split(":")] if place.startswith("/")]


def _entries(directories: list[str]) -> Iterator[str]:
    """An earlier directory's file replaces a later one's of the same name."""
    seen: set[str] = set()
    for directory in directories:
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            if name.endswith(".thumbnailer") and name not in seen and len(seen) < ENTRIES:
                seen.add(name)
                yield f"{directory}/{name}"
