"""Forwards connections to a server; a test cuts them by ending this program.

    python3 forwarder.py [ADDRESS:]PORT SERVER_PORT [LOG]

Both ports are on loopback unless there is an ADDRESS. LOG gets a line for each request of HTTP: its method and its target; LOG.heads gets the whole
heads. The program ends with the process that started it.
"""

import contextlib
import ctypes
import signal
import socket
import sys
import threading

PIECE_BYTE_COUNT = 256 << 10
PR_SET_PDEATHSIG = 1
HEAD_BYTE_LIMIT = 64 << 10

log_lock = threading.Lock()


class Requests:
    """Finds the heads of requests in what a client sends on one connection, and writes them down."""

    def __init__(self, path: str) -> None:
        self.path, self.head, self.body = path, b"", 0

    def feed(self, data: bytes) -> None:
        while data:
            if self.body:
                skipped = min(self.body, len(data))
                self.body -= skipped
                data = data[skipped:]
                continue
            self.head += data
            head, end, data = self.head.partition(b"\r\n\r\n")
            if not end:
                assert len(head) < HEAD_BYTE_LIMIT
                self.head = head
                return
            self.head = b""
            self.take(head)

    def take(self, head: bytes) -> None:
        first, *fields = head.decode("latin-1").split("\r\n")
        for field in fields:
            name, _, value = field.partition(":")
            if name.lower() == "content-length":
                self.body = int(value)
        method, target, _ = first.split(" ")
        with log_lock, open(self.path, "a") as log, open(self.path + ".heads", "ab") as heads:
            log.write(f"{method} {target}\n")
            heads.write(head + b"\n\n")


def pass_on(source: socket.socket, target: socket.socket, requests: Requests | None = None) -> None:
    try:
        while data := source.recv(PIECE_BYTE_COUNT):
            if requests:
                requests.feed(data)
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has closed the connection; close the other one too.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def serve(client: socket.socket, port: int, log: str | None) -> None:
    try:
        server = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        return
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
    back.start()
    pass_on(client, server, Requests(log) if log else None)
    back.join()
    client.close()
    server.close()


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    address, _, port = sys.argv[1].rpartition(":")
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address or "127.0.0.1", int(port)))
    listener.listen(64)
    log = sys.argv[3] if len(sys.argv) > 3 else None
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, int(sys.argv[2]), log), daemon=True).start()


main()
