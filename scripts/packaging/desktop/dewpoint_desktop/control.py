"""The requests of the control API: HTTP and JSON on the Unix socket of a mount. See "The control API" in Operations."""

import contextlib
import http.client
import json
import socket
import threading
import urllib.parse

from . import mounts

CONNECT_SECONDS = 5
ANSWER_SECONDS = 30
# One line of a stream, and the answer to a request.
LINE_BYTES = 1 << 20
ANSWER_BYTES = 64 << 20
# What one request lists of a directory, and the most that is listed of one.
PAGE_ITEMS = 10_000
DIRECTORY_ITEMS = 200_000


class Fault(Exception):
    """A request failed. The text is a sentence; `code` that of the API, `unreachable` when nobody answers."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("dewpoint", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(min(CONNECT_SECONDS, self.timeout))
        self.sock.connect(self._path)
        if not mounts.is_listener_trusted(self.sock, self._path):
            raise PermissionError("another user listens at the socket of the mount")
        self.sock.settimeout(self.timeout)


class Control:
    """The control API of one mount. Every call blocks, so none belongs on the main thread of a program with windows."""

    def __init__(self, mount, environment=None):
        self.mount = mount
        self._environment = environment

    def get(self, route, seconds=ANSWER_SECONDS, **query):
        return self._request("GET", _target(route, query), None, seconds)

    def post(self, route, body, seconds=ANSWER_SECONDS):
        return self._request("POST", route, json.dumps(body), seconds)

    def directory(self, path):
        """The status of everything directly in a directory, by name."""
        items, after = {}, None
        while len(items) < DIRECTORY_ITEMS:
            query = {"path": path, "limit": PAGE_ITEMS, **({} if after is None else {"after": after})}
            page = self.get("/v1/items", **query)
            for item in page["items"]:
                items[item["path"].rpartition("/")[2]] = item
            after = page.get("next")
            if after is None:
                break
        return items

    def _socket(self):
        path = mounts.find_socket(self.mount, **({} if self._environment is None else {"environment": self._environment}))
        if path is None:
            raise Fault("unreachable", "the daemon of the mount does not run, or belongs to another user")
        return path

    def _request(self, method, target, body, seconds):
        connection = _Connection(self._socket(), seconds)
        with _faults(), contextlib.closing(connection):
            connection.request(method, target, body)
            response = connection.getresponse()
            text = response.read(ANSWER_BYTES)
            return _answer(response.status, text)

    def save(self, route, file, seconds=ANSWER_SECONDS, **query):
        """Writes an answer that is bytes into a file."""
        connection = _Connection(self._socket(), seconds)
        with _faults(), contextlib.closing(connection):
            connection.request("GET", _target(route, query))
            response = connection.getresponse()
            if response.status != 200:
                _answer(response.status, response.read(ANSWER_BYTES))
            while piece := response.read(1 << 20):
                file.write(piece)
            if response.length:
                raise Fault("inputOutput", "the connection broke before the last byte")

    def stream(self, route, **query):
        """Lines of JSON until the daemon ends; see Stream."""
        return Stream(self._socket(), _target(route, query))


class Stream:
    """An iterator over the lines of a stream. `close` ends it, from another thread too."""

    def __init__(self, path, target):
        self._connection = _Connection(path, ANSWER_SECONDS)
        self._lock = threading.Lock()
        self._is_closed = False
        with _faults():
            try:
                self._connection.request("GET", target)
                self._response = self._connection.getresponse()
                if self._response.status != 200:
                    _answer(self._response.status, self._response.read(ANSWER_BYTES))
            except BaseException:
                self._connection.close()
                raise
        # Quiet for hours where nothing changes. The end of the daemon ends the connection.
        self._socket = self._connection.sock or self._response.fp.raw._sock
        self._socket.settimeout(None)

    def __iter__(self):
        with _faults():
            while line := self._response.readline(LINE_BYTES):
                yield json.loads(line)

    def close(self):
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self._response.close()
        self._connection.close()


def _target(route, query):
    # Every byte except letters, digits and `-._~/` is written as %HH. Names may be any bytes.
    words = [f"{name}={urllib.parse.quote(os_bytes(value))}" for name, value in query.items()]
    return f"{route}?{'&'.join(words)}" if words else route


def os_bytes(value):
    return str(value).encode("utf-8", "surrogateescape")


def _answer(status, text):
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
def _faults():
    try:
        yield
    except Fault:
        raise
    except TimeoutError:
        raise Fault("timedOut", "the daemon does not answer") from None
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
        # AttributeError: http.client reads on after another thread has closed the response.
        raise Fault("unreachable", f"the daemon ended or cannot be reached: {error}") from None
