"""How writers of one file take turns, one case per behaviour: python3 writers.py CASE DIRECTORY

A writer is a process that opens the file when it is told to. Opens that rewrite a file take turns; opens that share it,
and all writes through open files, behave as on a local file system.
"""

import ctypes
import mmap
import os
import signal
import sys
import time
import traceback
from typing import ClassVar, NoReturn

RECORD_BYTES = 64 << 10
RECORDS = 2000
# The holder of a turn loses it after 500 ms without a write if a writer waits; the slack is for a busy machine.
QUIET_SECONDS = 0.5
SLACK_SECONDS = 1.5
PROMPT_SECONDS = 0.4
# A holder that continues to write keeps its turn much longer.
BUSY_SECONDS = 4
REWRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SHARE = os.O_RDWR | os.O_CREAT
APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Writer:
    """Another process that opens `path` and writes to it, one request at a time."""

    all: ClassVar[list["Writer"]] = []

    def __init__(self, path: str, flags: int = REWRITE, opens: bool = True) -> None:
        self.path, self.flags = path, flags
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.requests)
            os.close(self.answers)
            try:
                self.serve(requests, answers)
            except BaseException:  # a child must never return into the parent's code
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(requests)
        os.close(answers)
        self.all.append(self)
        if opens:
            self.do(b"o")

    def serve(self, requests: int, answers: int) -> None:
        file = -1
        while True:
            request = os.read(requests, 1)
            if request == b"":
                os._exit(0)
            if request == b"o":
                file = os.open(self.path, self.flags)
            elif request == b"w":
                os.write(file, b"w" * 100)
            elif request == b"b":
                write_for(BUSY_SECONDS, file)
            elif request == b"c":
                os.close(file)
            os.write(answers, b"k")

    def ask(self, request: bytes) -> None:
        """Sends a request without waiting for its completion."""
        os.write(self.requests, request)

    def answer(self) -> bytes:
        return os.read(self.answers, 1)

    def do(self, request: bytes) -> float:
        """Sends a request and returns the seconds that it took."""
        start = time.monotonic()
        self.ask(request)
        answer = self.answer()
        assert answer == b"k", f"{request!r}: {answer!r}"
        return time.monotonic() - start

    def kill(self) -> float:
        """Kills the process and returns the seconds until it was gone."""
        start = time.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.all.remove(self)
        return time.monotonic() - start


def write_for(seconds: float, file: int) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.write(file, b"busy")
        time.sleep(0.05)


def record(tag: int, number: int) -> bytes:
    return bytes([tag]) + number.to_bytes(8, "big") + bytes([tag]) * (RECORD_BYTES - 9)


