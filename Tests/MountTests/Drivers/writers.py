"""How writers of one file take turns, one case per behaviour: python3 writers.py CASE DIRECTORY

A writer is a process with its own open file. Out of turn its writes are accepted and kept; close, fsync and a read of its
own wait until the turn came. The cases hold on the mount; a plain local file system mixes writers.
"""

import fcntl
import os
import signal
import sys
import time
import traceback

RECORD_BYTES = 64 << 10
RECORDS = 2000
# A silent writer gives way after 500 ms when someone waits; the slack is for a busy machine.
QUIET_SECONDS = 0.5
SLACK_SECONDS = 1.5
PROMPT_SECONDS = 0.4


class Writer:
    """Another process that opens `path` and does what it is told, one request at a time."""

    all = []

    def __init__(self, path, flags=0):
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.requests)
            os.close(self.answers)
            try:
                self.serve(os.open(path, os.O_RDWR | os.O_CREAT | flags), requests, answers)
            except BaseException:  # a child must never return into the parent's code
                traceback.print_exc()
            finally:
                os._exit(1)
        os.close(requests)
        os.close(answers)
        self.all.append(self)

    def serve(self, file, requests, answers):
        while True:
            request = os.read(requests, 1)
            outcome = b"k"
            try:
                if request == b"":
                    os._exit(0)
                if request == b"w":
                    os.write(file, b"w" * 100)
                elif request == b"r":
                    assert os.pread(file, 200, 0).endswith(b"w" * 100)
                elif request == b"s":
                    os.fsync(file)
                elif request == b"l":
                    fcntl.lockf(file, fcntl.LOCK_EX)
                elif request == b"u":
                    fcntl.lockf(file, fcntl.LOCK_UN)
                elif request == b"c":
                    os.close(file)
                elif request == b"t":
                    os.ftruncate(file, 0)
            except BlockingIOError:
                outcome = b"b"
            os.write(answers, outcome)

    def ask(self, request):
        """Sends a request without waiting for its end."""
        os.write(self.requests, request)

    def answer(self):
        return os.read(self.answers, 1)

    def do(self, request):
        """Sends a request and gives the seconds it took."""
        start = time.monotonic()
        self.ask(request)
        answer = self.answer()
        assert answer == b"k", f"{request}: {answer}"
        return time.monotonic() - start

    def kill(self):
        """Kills the process and gives the seconds until it was gone."""
        start = time.monotonic()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.all.remove(self)
        return time.monotonic() - start


def record(tag, number):
    return bytes([tag]) + number.to_bytes(8, "big") + bytes([tag]) * (RECORD_BYTES - 9)


