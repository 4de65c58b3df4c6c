"""The requests of the control API: HTTP and JSON on the Unix socket of a mount. See "The control API" in Operations."""

import contextlib
import http.client
import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import IO, Any, Self

from . import mounts
from .mounts import Mount

CONNECT_SECONDS = 5
ANSWER_SECONDS = 30
# A whole directory, in as many requests as that takes.
LISTING_SECONDS = 120
# The slowest daemon that is waited for when it sends the bytes of a version.
BYTES_PER_SECOND = 1024
# One line of a stream, and the answer to a request.
LINE_BYTES = 1 << 20
ANSWER_BYTES = 64 << 20
# What one request lists of a directory, and the most that is listed of one.
PAGE_ITEMS = 10_000
DIRECTORY_ITEMS = 200_000


class Fault(Exception):
    """A request failed. The text is a sentence; `code` that of the API, `unreachable` when nobody answers."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Connection(http.client.HTTPConnection):
    """One request and its answer. The timeout of the socket ends only a daemon that is silent; the timer ends the
    connection whatever it sends."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("dewpoint", timeout=timeout)
        self._seconds = timeout
        self._path = path
        self._timer = threading.Timer(timeout, self._expire)
        self._timer.daemon = True
        self.is_late = False

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(min(CONNECT_SECONDS, self._seconds))
        self.sock.connect(self._path)
        if not mounts.is_listener_trusted(self.sock, self._path):
            raise PermissionError("another user listens at the socket of the mount")
        self.sock.settimeout(self._seconds)
        # A response without a length takes the socket with it.
        self.kept = self.sock
        self._timer.start()

    def _expire(self) -> None:
        self.is_late = True
        with contextlib.suppress(OSError):
            self.kept.shutdown(socket.SHUT_RDWR)

    def stop_clock(self) -> None:
        """The rest may take any time."""
        self._timer.cancel()
        if self.is_late:
            raise TimeoutError

    def answer(self, response: http.client.HTTPResponse) -> Any:
        """The whole answer, in time."""
        text = response.read(ANSWER_BYTES)
        self.stop_clock()
        return _answer(response.status, text)

    def close(self) -> None:
        self._timer.cancel()
        super().close()


class Control:
    """The control API of one mount. Every call blocks, so none belongs on the main thread of a program with windows."""

    def __init__(self, mount: Mount, environment: Mapping[str, str] | None = None) -> None:
        self.mount = mount
        self._environment = environment

    def get(self, route: str, seconds: float = ANSWER_SECONDS, **query: object) -> Any:
        return self._request("GET", _target(route, query), None, seconds)

    def post(self, route: str, body: Any, seconds: float = ANSWER_SECONDS) -> Any:
        return self._request("POST", route, json.dumps(body), seconds)

    def directory(self, path: str) -> dict[str, dict[str, Any]]:
        """The status of everything directly in a directory, by name."""
        items: dict[str, dict[str, Any]] = {}
        after = None
        end = time.monotonic() + LISTING_SECONDS
        while len(items) < DIRECTORY_ITEMS:
            left = end - time.monotonic()
            if left <= 0:
                raise Fault("timedOut", "the daemon does not list the directory in time")
            query = {"path": path, "limit": PAGE_ITEMS, **({} if after is None else {"after": after})}
            page = self.get("/v1/items", min(left, ANSWER_SECONDS), **query)
            count = len(items)
            try:
                for item in page["items"]:
                    items[item["path"].rpartition("/")[2]] = item
                after = page.get("next")
            except (AttributeError, KeyError, TypeError):
                raise Fault("invalid", "the daemon's answer is no listing") from None
            # A page without anything new would be followed by others like it.
            if after is None or len(items) == count:
                break
        return items

    def _socket(self) -> str:
        path = mounts.find_socket(
            self.mount, **({} if self._environment is None else {"environment": self._environment})
        )
        if path is None:
            raise Fault("unreachable", "the daemon of the mount does not run, or belongs to another user")
        return path

    def _request(self, method: str, target: str, body: str | None, seconds: float) -> Any:
        connection = _Connection(self._socket(), seconds)
        with _faults(connection), contextlib.closing(connection):
            connection.request(method, target, body)
            return connection.answer(connection.getresponse())

    def save(self, route: str, file: IO[bytes], seconds: float = ANSWER_SECONDS, **query: object) -> None:
        """Writes an answer that is bytes into a file."""
        connection = _Connection(self._socket(), seconds)
        with _faults(connection), contextlib.closing(connection):
            connection.request("GET", _target(route, query))
            response = connection.getresponse()
            if response.status != 200:
                connection.answer(response)
            if response.length is None:
                raise Fault("invalid", "the daemon does not say how long the version is")
            connection.stop_clock()
            end = time.monotonic() + seconds + min(response.length, 1 << 50) / BYTES_PER_SECOND
            while piece := response.read1(1 << 20):
                file.write(piece)
                if time.monotonic() > end:
                    raise TimeoutError
            if response.length:
                raise Fault("inputOutput", "the connection broke before the last byte")

    def stream(self, route: str, **query: object) -> "Stream":
        """Lines of JSON until the daemon ends; see Stream."""
        return Stream(self._socket(), _target(route, query))


class Stream:
    """An iterator over the lines of a stream. `close` ends it, from another thread too."""

    def __init__(self, path: str, target: str) -> None:
        self._connection = _Connection(path, ANSWER_SECONDS)
        self._lock = threading.Lock()
        self._is_closed = False
        with _faults(self._connection):
            try:
                self._connection.request("GET", target)
                self._response = self._connection.getresponse()
                if self._response.status != 200:
                    self._connection.answer(self._response)
                    raise Fault("invalid", f"the daemon answered with status {self._response.status}")
                self._connection.stop_clock()
            except BaseException:
                self._connection.close()
                raise
        # Quiet for hours where nothing changes. The end of the daemon ends the connection.
        self._socket = self._connection.kept
        self._socket.settimeout(None)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with _faults():
            while line := self._response.readline(LINE_BYTES):
                value = json.loads(line)
                if not isinstance(value, dict):
                    raise Fault("invalid", "the daemon sent something else than an event")
                yield value

    def close(self) -> None:
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._response.close()
        self._connection.close()


def _target(route: str, query: Mapping[str, object]) -> str:
    # Every byte except letters, digits and `-._~/` is written as %HH. Names may be any bytes.
    words = [f"{name}={urllib.parse.quote(os_bytes(value))}" for name, value in query.items()]
    return f"{route}?{'&'.join(words)}" if words else route


def os_bytes(value: object) -> bytes:
    return str(value).encode("utf-8", "surrogateescape")


def _answer(status: int, text: bytes) -> Any:
    try:
        value = json.loads(text) if text else {}
    except ValueError:
        value = None
    if status == 200 and value is not None:
        return value
    if isinstance(value, dict) and "message" in value:
        raise Fault(str(value.get("code", "")), str(value["message"]))
    raise Fault("unsupported" if status == 404 else "invalid", f"the daemon answered with status {status}")


@contextlib.contextmanager
def _faults(connection: _Connection | None = None) -> Iterator[None]:
    try:
        yield
    except Fault:
        raise
    except TimeoutError:
        raise Fault("timedOut", "the daemon does not answer") from None
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        # AttributeError: http.client reads on after another thread has closed the response.
        if connection and connection.is_late:
            raise Fault("timedOut", "the daemon does not answer in time") from None
        raise Fault("unreachable", f"the daemon ended or cannot be reached: {error}") from None
