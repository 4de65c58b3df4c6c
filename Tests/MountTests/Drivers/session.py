"""A client of the control API's sessions that shares no code with Dewpoint: claims, presenters and their events.

See "The control API" in the Operations page. `Session(point)` connects to the daemon of a mountpoint.
"""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

# What a presenter answers to a question.
Answer = Callable[[dict[str, Any]], Any]


def socket_path(point: str) -> str:
    """The path of the daemon's socket, from the 64-bit FNV-1a hash of the mountpoint."""
    value = 0xCBF29CE484222325
    for byte in os.fsencode(os.path.realpath(point)):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    directory = os.environ.get("XDG_RUNTIME_DIR", "/run")
    return f"{directory}/dewpoint/{value:016x}.sock"


class Ended(Exception):
    """A claim was not granted, or was revoked; `reason` says why."""

    def __init__(self, event: dict[str, Any]) -> None:
        super().__init__(event.get("message"))
        self.reason = event["reason"]
        self.code = event["code"]


class Gone(Exception):
    """The session's connection is closed."""


def request(point: str, method: str, target: str, body: Any = None, limit: float = 10) -> Any:
    """Sends one request and returns its response as JSON."""
    return json.loads(received(point, method, target, body, limit))


def received(point: str, method: str, target: str, body: Any = None, limit: float = 20) -> bytes:
    """Sends one request and returns the bytes of its response."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(limit)
    connection.connect(socket_path(point))
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {target} HTTP/1.1\r\nHost: dewpoint\r\nConnection: close\r\nContent-Length: {len(data)}\r\n\r\n"
    connection.sendall(head.encode() + data)
    answer = b""
    while piece := connection.recv(1 << 16):
        answer += piece
    connection.close()
    return answer.split(b"\r\n\r\n", 1)[1]


class Session:
    """One connection. `take` returns its events; presenters with an `answer` reply on a thread of their own."""

    open: ClassVar[list["Session"]] = []

    @classmethod
    def end_all(cls) -> None:
        """Closes all sessions before the interpreter exits, which a thread that still reads may crash."""
        for session in cls.open:
            with contextlib.suppress(OSError):  # it is closed already
                session.connection.shutdown(socket.SHUT_RDWR)
            session.reader.join(10)

    def __init__(self, point: str, limit: float = 20) -> None:
        self.limit = limit
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(socket_path(point))
        self.connection.sendall(b"POST /v1/session HTTP/1.1\r\nHost: dewpoint\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.file = self.connection.makefile("rb")
        assert b" 200 " in self.file.readline()
        while self.file.readline().strip():
            pass
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.arrived = threading.Condition()
        self.over = False
        self.answers: dict[int, Answer | None] = {}
        self.last = 0
        self.sending = threading.Lock()
        self.reader = threading.Thread(target=self.receive, daemon=True)
        self.reader.start()
        Session.open.append(self)
        self.client = self.take("welcome")["client"]

    def receive(self) -> None:
        rest = b""
        try:
            while True:
                count = int(self.file.readline() or b"0", 16)
                if count == 0:
                    break
                rest += self.file.read(count)
                self.file.readline()
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    self.dispatch(json.loads(line))
        except (OSError, ValueError):
            pass
        with self.arrived:
            self.over = True
            self.arrived.notify_all()

    def dispatch(self, event: dict[str, Any]) -> None:
        ((kind, body),) = event.items()
        answer = self.answers.get(body.get("presenter")) if kind == "ask" else None
        with self.arrived:
            self.events.append((kind, body))
            self.arrived.notify_all()
        if answer:
            threading.Thread(target=self.reply, args=(body, answer), daemon=True).start()

    def reply(self, question: dict[str, Any], answer: Answer) -> None:
        outcome = answer(question) or {}
        with contextlib.suppress(Gone):  # the answer is no longer needed
            self.send({"answer": {"question": question["question"], **outcome}})

    def send(self, line: Any) -> None:
        data = json.dumps(line).encode() + b"\n"
        with self.sending:
            try:
                self.connection.sendall(b"%x\r\n%s\r\n" % (len(data), data))
            except OSError as error:
                raise Gone() from error

    def take(
        self, *kinds: str, where: Callable[[dict[str, Any]], object] = lambda body: True, limit: float | None = None
    ) -> Any:
        """Returns the next event of these kinds and leaves others; `None` if none arrives in time."""
        end = time.monotonic() + (self.limit if limit is None else limit)
        with self.arrived:
            while True:
                for index, (kind, body) in enumerate(self.events):
                    if kind in kinds and where(body):
                        del self.events[index]
                        return {**body, "kind": kind}
                if self.over:
                    raise Gone()
                rest = end - time.monotonic()
                if rest <= 0:
                    return None
                self.arrived.wait(rest)

    def nothing(self, *kinds: str, limit: float = 0.3) -> bool:
        """Whether no event of these kinds arrives within `limit` seconds."""
        return self.take(*kinds, limit=limit) is None

    # Claims

    def ask(self, *items: tuple[str, Any], **options: Any) -> int:
        """Requests a claim; `items` are ("a.txt", "plain") to write or ("a.txt", ["withoutChanges"]) to read."""
        self.last += 1
        wanted = [
            {"path": path, "writing": kind} if isinstance(kind, str) else {"path": path, "reading": list(kind)}
            for path, kind in items
        ]
        self.send({"claim": {"claim": self.last, "items": wanted, **options}})
        return self.last

    def outcome(self, claim: int, limit: float | None = None) -> Any:
        """Returns the event `granted` or `ended`; `None` if neither arrives in time."""
        return self.take("granted", "ended", where=lambda body: body["claim"] == claim, limit=limit)

    def waits(self, claim: int) -> bool:
        """Whether the daemon says that a claim waits."""
        return self.take("waiting", where=lambda body: body["claim"] == claim) is not None

    def wait(self, claim: int, limit: float | None = None) -> int:
        outcome = self.outcome(claim, limit)
        if outcome is None:
            raise TimeoutError(f"claim {claim} is neither granted nor ended")
        if outcome["kind"] == "ended":
            raise Ended(outcome)
        return claim

    def claim(self, *items: tuple[str, Any], **options: Any) -> int:
        return self.wait(self.ask(*items, **options))

    def reclaim(self, client: int, claim: int, *items: tuple[str, Any]) -> Any:
        """Asks for a claim that was granted to another session, of a daemon that was replaced; returns its event."""
        wanted = [{"path": path, "writing": kind} for path, kind in items]
        self.send({"claim": {"claim": claim, "items": wanted, "heldBy": client}})
        return self.outcome(claim)

    def release(self, claim: int) -> None:
        self.send({"release": {"claim": claim}})
        assert self.take("released", where=lambda body: body["claim"] == claim)

    # Presenters

    ALL = (
        "relinquishToReader relinquishToWriter save accommodateDeletion accommodateSubitemDeletion accommodateEviction "
        "didChange didMove didChangeUbiquityAttributes didGainVersion didLoseVersion didResolveConflictVersion "
        "subitemDidAppear subitemDidChange subitemDidMove subitemDidGainVersion subitemDidLoseVersion "
        "subitemDidResolveConflictVersion"
    ).split()

    def present(
        self,
        presenter: int,
        path: str | None,
        methods: list[str] | None = None,
        answer: Answer | None = lambda question: {},
        **options: Any,
    ) -> int:
        """Registers a presenter; without `answer` the test answers with `reply`, or never.

        Questions are answered one at a time, as on an operation queue: otherwise, a question that arrives during a
        save would be answered as if nothing were unsaved.
        """
        queue = threading.Lock()

        def in_turn(question: dict[str, Any]) -> Any:
            with queue:
                return answer(question) if answer else None

        self.answers[presenter] = in_turn if answer else None
        body = {"presenter": presenter, "methods": methods or self.ALL, **options}
        if path is not None:
            body["path"] = path
        self.send({"present": body})
        outcome = self.take("registered", "refused", where=lambda event: event.get("presenter") == presenter)
        assert outcome["kind"] == "registered", outcome
        return presenter

    def withdraw(self, presenter: int) -> None:
        self.send({"withdraw": {"presenter": presenter}})
        assert self.take("registered", where=lambda body: body["presenter"] == presenter)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()


class Holder:
    """Another process that holds a claim until it is told to release it; the claim does not cover our own writes."""

    def __init__(self, point: str, *items: tuple[str, Any], **options: Any) -> None:
        asked, self.told = os.pipe()
        self.answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.told)
            status = 1
            try:
                session = Session(point)
                claim = session.claim(*items, **options)
                os.write(answers, b"g")
                while request := os.read(asked, 4096):
                    if request == b"r":
                        break
                    outcome = os.system(request.decode())
                    os.write(answers, b"k" if outcome == 0 else b"e")
                session.release(claim)
                status = 0
            finally:
                os._exit(status)
        os.close(asked)
        os.close(answers)
        assert os.read(self.answers, 1) == b"g", "the holder was not granted its claim"

    def run(self, command: str) -> bool:
        """Runs a command as the holder's child; returns whether it succeeded."""
        os.write(self.told, command.encode())
        return os.read(self.answers, 1) == b"k"

    def release(self) -> bool:
        os.write(self.told, b"r")
        return os.waitpid(self.pid, 0)[1] == 0

    def kill(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
