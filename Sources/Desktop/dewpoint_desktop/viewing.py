"""Shows pictures that are not local: fetches the previews of a directory that is shown, and writes them as thumbnails.

Previews come from other devices, so they are decoded in a sandbox, a whole batch by one process. Runs in the helper of
a file manager; see helper.
"""

import base64
import binascii
import collections
import dataclasses
import heapq
import json
import logging
import os
import stat
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .cache import PIXEL_BYTES, SIZES, Pictures, Pixels, ThumbnailCache
from .control import Control, Fault
from .following import Items
from .previews import DECODER, DECODER_COMMAND, JPEG_SIGNATURE, PREVIEW_BYTES, kind_of
from .sandbox import MIB, Failure, Limits, Run, Sandbox
from .thumbnails import FailedThumbnails, nudge_distant

# Files that wait; beyond, those of the directory that was shown first are left.
WANTED_FILES = 20_000
# Of one request, and of one process that decodes them.
BATCH_PATHS = 256
# Of the first one in a directory: what a window shows of it at first, which is not to wait for more.
FIRST_PATHS = 64
# Batches at a time: while one is fetched, the other is decoded or written.
BATCHES = 2
# The paths in one request, as JSON: a daemon takes 64 KiB with what is around them.
BATCH_BYTES = 60 << 10
# What is fetched in a minute.
MINUTE_BYTES = 64 * MIB
MINUTE_SECONDS = 60.0
# A store that does not answer is asked again so often: after this time, and then each time after twice as long.
ATTEMPTS = 6
RETRY_SECONDS = 15.0
ANSWER_SECONDS = 60
# Thumbnails are looked for when they have been there for so long, and after that for so long: Tumbler removes those of a
# file that it could not read, also one that was written while it tried.
CHECK_SECONDS = (1.0, 3.0, 9.0)
# Batches that are looked for; beyond, it is not done.
WRITTEN_BATCHES = 2 * WANTED_FILES // BATCH_PATHS
# Previews that end the process which decodes them, in one batch; beyond, the rest has no thumbnails.
BROKEN_PREVIEWS = 8
DECODING_LIMITS = Limits(
    seconds=60, processor_seconds=20, memory_bytes=512 * MIB, file_bytes=MIB, processes=8,
    answer_bytes=BATCH_PATHS * sum(8 + PIXEL_BYTES * size * size for size in SIZES.values()),
)  # fmt: skip

log = logging.getLogger("dewpoint")


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """A file that lacks thumbnails of some sizes."""

    path: bytes
    found: os.stat_result
    sizes: list[str]


@dataclasses.dataclass(frozen=True, order=True)
class _Batch:
    """Files of a directory, and how often each was tried."""

    directory: bytes
    names: dict[str, int] = dataclasses.field(compare=False)
    checks: int = 0
    """How often they were looked for after they were written."""


