"""Peers that answer, or ask, as no honest program does: one generator for everything that reads from a socket.

    python3 hostile_peers.py serve ADDRESS SEED
        A server. Prints `ready` (for a port: `ready PORT`), then one line for each connection that has ended:
        KIND and how many bytes were sent. Connection N of a server is the kind SEED + N of SERVER_KINDS.

    python3 hostile_peers.py attack ADDRESS SEED COUNT HONEST-TARGET
        COUNT clients of all CLIENT_KINDS, beside an honest one that makes one request after the other. Fails when an
        honest request waits longer than ANSWER_SECONDS, or when a hostile connection lasts longer than LIFE_SECONDS.

ADDRESS is the path of a Unix socket, or a port of 127.0.0.1; a server at port 0 chooses one. The same seed gives the
same peers: sizes, pauses and where things break come from it alone.
"""

import contextlib
import random
import selectors
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

# How long a peer that drips waits after each byte: shorter than any limit of a reader that notices silence.
DRIP_SECONDS = 0.02
# How much one piece of an endless answer has.
PIECE_BYTES = 64 << 10
# The longest request that a server reads before it answers.
HEAD_BYTES = 1 << 20
# A peer that nobody ends ends by itself, so that none outlives its test.
PEER_SECONDS = 240
# How long an honest client waits beside an attack, and how long a hostile connection may last.
ANSWER_SECONDS = 20
LIFE_SECONDS = 90

# A store's answers have a mark; nobody else minds it.
MARK = b'x-amz-request-id: hostile\r\nETag: "x"\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\n'
# What a JSON reader, a reader of lines and a reader of XML each go on reading.
FILLERS = [b" ", b"\n", b"0", b"{}\n", b"<a>", b"\x00", b"\xff"]
LENGTHS = [
    b"-1", b"+5", b"0x10", b"ten", b"", b"1e3", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615",
    b"1" * 40, b"5, 5", b"5\r\nContent-Length: 6", b"5\r\nTransfer-Encoding: chunked",
]  # fmt: skip
SIZES = [b"-1", b"zz", b"", b"7fffffffffffffff", b"ffffffffffffffff", b"1" * 40, b"0x5", b"5;" + b"e" * 70_000]
STATUSES = [b"200 OK", b"200 OK", b"200 OK", b"206 Partial Content", b"404 Not Found", b"500 No", b"503 Slow Down"]


class Ended(Exception):
    """The other side has had enough."""


class Peer:
    """One connection, which counts what it sends."""

    def __init__(self, connection: socket.socket, chance: random.Random) -> None:
        self.connection, self.chance, self.sent = connection, chance, 0
        self.end = time.monotonic() + PEER_SECONDS

    def send(self, data: bytes) -> None:
        if time.monotonic() > self.end:
            raise Ended
        try:
            self.connection.sendall(data)
        except OSError:
            raise Ended from None
        self.sent += len(data)

    def drip(self, source: Iterable[int]) -> None:
        for byte in source:
            self.send(bytes([byte]))
            time.sleep(DRIP_SECONDS)

    def head(self, *headers: bytes, status: bytes | None = None) -> bytes:
        lines = [b"HTTP/1.1 " + (status or self.chance.choice(STATUSES)), *headers]
        return b"\r\n".join(lines) + b"\r\n" + MARK + b"\r\n"

    def wait(self) -> None:
        """Until the other side closes the connection."""
        with contextlib.suppress(OSError):
            self.connection.settimeout(PEER_SECONDS)
            while self.connection.recv(1 << 16):
                pass

    def request(self) -> None:
        data = b""
        self.connection.settimeout(10)
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in data and len(data) < HEAD_BYTES:
                piece = self.connection.recv(1 << 16)
                if not piece:
                    break
                data += piece
        self.connection.settimeout(PEER_SECONDS)


def forever(piece: bytes) -> Iterator[int]:
    while True:
        yield from piece


# Servers


def silent(peer: Peer) -> None:
    peer.wait()