def start_records(path: str, tag: int, flags: int, records: int = RECORDS) -> tuple[int, int]:
    """A process that waits for a byte on its pipe, then opens the file and writes all its records."""
    gate, start = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.read(gate, 1)
            file = os.open(path, flags)
            for number in range(records):
                assert os.write(file, record(tag, number)) == RECORD_BYTES
            os.close(file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(gate)
    return pid, start


def run_all(writers: list[tuple[int, int]]) -> None:
    for _, gate in writers:
        os.write(gate, b"g")
    for pid, _ in writers:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def tags_in_order(path: str, records: int) -> list[int]:
    """The writers of a file in the order of their records, each named once per stretch."""
    stretches: list[int] = []
    numbers: dict[int, int] = {}
    with open(path, "rb") as file:
        for index in range(records):
            data = file.read(RECORD_BYTES)
            assert data, f"record {index} is missing"
            tag = data[0]
            assert data == record(tag, numbers.get(tag, 0)), f"record {index} is torn or out of order"
            numbers[tag] = numbers.get(tag, 0) + 1
            if not stretches or stretches[-1] != tag:
                stretches.append(tag)
        assert file.read(1) == b"", "the file is too long"
    return stretches


def two_rewriters_do_not_mix() -> None:
    run_all([start_records("f", tag, REWRITE) for tag in (65, 66)])
    assert len(tags_in_order("f", RECORDS)) == 1


def two_appenders_write_whole_records() -> None:
    run_all([start_records("f", tag, APPEND) for tag in (65, 66)])
    assert set(tags_in_order("f", 2 * RECORDS)) == {65, 66}


def each_write_is_whole() -> None:
    """Every write is atomic, even one that the kernel sends in several requests."""
    size = 4 << 20
    open("f", "wb").write(b"\0" * size)
    for _ in range(20):
        pids = []
        for tag in b"AB":
            pid = os.fork()
            if pid == 0:
                os._exit(os.pwrite(os.open("f", os.O_RDWR), bytes([tag]) * size, 0) != size)
            pids.append(pid)
        for pid in pids:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        with open("f", "rb") as file:
            data = file.read()
        assert data.count(data[:1]) == size, "two writes are mixed"


def sharers_see_what_they_write() -> None:
    """A process sees the size, end and mapped bytes of its own writes at once, while another process writes."""
    open("f", "wb").write(b"\0" * 65536)
    busy = os.fork()
    if busy == 0:
        file = os.open("f", os.O_RDWR)
        for _ in range(40):
            os.pwrite(file, b"a", 0)
            time.sleep(0.05)
        os._exit(0)
    time.sleep(0.1)
    file = os.open("f", os.O_RDWR)
    size = 65536
    for turn in range(10):
        os.pwrite(file, b"b", 1)
        with mmap.mmap(file, size) as mapped:
            assert mapped[1:2] == b"b"
            assert mapped[8 * 4096] == 0
        os.pwrite(file, b"c" * 4096, size)
        size += 4096
        assert os.fstat(file).st_size == size
        assert os.lseek(file, 0, os.SEEK_END) == size
        with mmap.mmap(file, size) as mapped:
            mapped[size - 1] = turn
            mapped.flush()
        assert os.pread(file, 1, size - 1) == bytes([turn])
        time.sleep(0.05)
    os.close(file)
    appending = os.open("f", os.O_WRONLY | os.O_APPEND)
    os.write(appending, b"d" * 100)
    assert os.fstat(appending).st_size == size + 100
    assert os.waitstatus_to_exitcode(os.waitpid(busy, 0)[1]) == 0


def a_rewriting_open_waits_for_the_close() -> None:
    first, second = Writer("f"), Writer("f", opens=False)
    second.ask(b"o")
    for _ in range(10):
        assert first.do(b"w") < PROMPT_SECONDS
        time.sleep(0.1)
    assert os.path.getsize("f") == 1000, "truncated in the middle of a turn"
    first.do(b"c")
    start = time.monotonic()
    assert second.answer() == b"k"
    took = time.monotonic() - start
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    assert os.path.getsize("f") == 0


def a_quiet_holder_gives_way() -> None:
    first, second = Writer("f"), Writer("f", opens=False)
    first.do(b"w")
    took = second.do(b"o")
    assert 0.2 < took < QUIET_SECONDS + SLACK_SECONDS, f"{took:.2f} s"
    # The writer that lost the turn can still write at once.
    assert first.do(b"w") < PROMPT_SECONDS
    assert second.do(b"w") < PROMPT_SECONDS


def a_long_quiet_holder_costs_nothing() -> None:
    first, second = Writer("f"), Writer("f", opens=False)
    first.do(b"w")
    time.sleep(QUIET_SECONDS * 1.5)
    took = second.do(b"o")
    assert took < PROMPT_SECONDS, f"{took:.2f} s"


def a_turn_ends_with_its_process() -> None:
    # The quickest of three: on a busy machine one may take as long as the quiet time of a turn.
    took = min(takeover_from_a_killed_writer() for _ in range(3))
    assert took < PROMPT_SECONDS, f"{took:.2f} s"


def takeover_from_a_killed_writer() -> float:
    """Returns how many seconds an open for rewriting takes after the holder of the turn was killed."""
    first, second = Writer("f"), Writer("f", opens=False)
    first.do(b"w")
    first.kill()
    took = second.do(b"o")
    second.kill()
    return took


def sharing_opens_wait_for_an_active_turn_only() -> None:
    for flags in (SHARE, APPEND):
        first, second, third = Writer("f"), Writer("f", flags, opens=False), Writer("f", flags, opens=False)
        first.do(b"w")
        took = second.do(b"o")
        assert 0.2 < took < QUIET_SECONDS + SLACK_SECONDS, f"{took:.2f} s"
        took = third.do(b"o")
        assert took < PROMPT_SECONDS, f"{took:.2f} s"
        for writer in (first, second, third):
            writer.kill()


def sharing_opens_make_nobody_wait() -> None:
    sharers = [Writer("f", flags) for flags in (SHARE, APPEND, SHARE)]
    for sharer in sharers:
        assert sharer.do(b"w") < PROMPT_SECONDS
    rewriter = Writer("f", opens=False)
    took = rewriter.do(b"o")
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    for sharer in sharers:
        assert sharer.do(b"w") < PROMPT_SECONDS


def relatives_are_one_writer() -> None:
    """A child may rewrite a file that its parent has open, and the other way round."""
    parent = os.open("f", REWRITE)
    child = Writer("f", opens=False)
    child.ask(b"o")
    write_for(BUSY_SECONDS, parent)
    # The child answers both requests; had its open waited, that would take another half second.
    took = child.do(b"c")
    assert took < PROMPT_SECONDS, f"the child waited for its parent: {took:.2f} s"
    child = Writer("g")
    child.ask(b"b")
    start = time.monotonic()
    os.close(os.open("g", REWRITE))
    took = time.monotonic() - start
    assert took < BUSY_SECONDS - 1, f"the parent waited for its child: {took:.2f} s"
    assert child.answer() == b"k"


def not_blocking_waits_for_nobody() -> None:
    """touch(1) and truncate(1) open with O_NONBLOCK."""
    first, second = Writer("f"), Writer("f", os.O_WRONLY | os.O_NONBLOCK, opens=False)
    first.ask(b"b")
    took = second.do(b"o")
    assert took < BUSY_SECONDS - 1, f"{took:.2f} s"
    assert first.answer() == b"k"
    waiting = Writer("f", opens=False)
    took = waiting.do(b"o")
    assert 0.1 < took < QUIET_SECONDS + SLACK_SECONDS, f"the non-blocking open took the turn away: {took:.2f} s"


def crossed_writers_do_not_lock_each_other_out() -> None:
    ours, theirs = Writer("x"), Writer("y")
    ours.path, theirs.path = "y", "x"
    crossed = [Writer("y", opens=False), Writer("x", opens=False)]
    start = time.monotonic()
    for writer in crossed:
        writer.ask(b"o")
    for writer in crossed:
        assert writer.answer() == b"k"
    took = time.monotonic() - start
    assert took < 2 * (QUIET_SECONDS + SLACK_SECONDS), f"{took:.2f} s"


def first_come_first_served() -> None:
    first = Writer("f")
    first.do(b"w")
    waiting = []
    for _ in range(3):
        writer = Writer("f", opens=False)
        writer.ask(b"o")
        waiting.append(writer)
        time.sleep(0.05)
    first.do(b"c")
    for writer in waiting:
        assert writer.answer() == b"k"
        writer.do(b"w")
        writer.do(b"c")
    assert os.path.getsize("f") == 100


def renaming_and_removing_never_wait() -> None:
    first = Writer("log")
    first.do(b"w")
    waiting = Writer("log", opens=False)
    waiting.ask(b"o")
    time.sleep(0.1)
    start = time.monotonic()
    os.rename("log", "log.1")
    first.do(b"w")
    os.unlink("log.1")
    first.do(b"w")
    took = time.monotonic() - start
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    # A writer that waited for the renamed file opens the file that its path names now.
    assert waiting.answer() == b"k"
    waiting.do(b"w")
    assert os.path.getsize("log") == 100


def readers_never_wait() -> None:
    first = Writer("f")
    first.do(b"w")
    waiting = Writer("f", opens=False)
    waiting.ask(b"o")
    start = time.monotonic()
    with open("f", "rb") as file:
        assert file.read() == b"w" * 100
    assert os.stat("f").st_size == 100
    assert os.listdir(".") == ["f"]
    assert time.monotonic() - start < PROMPT_SECONDS


def a_waiting_open_can_be_killed() -> None:
    first, second = Writer("f"), Writer("f", opens=False)
    second.ask(b"o")
    for _ in range(3):
        first.do(b"w")
        time.sleep(0.1)
    took = second.kill()
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    first.do(b"w")
    assert os.path.getsize("f") == 400


def an_exit_is_never_held() -> None:
    """A process that ends while another writes the same file is gone at once."""
    busy, ending = Writer("f", APPEND), Writer("f", APPEND)
    for _ in range(5):
        busy.do(b"w")
        ending.do(b"w")
    busy.ask(b"w")
    took = ending.kill()
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    busy.answer()
    assert os.path.getsize("f") == 1100


def interrupting_a_wait() -> None:
    """A signal with a handler ends a waiting open with EINTR."""
    first = Writer("f")
    first.do(b"w")
    # The opener is a sibling of the holder, because relatives do not wait for each other.
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:

        def alarmed(*_: object) -> NoReturn:
            raise InterruptedError

        signal.signal(signal.SIGALRM, alarmed)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        outcome = b"opened"
        try:
            os.open("f", os.O_WRONLY | os.O_TRUNC)
        except InterruptedError:
            outcome = b"interrupted"
        os.write(writer, outcome)
        os._exit(0)
    start = time.monotonic()
    assert os.read(reader, 20) == b"interrupted"
    os.waitpid(pid, 0)
    took = time.monotonic() - start
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    assert os.path.getsize("f") == 100, "an interrupted open has truncated the file"
    first.do(b"w")


def signals_that_ask_for_nothing() -> None:
    """Signals like SIGCHLD and SIGWINCH do not interrupt a waiting open, and SIGKILL afterwards ends it at once."""
    first = Writer("f")
    first.do(b"w")
    first.do(b"w")
    reader, writer = os.pipe()
    library = ctypes.CDLL(None, use_errno=True)
    for ends in ("by itself", "killed"):
        pid = os.fork()
        if pid == 0:
            for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGUSR1):
                signal.signal(number, lambda *_: None)
                signal.siginterrupt(number, True)
            os.write(writer, b"r")
            # Not os.open, which retries.
            opened = library.open(b"f", os.O_WRONLY | os.O_TRUNC)
            os.write(writer, b"o" if opened >= 0 else b"f")
            if opened < 0:
                print(f"open: {os.strerror(ctypes.get_errno())}", flush=True)
            os._exit(0)
        assert os.read(reader, 1) == b"r"
        for number in (signal.SIGCHLD, signal.SIGWINCH, signal.SIGUSR1) * 2:
            time.sleep(0.05)
            first.do(b"w")
            os.kill(pid, number)
        if ends == "killed":
            start = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            took = time.monotonic() - start
            assert took < PROMPT_SECONDS, f"{took:.2f} s"
            assert os.path.getsize("f") > 0, "an interrupted open has truncated the file"
        else:
            assert os.read(reader, 1) == b"o"
            os.waitpid(pid, 0)
            first.do(b"c")
            first.do(b"o")
            first.do(b"w")


def main() -> None:
    name, directory = sys.argv[1], sys.argv[2]
    place = os.path.join(directory, name)
    os.makedirs(place)
    os.chdir(place)
    try:
        globals()[name]()
    finally:
        for writer in list(Writer.all):
            writer.kill()


if __name__ == "__main__":
    main()