class PreviewViewer:
    """`place(path)`: the control API for an item, and its path there, as States.place."""

    def __init__(
        self, place: Callable[[bytes], tuple[Control, str] | None], sandbox: Sandbox | None = None,
        cache: ThumbnailCache | None = None, failed: FailedThumbnails | None = None,
        nudge: Callable[[bytes], None] = nudge_distant,
    ) -> None:  # fmt: skip
        self._place, self._nudge = place, nudge
        self._sandbox = sandbox or Sandbox()
        self._cache, self._failed = cache or ThumbnailCache(), failed or FailedThumbnails()
        self._wake = threading.Condition()
        # By directory, by name, how often it was tried; the last directory is the first one.
        self._wanted: collections.OrderedDict[bytes, dict[str, int]] = collections.OrderedDict()
        # Directories of mounts that did not answer, and until when they wait.
        self._resting: dict[bytes, float] = {}
        # Directories of which the first files were taken.
        self._begun: set[bytes] = set()
        # What was written, and when it is looked for.
        self._written: list[tuple[float, _Batch]] = []
        self._allowance = threading.Lock()
        self._left, self._since = float(MINUTE_BYTES), time.monotonic()
        self._is_started = False

    def offer(self, directory: bytes, items: Items) -> None:
        """What is shown now of items in a directory, an absolute path of bytes."""
        names = {name: 0 for name, shown in items.items() if shown and shown.preview and kind_of(name)}
        if not names:
            return
        with self._wake:
            self._want(directory, names)
            if not self._is_started:
                self._is_started = True
                for _ in range(BATCHES):
                    threading.Thread(target=self._run, name="dewpoint-viewing", daemon=True).start()
            self._wake.notify_all()

    def _want(self, directory: bytes, names: dict[str, int]) -> None:
        self._wanted.setdefault(directory, {}).update(names)
        self._wanted.move_to_end(directory)
        count = sum(map(len, self._wanted.values()))
        while count > WANTED_FILES:
            oldest = next(iter(self._wanted.values()))
            oldest.popitem()
            count -= 1
            if not oldest:
                self._begun.discard(self._wanted.popitem(last=False)[0])

    # The threads that fetch them

    def _run(self) -> None:
        while self._sandbox.is_usable:
            batch = self._next()
            try:
                self._show(batch)
            except Fault as fault:
                log.info("previews of %s: %s", os.fsdecode(batch.directory), fault)
                if fault.code != "unsupported":
                    self._try_again(batch)
            except Exception:  # a defect of ours is not to end all previews
                log.exception("showing the previews of %s failed", os.fsdecode(batch.directory))
            else:
                self._check_later(batch)

    def _next(self) -> _Batch:
        """Some of the files in the directory that was shown last; those that are to be looked for when there are none."""
        with self._wake:
            while True:
                now = time.monotonic()
                self._resting = {
                    key: until for key, until in self._resting.items() if until > now and key in self._wanted
                }
                directory = next((key for key in reversed(self._wanted) if key not in self._resting), None)
                if directory is not None:
                    break
                if self._written and self._written[0][0] <= now:
                    return heapq.heappop(self._written)[1]
                due = [*self._resting.values(), *(due for due, _ in self._written[:1])]
                self._wake.wait(min(due) - now if due else None)
            names = self._wanted[directory]
            count = BATCH_PATHS if directory in self._begun else FIRST_PATHS
            batch = {name: names.pop(name) for name in sorted(names)[:count]}
            if names:
                self._begun.add(directory)
            else:
                del self._wanted[directory]
                self._begun.discard(directory)
        return _Batch(directory, batch)

    def _try_again(self, batch: _Batch) -> None:
        attempts = max(batch.names.values()) + 1
        if attempts < ATTEMPTS:
            with self._wake:
                self._want(batch.directory, dict.fromkeys(batch.names, attempts))
                self._resting[batch.directory] = time.monotonic() + RETRY_SECONDS * 2 ** (attempts - 1)

    def _check_later(self, batch: _Batch) -> None:
        if batch.checks < len(CHECK_SECONDS):
            with self._wake:
                if len(self._written) < WRITTEN_BATCHES:
                    due = time.monotonic() + CHECK_SECONDS[batch.checks]
                    checked = dataclasses.replace(batch, checks=batch.checks + 1)
                    heapq.heappush(self._written, (due, checked))
                    self._wake.notify()

    def _show(self, batch: _Batch) -> None:
        """Fetches the previews of some files in a directory, and writes their thumbnails."""
        directory = batch.directory
        place = self._place(directory)
        if place is None:
            return
        control, inside = place
        wanted = {}
        for name in batch.names:
            path = os.path.join(directory, os.fsencode(name))
            found = _regular(path)
            sizes = self._cache.missing(path, found) if found else []
            if found and sizes:
                wanted[f"{inside}/{name}" if inside else name] = _Wanted(path, found, sizes)
        for paths in _parts(wanted):
            self._show_part(control, paths, wanted)

    def _show_part(self, control: Control, paths: list[str], wanted: dict[str, _Wanted]) -> None:
        """The same for some of the wanted files, as many as fit in one request."""
        self._wait_for_allowance(len(paths) * PREVIEW_BYTES)
        previews = _previews(control.post("/v1/previews", {"paths": paths}, ANSWER_SECONDS))
        previews = {path: preview for path, preview in previews.items() if path in wanted}
        with self._allowance:
            self._left -= sum(map(len, previews.values()))
        for name, pictures in zip(previews, self._decoded(list(previews.values()))):
            if pictures:
                self._write(wanted[name], pictures)

    def _write(self, wanted: _Wanted, pictures: Pictures) -> None:
        path, found = wanted.path, wanted.found
        now = _regular(path)
        # The preview may be of the bytes before, or of those after.
        if now is None or (now.st_mtime_ns, now.st_size) != (found.st_mtime_ns, found.st_size):
            return
        try:
            self._cache.write(path, found, kind_of(os.fsdecode(path)) or "", pictures, wanted.sizes)
        except OSError as error:
            log.info("%s: %s", os.fsdecode(path), error)
            return
        self._failed.forget(path)
        self._nudge(path)

    def _wait_for_allowance(self, count: int) -> None:
        """Waits until so many bytes may be fetched."""
        while True:
            with self._allowance:
                now = time.monotonic()
                self._left = min(MINUTE_BYTES, self._left + (now - self._since) * MINUTE_BYTES / MINUTE_SECONDS)
                self._since = now
                missing = min(count, MINUTE_BYTES) - self._left
            if missing <= 0:
                return
            time.sleep(MINUTE_SECONDS * missing / MINUTE_BYTES)

    # Decoding

    def _decoded(self, previews: list[bytes]) -> Iterator[Pictures | None]:
        """The pixels of previews, None of those that are no pictures, in their order."""
        count = 0
        for _ in range(BROKEN_PREVIEWS):
            for pictures in self._decode(previews[count:]):
                yield pictures
                count += 1
            if count == len(previews):
                return
            # The process ended over this one: it is left out.
            yield None
            count += 1

    def _decode(self, previews: list[bytes]) -> Iterator[Pictures | None]:
        """The same, until the process ends that decodes them."""
        if not previews:
            return
        command = [*DECODER_COMMAND, "pixels", *map(str, SIZES.values())]
        try:
            with self._sandbox.running(command, DECODING_LIMITS, {DECODER_COMMAND[-1]: DECODER}) as run:
                run.give(b"".join(struct.pack(">I", len(preview)) + preview for preview in previews))
                for _ in previews:
                    yield _pictures(run)
        except Failure as failure:
            log.info("previews: %s", failure)