def deaf(peer: Peer) -> None:
    """Reads nothing, not even the request."""
    time.sleep(PEER_SECONDS)


def dripping_head(peer: Peer) -> None:
    peer.drip(b"HTTP/1.1 200 OK\r\nX: ")
    peer.drip(forever(b"x"))


def dripping_headers(peer: Peer) -> None:
    peer.drip(b"HTTP/1.1 200 OK\r\n")
    peer.drip(forever(b"A: b\r\n"))


def endless_head(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        peer.send(b"x" * PIECE_BYTES)


def endless_headers(peer: Peer) -> None:
    peer.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        peer.send(b"".join(b"H%d: v\r\n" % peer.chance.randrange(1 << 30) for _ in range(1000)))


def endless_interim(peer: Peer) -> None:
    while True:
        peer.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def dripping_interim(peer: Peer) -> None:
    peer.drip(forever(b"HTTP/1.1 103 Early Hints\r\n\r\n"))


def dripping_body(peer: Peer) -> None:
    peer.send(peer.head(b"Content-Length: %d" % (1 << peer.chance.randrange(12, 40)), status=b"200 OK"))
    peer.drip(forever(peer.chance.choice(FILLERS)))


def dripping_part(peer: Peer) -> None:
    length = 1 << 20
    head = peer.head(
        b"Content-Length: %d" % length, b"Content-Range: bytes 0-%d/%d" % (length - 1, length),
        status=b"206 Partial Content")  # fmt: skip
    peer.send(head)
    peer.drip(forever(b"x"))


def dripping_refusal(peer: Peer) -> None:
    peer.send(peer.head(b"Content-Length: 65000", status=b"%d No" % peer.chance.choice([400, 403, 404, 500, 503])))
    peer.drip(forever(peer.chance.choice(FILLERS)))


def endless_body(peer: Peer) -> None:
    peer.send(peer.head(b"Connection: close", status=b"200 OK"))
    piece = peer.chance.choice(FILLERS)
    while True:
        peer.send(piece * (PIECE_BYTES // len(piece)))


def endless_chunks(peer: Peer) -> None:
    peer.send(peer.head(b"Transfer-Encoding: chunked"))
    filler = peer.chance.choice(FILLERS)
    while True:
        piece = filler * peer.chance.choice([1, 1000, 60_000 // len(filler)])
        peer.send(b"%x\r\n%s\r\n" % (len(piece), piece))


def dripping_chunks(peer: Peer) -> None:
    peer.send(peer.head(b"Transfer-Encoding: chunked", status=b"200 OK"))
    filler = peer.chance.choice(FILLERS)
    while True:
        peer.send(b"%x\r\n%s\r\n" % (len(filler), filler))
        time.sleep(DRIP_SECONDS)


def endless_chunk_head(peer: Peer) -> None:
    peer.send(peer.head(b"Transfer-Encoding: chunked") + b"5;")
    while True:
        peer.send(b"e" * PIECE_BYTES)


def endless_trailer(peer: Peer) -> None:
    peer.send(peer.head(b"Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n")
    while True:
        peer.send(b"T: t\r\n" * 1000)


def odd_length(peer: Peer) -> None:
    peer.send(peer.head(b"Content-Length: " + peer.chance.choice(LENGTHS), status=b"200 OK") + b"{}\n{}\n")
    peer.wait()


def odd_range(peer: Peer) -> None:
    span = peer.chance.choice([
        b"bytes 9-0/1", b"bytes 0-9223372036854775807/*", b"bytes 0-9223372036854775806/9223372036854775807", b"bytes */0",
        b"bytes -5--1/9", b"x", b"",
    ])  # fmt: skip
    peer.send(peer.head(b"Content-Length: 4", b"Content-Range: " + span, status=b"206 Partial Content") + b"xxxx")
    peer.wait()


def odd_chunk_size(peer: Peer) -> None:
    peer.send(peer.head(b"Transfer-Encoding: chunked") + peer.chance.choice(SIZES) + b"\r\nxxxxx\r\n0\r\n\r\n")
    peer.wait()


def closing(peer: Peer) -> None:
    answer = peer.head(b"Content-Length: 100", status=b"200 OK") + b"x" * 90
    peer.send(answer[: peer.chance.randrange(len(answer))])


def closing_chunks(peer: Peer) -> None:
    answer = peer.head(b"Transfer-Encoding: chunked", status=b"200 OK") + b"5\r\n{}\n{}\r\n" * 10
    peer.send(answer[: peer.chance.randrange(len(answer))])


def resetting(peer: Peer) -> None:
    closing(peer)
    # A Unix socket ends as by a close.
    with contextlib.suppress(OSError):
        peer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def half_closing(peer: Peer) -> None:
    closing(peer)
    with contextlib.suppress(OSError):
        peer.connection.shutdown(socket.SHUT_WR)
    peer.wait()


def garbage(peer: Peer) -> None:
    for _ in range(peer.chance.randrange(1, 40)):
        peer.send(peer.chance.randbytes(peer.chance.randrange(1, 5000)))
    peer.wait()


def redirecting(peer: Peer) -> None:
    peer.send(peer.head(b"Location: /elsewhere", b"Content-Length: 0", status=b"307 Temporary Redirect"))
    peer.wait()


def upgrading(peer: Peer) -> None:
    peer.send(peer.head(b"Upgrade: h2c", b"Connection: Upgrade", status=b"101 Switching Protocols"))
    peer.drip(forever(b"x"))


SERVER_KINDS = [
    silent, deaf, dripping_head, dripping_headers, endless_head, endless_headers, endless_interim, dripping_interim,
    dripping_body, dripping_part, dripping_refusal, endless_body, endless_chunks, dripping_chunks, endless_chunk_head,
    endless_trailer, odd_length, odd_range, odd_chunk_size, closing, closing_chunks, resetting, half_closing, garbage,
    redirecting, upgrading,
]  # fmt: skip


def answer(connection: socket.socket, seed: Any) -> None:
    kind = SERVER_KINDS[seed % len(SERVER_KINDS)]
    peer = Peer(connection, random.Random(seed))
    with contextlib.suppress(Ended), connection:
        if kind is not deaf:
            peer.request()
        kind(peer)
    print(kind.__name__, peer.sent, flush=True)


def listen(address: str) -> tuple[socket.socket, str]:
    """A listener and what `serve` prints of it."""
    if not address.isdigit():
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen(128)
        return listener, "ready"
    listener = socket.create_server(("127.0.0.1", int(address)), backlog=128)
    return listener, f"ready {listener.getsockname()[1]}"


def serve(address: str, seed: Any) -> None:
    listener, ready = listen(address)
    print(ready, flush=True)
    number = 0
    while True:
        connection, _ = listener.accept()
        # The kernel takes little beyond what is read, so that what is counted is what the reader has taken.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE_BYTES)
        threading.Thread(target=answer, args=(connection, seed + number), daemon=True).start()
        number += 1


# Clients: each is what is sent first, and what is sent again and again, with a pause. They read nothing unless said.

REQUEST = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b"POST /v1/sync HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CLIENT_KINDS = {
    "nothing": (b"", b"", None),
    "dripping line": (b"G", b"E", 0.5),
    "dripping head": (b"GET / HTTP/1.1\r\nX: ", b"x", 0.5),
    "dripping headers": (b"GET / HTTP/1.1\r\n", b"A: b\r\n", 0.5),
    "endless head": (b"GET / HTTP/1.1\r\nX: ", b"x" * PIECE_BYTES, 0),
    "endless headers": (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 1000, 0),
    "endless line": (b"GET /", b"x" * PIECE_BYTES, 0),
    "dripping body": (BODY + b"Content-Length: 60000\r\n\r\n{", b" ", 0.5),
    "dripping chunks": (BODY + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.5),
    "endless body": (BODY + b"Transfer-Encoding: chunked\r\n\r\n", b"ffff\r\n" + b" " * 0xFFFF + b"\r\n", 0),
    "odd length": (BODY + b"Content-Length: -1\r\n\r\n{}", b"", None),
    "huge length": (BODY + b"Content-Length: 9223372036854775807\r\n\r\n{}", b" ", 0.5),
    "odd chunk": (BODY + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}", b" ", 0.5),
    "half-closing": (REQUEST[:-7], b"", None),
    "taking no answer": (REQUEST, REQUEST * 100, 0),
    "resting": (REQUEST, b"", None),
    "garbage": (bytes(range(256)) * 20, b"\xff\x00", 0.5),
}


class Client:
    def __init__(self, address: str, kind: str) -> None:
        self.kind, (first, self.again, self.pause) = kind, CLIENT_KINDS[kind]
        self.connection = connect(address)
        self.rest = first
        self.start = self.next = time.monotonic()
        self.connection.setblocking(False)
        self.is_shut = False

    def work(self, now: float) -> bool:
        """Sends what is due. Returns whether the connection is still there."""
        try:
            if not self.rest and self.pause is not None and now >= self.next:
                self.rest, self.next = self.again, now + self.pause
            if self.rest:
                self.rest = self.rest[self.connection.send(self.rest) :]
            elif self.kind == "half-closing" and not self.is_shut:
                self.is_shut = True
                self.connection.shutdown(socket.SHUT_WR)
            if self.kind == "taking no answer":
                # Sees the end of a connection whose answers it does not read.
                return (
                    not selectable(self.connection, selectors.EVENT_READ)
                    or self.connection.recv(1, socket.MSG_PEEK) != b""
                )
            return self.connection.recv(1 << 16) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False


def selectable(connection: socket.socket, event: int) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(connection, event)
        return bool(selector.select(0))


def connect(address: str) -> socket.socket:
    if address.isdigit():
        return socket.create_connection(("127.0.0.1", int(address)), timeout=ANSWER_SECONDS)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    connection.connect(address)
    return connection


def ask(address: str, target: str) -> float:
    """One honest request. Returns how long it took."""
    start = time.monotonic()
    with connect(address) as connection:
        connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % target.encode())
        data = b""
        while piece := connection.recv(1 << 16):
            data += piece
    assert data.startswith(b"HTTP/1.1 200 "), data[:200]
    return time.monotonic() - start


def attack(address: str, seed: Any, count: int, target: str) -> None:
    chance = random.Random(seed)
    kinds = [list(CLIENT_KINDS)[number % len(CLIENT_KINDS)] for number in range(count)]
    chance.shuffle(kinds)
    slowest, is_over = [0.0], threading.Event()
    failures: list[str] = []

    def be_honest() -> None:
        while not is_over.is_set():
            try:
                slowest[0] = max(slowest[0], ask(address, target))
            except (OSError, AssertionError) as error:
                failures.append(repr(error))
            is_over.wait(0.2)

    honest = threading.Thread(target=be_honest)
    honest.start()
    try:
        clients = [Client(address, kind) for kind in kinds]
        ended: dict[str, float] = {}
        while clients:
            now = time.monotonic()
            left = []
            for client in clients:
                if client.work(now):
                    left.append(client)
                else:
                    client.connection.close()
                    ended[client.kind] = max(ended.get(client.kind, 0), now - client.start)
            clients = left
            late = sorted({client.kind for client in clients if now - client.start > LIFE_SECONDS})
            assert not late, f"still connected: {late}"
            time.sleep(0.02)
    finally:
        is_over.set()
        honest.join()
    assert not failures, f"{len(failures)} honest requests failed, first: {failures[0]}"
    assert slowest[0] < ANSWER_SECONDS, f"an honest request took {slowest[0]:.1f} s"
    print(
        f"honest {slowest[0]:.1f} s;", ", ".join(f"{kind} {seconds:.0f} s" for kind, seconds in sorted(ended.items()))
    )


def main() -> None:
    match sys.argv[1:]:
        case ["serve", address, seed]:
            serve(address, int(seed))
        case ["attack", address, seed, count, target]:
            attack(address, int(seed), int(count), target)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
