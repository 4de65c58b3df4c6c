"""A daemon that is none: answers the requests of the control API that file managers make, on a socket of its own."""

import base64
import http.server
import json
import os
import queue
import socketserver
import threading
import time
import urllib.parse
from typing import Any

from dewpoint_desktop import mounts


def status(path: str, **values: object) -> dict[str, Any]:
    return {
        "path": path, "kind": "file", "downloadingStatus": "NotDownloaded", "isUploaded": True, "isUploading": False,
        "isDownloading": False, "isUbiquitousItem": True, "isSyncPaused": False, "pinned": False, "conflictCount": 0, **values,
    }  # fmt: skip


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class FakeDaemon:
    """`items`: path → status. `requests`: the targets that were asked for, in order. `following_pause`: how long after
    the head of its answer a stream of events begins, in seconds. `previews`: path → JPEG; None for a daemon that knows
    none."""

    def __init__(self, directory: str, point: bytes = b"/mnt/fake") -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.posted: list[tuple[str, Any]] = []
        self.previews: dict[str, bytes] | None = None
        self.following_pause = 0.0
        self._streams: list[queue.Queue[dict[str, Any] | None]] = []
        self.environment = {"XDG_RUNTIME_DIR": directory}
        self.mount = mounts.Mount(device="0:99", root=b"/", point=point, type=mounts.TYPE, owner=os.geteuid())
        self._path = mounts.socket_candidates(point, os.geteuid(), self.environment)[0]
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        self.start()

    def start(self) -> None:
        daemon = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                daemon._get(self)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                order = json.loads(body)
                daemon.posted.append((self.path, order))
                if self.path == "/v1/previews":
                    daemon._send_previews(self, order["paths"])
                else:
                    daemon._reply(self, 200, {})

            def address_string(self) -> str:
                return "client"

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(self._path, Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        os.unlink(self._path)
        for stream in self._streams:
            stream.put(None)
        self._streams = []

    def tell(self, **event: object) -> None:
        for stream in self._streams:
            stream.put({"event": "ubiquityAttributes", **event})

    def _get(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        target = urllib.parse.urlsplit(handler.path)
        query = {key: values[0] for key, values in urllib.parse.parse_qs(target.query, keep_blank_values=True).items()}
        match target.path:
            case "/v1/events":
                self._stream(handler)
            case "/v1/items/status" if query["path"] in self.items:
                self._reply(handler, 200, self.items[query["path"]])
            case "/v1/items":
                found = sorted(path for path in self.items if path.rpartition("/")[0] == query["path"])
                found = [path for path in found if path.rpartition("/")[2] > query.get("after", "")]
                page = found[: min(int(query["limit"]), 2)] if "small" in query["path"] else found
                answer: dict[str, Any] = {"items": [self.items[path] for path in page]}
                if len(page) < len(found):
                    answer["next"] = page[-1].rpartition("/")[2]
                self._reply(handler, 200, answer)
            case _:
                self._reply(handler, 404, {"code": "notFound", "message": "no such item", "errno": 2})

    def _send_previews(self, handler: http.server.BaseHTTPRequestHandler, paths: list[str]) -> None:
        if self.previews is None:
            self._reply(handler, 404, {"code": "unsupported", "message": "there is no such request"})
            return
        found = [(path, self.previews[path]) for path in paths if path in self.previews]
        answer = [
            {"path": path, "byteCount": len(preview), "preview": base64.b64encode(preview).decode()}
            for path, preview in found
        ]
        self._reply(handler, 200, {"previews": answer})

    def _reply(self, handler: http.server.BaseHTTPRequestHandler, number: int, value: object) -> None:
        text = json.dumps(value).encode()
        handler.send_response(number)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    def _stream(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        time.sleep(self.following_pause)
        lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        lines.put({"event": "following", "path": ""})
        self._streams.append(lines)
        while (line := lines.get()) is not None:
            text = json.dumps(line).encode() + b"\n"
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        handler.close_connection = True