def _parts(paths: Iterable[str]) -> Iterator[list[str]]:
    """Paths in their order, as many at a time as fit in one request."""
    part: list[str] = []
    count = 0
    for path in paths:
        # With the comma and the space after it.
        length = len(json.dumps(path)) + 2
        if part and count + length > BATCH_BYTES:
            yield part
            part, count = [], 0
        part.append(path)
        count += length
    if part:
        yield part


def _pictures(run: Run) -> Pictures | None:
    """The next picture in its sizes. What comes is another's: it may be anything."""
    pictures: Pictures = {}
    for size in SIZES.values():
        head = run.read(8)
        if len(head) < 8:
            raise Failure("the process that decodes them ended")
        width, height = struct.unpack(">II", head)
        if max(width, height) > size:
            raise Failure("a picture is larger than it may be")
        data = run.read(width * height * PIXEL_BYTES)
        if len(data) < width * height * PIXEL_BYTES:
            raise Failure("the process that decodes them ended")
        if data:
            pictures[size] = Pixels(width, height, data)
    return pictures if len(pictures) == len(SIZES) else None


def _previews(answer: Any) -> dict[str, bytes]:
    """The previews in an answer, by path, without what is none."""
    found: dict[str, bytes] = {}
    try:
        for item in answer["previews"]:
            if len(item["preview"]) > 2 * PREVIEW_BYTES:
                continue
            preview = base64.b64decode(item["preview"], validate=True)
            if preview.startswith(JPEG_SIGNATURE) and len(preview) <= PREVIEW_BYTES:
                found[item["path"]] = preview
    except (KeyError, TypeError, binascii.Error):
        raise Fault("invalid", "the daemon's answer is no list of previews") from None
    return found


def _regular(path: bytes) -> os.stat_result | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None
