"""Follows the items of a mount over the control API, without any code of Dewpoint: cases of FollowingTests.

python3 following.py CASE MOUNTPOINT DEWPOINT OTHER_MOUNTPOINT
"""

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from typing import Any

from session import Holder, Session, received, request, socket_path
from waiting import eventually


class Follower:
    """What a client of `GET /v1/items/follow` knows from the lines alone."""

    def __init__(self, point: str, path: str = "") -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.lines: list[dict[str, Any]] = []
        self.gathered: int | None = None
        self.lock = threading.Lock()
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(socket_path(point))
        target = "/v1/items/follow?path=" + urllib.parse.quote(path)
        self.connection.sendall(f"GET {target} HTTP/1.1\r\nHost: dewpoint\r\n\r\n".encode())
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        file = self.connection.makefile("rb")
        while file.readline() not in (b"\r\n", b""):
            pass
        rest = b""
        while size := file.readline().strip():
            rest += file.read(int(size, 16))
            file.readline()
            *lines, rest = rest.split(b"\n")
            with self.lock:
                for line in lines:
                    self.add(json.loads(line))

    def add(self, line: Any) -> None:
        self.lines.append(line)
        ((key, value),) = line.items()
        if key == "item":
            self.items[value["path"]] = value
        elif key == "gathered":
            self.gathered = value["count"]
        elif key == "removed":
            self.take(value["path"])
        elif key == "moved":
            path = value["item"]["path"]
            for old, item in self.take(value["from"]):
                item["path"] = path + old[len(value["from"]) :]
                self.items[item["path"]] = item
            self.items[path] = value["item"]

    def take(self, path: str) -> list[tuple[str, dict[str, Any]]]:
        taken = [(old, item) for old, item in self.items.items() if old == path or old.startswith(path + "/")]
        for old, _ in taken:
            del self.items[old]
        return taken

    def states(self, path: str) -> list[dict[str, Any]]:
        with self.lock:
            return [line["item"] for line in self.lines if "item" in line and line["item"]["path"] == path]

    def close(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        self.connection.close()


class Case:
    def __init__(self, point: str, dewpoint: str, other: str) -> None:
        self.point, self.dewpoint, self.other = point, dewpoint, other

    def path(self, name: str, point: str | None = None) -> str:
        return os.path.join(point or self.point, name)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)

    eventually = staticmethod(eventually)

    def tree(self, top: str = "") -> set[str]:
        """The paths at and below one, as the mount has them."""
        root = self.path(top).rstrip("/")
        paths = {top}
        for directory, names, files in os.walk(root):
            for name in names + files:
                paths.add(os.path.relpath(os.path.join(directory, name), self.point))
        return paths

    def agree(self, follower: Follower, top: str = "") -> None:
        """Waits until the follower knows exactly what the mount has, and its states."""

        def unequal() -> dict[str, Any]:
            paths = self.tree(top)
            with follower.lock:
                known = dict(follower.items)
            wrong: dict[str, Any] = dict.fromkeys(paths - known.keys(), "missing")
            wrong |= dict.fromkeys(known.keys() - paths, "not there")
            if not wrong:
                for path in paths:
                    status = request(self.point, "GET", "/v1/items/status?path=" + urllib.parse.quote(path))
                    if status != known[path]:
                        wrong[path] = (known[path], status)
            return wrong

        self.eventually(lambda: not unequal(), unequal)

    # Cases

    def changes_by_programs(self) -> None:
        os.makedirs(self.path("d/e"))
        self.write("d/e/f", b"one")
        follower = Follower(self.point, "d")
        self.eventually(lambda: follower.gathered == 3, "nothing is listed")
        self.run("cp", "/bin/true", self.path("d/true"))
        os.symlink("e/f", self.path("d/link"))
        self.agree(follower, "d")
        self.run("mv", self.path("d/e"), self.path("d/g"))
        self.agree(follower, "d")
        moved = [line["moved"] for line in follower.lines if "moved" in line]
        assert [(line["from"], line["item"]["path"]) for line in moved] == [("d/e", "d/g")], moved
        self.run("truncate", "-s", "7", self.path("d/g/f"))
        self.agree(follower, "d")
        assert follower.items["d/g/f"]["logicalSize"] == 7
        # An atomic save keeps the item.
        item = follower.items["d/g/f"]["item"]
        self.write("d/g/.f.new", b"saved")
        os.rename(self.path("d/g/.f.new"), self.path("d/g/f"))
        self.agree(follower, "d")
        assert follower.items["d/g/f"]["item"] == item
        self.run("mv", self.path("d/g"), self.path("outside"))
        self.agree(follower, "d")
        self.run("mv", self.path("outside"), self.path("d/back"))
        self.agree(follower, "d")
        assert "d/back/f" in follower.items
        os.chmod(self.path("d/true"), 0o600)
        self.run("rm", "-r", self.path("d"))
        self.eventually(lambda: not follower.items, "the end of d is not told")
        self.write("d", b"a file now")
        self.agree(follower, "d")
        follower.close()

    def changes_of_another_device(self) -> None:
        follower = Follower(self.point)
        self.eventually(lambda: follower.gathered is not None, "nothing is listed")
        os.mkdir(self.path("d", self.other))
        self.write("d/f", b"from B" * 1000, self.other)
        self.eventually(lambda: "d/f" in follower.items, "a new file of B is not told")
        self.agree(follower)
        assert follower.items["d/f"]["downloadingStatus"] == "NotDownloaded", follower.items
        # Slow enough to be seen under way: what is over sooner may be told with its end alone.
        self.run(self.dewpoint, "link", "set", self.point, "--down", "6", "--up", "100")
        with open(self.path("d/f"), "rb") as file:
            file.read()
        self.eventually(lambda: follower.items["d/f"]["downloadingStatus"] == "Current", "the download is not told")
        self.agree(follower)
        assert any(state["isDownloading"] for state in follower.states("d/f"))
        self.run(self.dewpoint, "evict", self.path("d/f"))
        self.eventually(lambda: follower.items["d/f"]["downloadingStatus"] == "NotDownloaded", "eviction is not told")
        os.rename(self.path("d", self.other), self.path("e", self.other))
        self.eventually(lambda: "e/f" in follower.items and "d" not in follower.items, "B's rename is not told")
        self.write("mine", b"x" * 100_000)
        self.eventually(lambda: follower.items.get("mine", {}).get("isUploaded"), "the upload is not told")
        assert any(state["isUploading"] for state in follower.states("mine"))
        self.run(self.dewpoint, "link", "clear", self.point)
        self.agree(follower)
        follower.close()

    def a_slow_download_advances(self) -> None:
        self.write("f", os.urandom(6 << 20), self.other)
        self.run(self.dewpoint, "sync", "--wait", self.other)
        follower = Follower(self.point)
        self.eventually(lambda: "f" in follower.items, "the file is not told")
        self.run(self.dewpoint, "download", self.path("f"))
        self.eventually(lambda: follower.items["f"]["downloadingStatus"] == "Current", "it does not end", 60)
        states = [state for state in follower.states("f") if state["isDownloading"]]
        assert all(state["downloadingStatus"] == "NotDownloaded" for state in states), states
        percents = [state["percentDownloaded"] for state in states]
        assert percents == sorted(percents), percents
        assert len({percent for percent in percents if 0 < percent < 100}) >= 3, percents
        assert len(percents) < 100, percents
        follower.close()

    def a_client_that_does_not_read_is_disconnected(self) -> None:
        for name in "ab":
            os.mkdir(self.path(name))
        connection = socket.socket(socket.AF_UNIX)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(socket_path(self.point))
        connection.sendall(b"GET /v1/items/follow?path= HTTP/1.1\r\nHost: dewpoint\r\n\r\n")
        time.sleep(0.5)
        libc = ctypes.CDLL(None, use_errno=True)
        names = [os.fsencode(self.path(name)) for name in "ab"]
        exchange = 2
        ended = select.poll()
        ended.register(connection, select.POLLHUP | select.POLLRDHUP)
        # Each exchange is three changes of names.
        for count in range(40_000):
            assert libc.renameat2(-100, names[0], -100, names[1], exchange) == 0, os.strerror(ctypes.get_errno())
            if count % 100 == 0 and any(what & select.POLLHUP for _, what in ended.poll(0)):
                break
        else:
            raise AssertionError("the client is not disconnected")
        connection.close()
        # Others are served.
        follower = Follower(self.point)
        self.agree(follower)
        follower.close()

    def refusals_and_versions(self) -> None:
        fault = request(self.point, "GET", "/v1/items/follow?path=no")
        assert (fault["code"], fault["errno"]) == ("notFound", 2), fault
        for text in (b"one", b"two!"):
            self.write("f", text)
            self.run(self.dewpoint, "sync", "--wait", self.point)
        current, earlier = request(self.point, "GET", "/v1/items/versions?path=f")
        assert self.content("f", "current") == b"two!"
        assert self.content("f", earlier["id"]) == b"one"
        assert json.loads(self.content("f", "commit-99"))["code"] == "superseded"
        assert json.loads(self.content("f", ""))["code"] == "superseded"
        body = {"path": "f", "id": earlier["id"]}
        assert request(self.point, "POST", "/v1/items/versions/mark-resolved", body) == {}
        assert request(self.point, "POST", "/v1/items/versions/discard", body) == {}
        assert request(self.point, "POST", "/v1/items/versions/discard", body)["code"] == "superseded"
        body["id"] = "current"
        assert request(self.point, "POST", "/v1/items/versions/discard", body)["code"] == "invalid"
        assert request(self.point, "GET", "/v1/items/versions?path=f") == [current]

    def a_program_waits_for_a_claim_of_a_declared_package(self) -> None:
        for name in ("P.csdoc", "Q.rtfd"):
            os.mkdir(self.path(name))
            for file in "ab":
                self.write(f"{name}/{file}", b"x")
        assert not self.waits("P.csdoc")
        session = Session(self.point)
        session.send({"packages": {"extensions": ["CsDoc"]}})
        session.send({"packages": {"extensions": ["a.b"]}})
        assert session.take("refused")["code"] == "invalid"
        for name in ("P.csdoc", "Q.rtfd"):
            assert self.waits(name), name
        session.close()
        self.eventually(lambda: not self.waits("P.csdoc"), "the declaration outlives its session")

    def waits(self, name: str) -> bool | None:
        """Whether a plain program's write of a file waits for the claim of another one in the same directory."""
        holder = Holder(self.point, (f"{name}/a", "plain"))
        writer = subprocess.Popen(["sh", "-c", 'echo y > "$0"', self.path(f"{name}/b")])
        try:
            writer.wait(0.7)
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            assert holder.release()
            assert writer.wait(20) == 0

    # Helpers

    def write(self, name: str, data: bytes, point: str | None = None) -> None:
        with open(self.path(name, point), "wb") as file:
            file.write(data)

    def content(self, path: str, version: Any) -> bytes:
        query = urllib.parse.urlencode({"path": path, "id": version}, quote_via=urllib.parse.quote)
        return received(self.point, "GET", "/v1/items/versions/content?" + query)


def main() -> None:
    case, point, dewpoint, other = sys.argv[1:5]
    try:
        getattr(Case(point, dewpoint, other), case)()
    finally:
        Session.end_all()


if __name__ == "__main__":
    main()
