"""Answers every request in place of a server, as networks do that require a login.

    python3 portal.py PORT KIND

    page       200 with a page for people, whatever the request
    missing    404 with such a page
    refusal    403 with such a page
    empty      200 without a body
    slow-down  503 as S3 says it, with Retry-After

The port is on loopback. The program ends with the process that started it.
"""

import ctypes
import http.server
import signal
import sys

PR_SET_PDEATHSIG = 1
PAGE = b"<html><body><h1>Welcome</h1>Please log in to use this network.</body></html>"
SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
HTML = {"Content-Type": "text/html"}
ANSWERS: dict[str, tuple[int, dict[str, str], bytes]] = {
    "page": (200, HTML, PAGE),
    "missing": (404, HTML, PAGE),
    "refusal": (403, HTML, PAGE),
    "empty": (200, {}, b""),
    "slow-down": (503, {"x-amz-request-id": "1", "Retry-After": "2"}, SLOW_DOWN),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        status, headers, body = ANSWERS[sys.argv[2]]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()


main()
