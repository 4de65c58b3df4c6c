"""The S3 server that everything is measured on, and the few requests that filling and checking it take."""

import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from .machine import SCRIPTS, Failure, run

SERVER_SECONDS = 120
REQUEST_SECONDS = 60
PROXY_SECONDS = 10
FLUSH_SECONDS = 0.1

Job = TypeVar("Job")


class Server:
    """Ceph's radosgw, as scripts/s3-server starts it. It ends with this process, however that ends."""

    script = os.path.join(SCRIPTS, "s3-server")

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.log = os.path.join(directory, "log", "client.rgw.log")
        run(
            self.script,
            "start",
            directory,
            seconds=SERVER_SECONDS,
            environment={**os.environ, "OWNER": str(os.getpid())},
        )
        with open(os.path.join(directory, "environment"), encoding="ascii") as file:
            self.environment = dict(line.rstrip("\n").split("=", 1) for line in file)
        self.port = urllib.parse.urlsplit(self.environment["AWS_ENDPOINT_URL"]).port or 0

    def bucket(self, name: str) -> None:
        run(self.script, "bucket", self.directory, name)

    def remove(self, bucket: str, prefix: str) -> None:
        """Deletes the objects below a prefix. The server keeps everything in memory, which soon is all that there is."""
        each(
            self.environment, Store(self.environment).list(bucket, prefix), lambda store, key: store.delete(bucket, key)
        )
        run(self.script, "collect", self.directory, seconds=SERVER_SECONDS)

    def through(self, port: int) -> dict[str, str]:
        """The same server's variables, by way of a proxy."""
        return {**self.environment, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}

    def mark(self) -> int:
        """A place in the server's log, to count requests from."""
        time.sleep(FLUSH_SECONDS)
        return os.path.getsize(self.log)

    def requests(self, mark: int) -> dict[str, int]:
        """How many requests of each kind came since a mark."""
        time.sleep(FLUSH_SECONDS)
        counts: dict[str, int] = {}
        with open(self.log, "rb") as log:
            log.seek(mark)
            for method in re.findall(rb'beast: .*?"([A-Z]+) ', log.read()):
                counts[method.decode()] = counts.get(method.decode(), 0) + 1
        return counts

    def stop(self) -> None:
        with contextlib.suppress(Failure):
            run(self.script, "kill", self.directory, seconds=SERVER_SECONDS)


class Proxy:
    """A way to a server that takes a while; see scripts/delay-proxy."""

    def __init__(self, port: int, round_trip: float, limit: float = 0) -> None:
        # `limit`: megabytes a second of each connection; 0 for none.
        words = ["--round-trip", str(round_trip), "--limit", str(limit)]
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(SCRIPTS, "delay-proxy"), str(port), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline())

    def stop(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(PROXY_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Store:
    """One connection to the server."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.host = urllib.parse.urlsplit(environment["AWS_ENDPOINT_URL"]).netloc
        self.connection = http.client.HTTPConnection(self.host, timeout=REQUEST_SECONDS)

    def request(
        self,
        method: str,
        bucket: str,
        key: str = "",
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        """Sends a signed request (SigV4) and returns the answer, which must be read."""
        path = "/" + urllib.parse.quote(f"{bucket}/{key}" if key else bucket)
        words = urllib.parse.urlencode(sorted((query or {}).items()), quote_via=urllib.parse.quote)
        now = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
        payload = hashlib.sha256(body).hexdigest()
        signed = {"host": self.host, "x-amz-content-sha256": payload, "x-amz-date": now, **(headers or {})}
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        request = f"{method}\n{path}\n{words}\n{lines}\n{names}\n{payload}"
        scope = f"{now[:8]}/{self.environment['AWS_REGION']}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        signing = b"AWS4" + self.environment["AWS_SECRET_ACCESS_KEY"].encode()
        for part in [*scope.split("/"), text]:
            signing = hmac.new(signing, part.encode(), hashlib.sha256).digest()
        credential = f"{self.environment['AWS_ACCESS_KEY_ID']}/{scope}"
        signed["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signing.hex()}"
        )
        self.connection.request(method, path + ("?" + words if words else ""), body=body, headers=signed)
        answer = self.connection.getresponse()
        if answer.status >= 300:
            raise Failure(f"{method} {path}: {answer.status} {answer.read()[:200].decode(errors='replace')}")
        return answer

    def put(self, bucket: str, key: str, body: bytes, metadata: Mapping[str, int] | None = None) -> None:
        headers = {f"x-amz-meta-{name}": str(value) for name, value in (metadata or {}).items()}
        headers["content-md5"] = base64.b64encode(hashlib.md5(body).digest()).decode()
        self.request("PUT", bucket, key, body=body, headers=headers).read()

    def get_into(self, bucket: str, key: str, start: int, view: memoryview) -> None:
        """Reads a range of an object into a buffer, which says how long it is."""
        answer = self.request("GET", bucket, key, headers={"range": f"bytes={start}-{start + len(view) - 1}"})
        count = 0
        while count < len(view):
            step = answer.readinto(view[count:])
            if not step:
                raise Failure(f"{key} ended early")
            count += step
        answer.read()

    def list(self, bucket: str, prefix: str = "", limit: int | None = None) -> dict[str, int]:
        """The keys of objects and their sizes."""
        found: dict[str, int] = {}
        token = None
        while True:
            query = {"list-type": "2", "prefix": prefix, "max-keys": str(limit or 1000)}
            if token:
                query["continuation-token"] = token
            page = xml.etree.ElementTree.fromstring(self.request("GET", bucket, query=query).read())
            space = page.tag.partition("}")[0] + "}"
            for entry in page.iter(f"{space}Contents"):
                found[entry.findtext(f"{space}Key", "")] = int(entry.findtext(f"{space}Size", ""))
            token = page.findtext(f"{space}NextContinuationToken")
            if limit or page.findtext(f"{space}IsTruncated") != "true":
                return found

    def delete(self, bucket: str, key: str) -> None:
        self.request("DELETE", bucket, key).read()


def each(
    environment: Mapping[str, str], jobs: Iterable[Job], action: Callable[[Store, Job], None], width: int = 16
) -> None:
    """Does the same with many objects at once: action(store, job) on `width` connections."""
    left, lock = iter(jobs), threading.Lock()
    failures: list[Exception] = []

    def serve() -> None:
        store = Store(environment)
        while not failures:
            with lock:
                job = next(left, None)
            if job is None:
                return
            try:
                action(store, job)
            except Exception as problem:
                failures.append(problem)

    threads = [threading.Thread(target=serve) for _ in range(width)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