def start_records(path, tag, flags):
    """A process that waits for a byte on its pipe, then writes all its records."""
    gate, start = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | flags)
            os.read(gate, 1)
            for number in range(RECORDS):
                assert os.write(file, record(tag, number)) == RECORD_BYTES
            os.close(file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(gate)
    return pid, start


def tags_in_order(path, records):
    """The writers of a file in the order of their records, each named once per stretch."""
    stretches, numbers = [], {}
    with open(path, "rb") as file:
        for index in range(records):
            data = file.read(RECORD_BYTES)
            tag = data[0]
            assert data == record(tag, numbers.get(tag, 0)), f"record {index} is torn or out of order"
            numbers[tag] = numbers.get(tag, 0) + 1
            if not stretches or stretches[-1] != tag:
                stretches.append(tag)
        assert file.read(1) == b"", "the file is too long"
    return stretches


def two_appenders_and_one_that_dies():
    open("f", "wb").close()
    writers = [start_records("f", tag, os.O_APPEND) for tag in (65, 66)]
    for _, gate in writers:
        os.write(gate, b"g")
    closing, idle = Writer("f", os.O_APPEND), Writer("f", os.O_APPEND)
    deadline = time.monotonic() + 20
    while os.path.getsize("f") < 20 * RECORD_BYTES:  # someone's session has begun
        assert time.monotonic() < deadline
        time.sleep(0.005)
    closing.do(b"w")
    idle.do(b"w")
    closing.ask(b"c")
    time.sleep(0.05)
    for what, writer in (("in close", closing), ("with nothing under way", idle)):
        took = writer.kill()
        assert took < PROMPT_SECONDS, f"a waiting writer, {what}, took {took:.2f} s to die of SIGKILL"
    for pid, _ in writers:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with open("f", "rb") as file:
        data = file.read()
    strays = len(data) - 2 * RECORDS * RECORD_BYTES
    # Those who died had written 100 bytes each, which may have come to the file, whole and in their turn.
    assert strays in (0, 100, 200), strays
    with open("f", "wb") as file:
        file.write(data.replace(b"w" * 100, b""))
    order = tags_in_order("f", 2 * RECORDS)
    assert len(order) == 2, f"the writers are mixed: {len(order)} stretches"


def two_writers_of_the_same_range():
    writers = [start_records("f", tag, 0) for tag in (65, 66)]
    for _, gate in writers:
        os.write(gate, b"g")
    for pid, _ in writers:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    order = tags_in_order("f", RECORDS)
    assert len(order) == 1, f"the writers are mixed: {len(order)} stretches"


def writes_of(writer, *requests):
    """The seconds from the first of some requests to the end of the last."""
    return sum(writer.do(request) for request in requests)


def a_silent_writer_gives_way():
    for waits_at in (b"c", b"s", b"r"):
        first, second = Writer("f"), Writer("f")
        first.do(b"w")
        took = second.do(b"w")
        assert took < PROMPT_SECONDS, f"a write out of turn took {took:.2f} s"
        took = second.do(waits_at)
        assert took < QUIET_SECONDS + SLACK_SECONDS, f"{waits_at}: {took:.2f} s"
        assert took > 0.2, f"{waits_at}: a session that was {took:.2f} s old was not respected"
        took = writes_of(first, b"w", b"c")
        assert took < QUIET_SECONDS + SLACK_SECONDS, f"the first writer, coming back: {took:.2f} s"
        second.kill()


def a_long_silent_writer_costs_nothing():
    first, second = Writer("f"), Writer("f")
    first.do(b"w")
    time.sleep(QUIET_SECONDS * 1.5)
    took = writes_of(second, b"w", b"c")
    assert took < PROMPT_SECONDS, f"{took:.2f} s"


def ends_with(request):
    first, second = Writer("f"), Writer("f")
    if request == b"u":
        first.do(b"l")
    first.do(b"w")
    first.do(request)
    took = writes_of(second, b"w", b"c")
    assert took < PROMPT_SECONDS, f"{took:.2f} s"


def a_session_ends_at_close():
    ends_with(b"c")


def a_session_ends_at_fsync():
    ends_with(b"s")


def a_session_ends_at_unlock():
    ends_with(b"u")


def a_session_ends_with_its_process():
    first, second = Writer("f"), Writer("f")
    first.do(b"w")
    first.kill()
    took = writes_of(second, b"w", b"c")
    assert took < PROMPT_SECONDS, f"{took:.2f} s"


def a_busy_writer_is_not_cut_in_two():
    """While it writes without a pause, what others write is kept until it is through."""
    first, second = Writer("f", os.O_APPEND), Writer("f", os.O_APPEND)
    first.do(b"w")
    second.do(b"w")
    second.ask(b"c")
    for _ in range(15):
        time.sleep(0.1)
        assert first.do(b"w") < PROMPT_SECONDS
    assert os.path.getsize("f") == 1600
    first.do(b"c")
    assert second.answer() == b"k"
    assert os.path.getsize("f") == 1700


def not_blocking_says_so():
    first, second = Writer("f"), Writer("f", os.O_NONBLOCK)
    first.do(b"w")
    second.ask(b"w")
    assert second.answer() == b"b", "a write with O_NONBLOCK did not get EAGAIN"
    first.do(b"c")
    second.do(b"w")


def truncating_takes_its_turn():
    first, second = Writer("f"), Writer("f")
    first.do(b"w")
    took = writes_of(second, b"t", b"c")
    assert 0.2 < took < QUIET_SECONDS + SLACK_SECONDS, f"{took:.2f} s"
    assert os.path.getsize("f") == 0
    first.do(b"w")
    start = time.monotonic()
    open("f", "wb").close()
    took = time.monotonic() - start
    assert 0.2 < took < QUIET_SECONDS + SLACK_SECONDS, f"open with O_TRUNC: {took:.2f} s"
    assert os.path.getsize("f") == 0


def crossed_writers_do_not_lock_each_other_out():
    ours, theirs = [Writer("x"), Writer("y")], [Writer("y"), Writer("x")]
    start = time.monotonic()
    for writer in (ours[0], theirs[0], ours[1], theirs[1]):
        writer.do(b"w")
    ours[1].ask(b"c")
    theirs[1].ask(b"c")
    assert ours[1].answer() == theirs[1].answer() == b"k"
    took = time.monotonic() - start
    assert took < 2 * (QUIET_SECONDS + SLACK_SECONDS), f"{took:.2f} s"


def first_come_first_served():
    first = Writer("f", os.O_APPEND)
    first.do(b"w")
    waiting = [Writer("f", os.O_APPEND) for _ in range(3)]
    for writer in waiting:
        writer.do(b"w")
        writer.ask(b"c")
        time.sleep(0.05)
    ends = []
    for writer in waiting:
        assert writer.answer() == b"k"
        ends.append(time.monotonic())
    assert os.path.getsize("f") == 400
    assert ends[-1] - ends[0] < QUIET_SECONDS, "those who wait do not follow each other at once"


def renaming_and_removing_never_wait():
    first = Writer("log", os.O_APPEND)
    first.do(b"w")
    start = time.monotonic()
    os.rename("log", "log.1")
    second = Writer("log", os.O_APPEND)
    second.do(b"w")
    first.do(b"w")
    os.unlink("log.1")
    first.do(b"w")
    took = time.monotonic() - start
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    assert os.path.getsize("log") == 100


def readers_never_wait():
    first = Writer("f")
    first.do(b"w")
    start = time.monotonic()
    with open("f", "rb") as file:
        assert file.read() == b"w" * 100
    assert time.monotonic() - start < PROMPT_SECONDS


def interrupting_a_wait():
    """A signal with a handler ends a wait with EINTR, which a program may answer as it likes."""
    first = Writer("f")
    first.do(b"w")

    class Alarmed(Exception):
        pass

    def alarmed(*_):
        raise Alarmed

    signal.signal(signal.SIGALRM, alarmed)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    start = time.monotonic()
    try:
        os.open("f", os.O_WRONLY | os.O_TRUNC)
        raise AssertionError("opening for truncation did not wait")
    except Alarmed:
        pass
    took = time.monotonic() - start
    assert took < PROMPT_SECONDS, f"{took:.2f} s"
    assert os.path.getsize("f") == 100, "a truncation that was given up has happened"
    first.do(b"w")


def main():
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
