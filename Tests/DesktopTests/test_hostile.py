import contextlib
import importlib
import io
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

from dewpoint_desktop import control, mounts
from dewpoint_desktop.control import Control, Fault
from dewpoint_desktop.following import Follower

sys.path.append(str(pathlib.Path(__file__).parents[1] / "HostilePeers"))
peers = importlib.import_module("hostile_peers")

SECONDS = 0.2
# Far more than any call takes, and far less than the peers would go on.
LIMIT_SECONDS = 30


class HostileTests(unittest.TestCase):
    """Daemons that answer as no honest one does."""

    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.environment = {"XDG_RUNTIME_DIR": self.directory.name}
        self.mount = mounts.Mount(device="0:99", root=b"/", point=b"/mnt/fake", type=mounts.TYPE, owner=os.geteuid())
        self.path = mounts.socket_candidates(self.mount.point, os.geteuid(), self.environment)[0]
        os.makedirs(os.path.dirname(self.path), mode=0o700)
        self.control = Control(self.mount, self.environment)

    def peer(self, seed: int, kind: Callable[[Any], None] | None = None) -> list[int]:
        """A daemon whose every connection is of one kind."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        listener, _ = peers.listen(self.path)
        self.addCleanup(listener.close)
        sent: list[int] = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=self.answer, args=(connection, seed, kind, sent), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return sent

    def answer(self, connection: socket.socket, seed: int, kind: Callable[[Any], None] | None, sent: list[int]) -> None:
        peer = peers.Peer(connection, peers.random.Random(seed))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        with connection:
            try:
                peer.request()
                (kind or peers.SERVER_KINDS[seed % len(peers.SERVER_KINDS)])(peer)
            except (peers.Ended, OSError):
                pass
        sent.append(peer.sent)

    def ends(self, call: Callable[[], Any]) -> Any:
        """The call ends in time, with a fault or an answer."""
        outcome = []

        def run() -> None:
            try:
                outcome.append(call())
            except Fault as fault:
                outcome.append(fault)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(LIMIT_SECONDS)
        self.assertEqual(len(outcome), 1, "it still waits, or failed otherwise")
        return outcome[0]

    def each(self, call: Callable[[], Any]) -> None:
        for seed, kind in enumerate(peers.SERVER_KINDS):
            if kind is peers.deaf:
                continue  # the same as a silent one for requests as small as these
            with self.subTest(kind=kind.__name__):
                sent = self.peer(seed)
                self.ends(call)
                end = time.monotonic() + 5
                while not sent and time.monotonic() < end:
                    time.sleep(0.01)
                # The kernel keeps some; the peer has noticed that nobody reads on.
                self.assertLess(sum(sent), control.ANSWER_BYTES + (4 << 20))

    def test_every_question_ends(self) -> None:
        self.each(lambda: self.control.get("/v1/status", SECONDS))

    def test_every_change_ends(self) -> None:
        self.each(lambda: self.control.post("/v1/sync", {"wait": True}, SECONDS))

    def test_every_listing_ends(self) -> None:
        with mock.patch.object(control, "LISTING_SECONDS", SECONDS):
            self.each(lambda: self.control.directory("d"))

    def test_every_version_ends(self) -> None:
        # What is sent of one is bounded by its length.
        with mock.patch.object(control, "BYTES_PER_SECOND", 1 << 50):
            self.each(lambda: self.control.save("/v1/items/versions/content", io.BytesIO(), SECONDS, path="a", id="b"))

    def test_every_stream_begins_in_time_or_not_at_all_and_ends_when_it_is_closed(self) -> None:
        def follow() -> None:
            with self.control.stream("/v1/events", path="") as stream:
                threading.Timer(SECONDS, stream.close).start()
                for _ in stream:
                    pass

        with mock.patch.object(control, "ANSWER_SECONDS", SECONDS):
            self.each(follow)

    def test_a_listing_that_never_ends_is_given_up(self) -> None:
        def repeat(peer: Any) -> None:
            body = b'{"items": [], "next": "a"}'
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        sent = self.peer(0, repeat)
        self.assertEqual(self.ends(lambda: self.control.directory("d")), {})
        self.assertLessEqual(len(sent), 1)

    def test_a_follower_takes_what_it_cannot_read_for_the_end_of_the_daemon(self) -> None:
        def events(peer: Any) -> None:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"1\n[]\nnull\n")
            peer.wait()

        sent = self.peer(0, events)
        faults: list[threading.ExceptHookArgs] = []
        with mock.patch.object(threading, "excepthook", faults.append):
            follower = Follower(self.mount, lambda *_: None, lambda _: self.control)
            self.addCleanup(follower.close)
            follower.show("d")
            end = time.monotonic() + LIMIT_SECONDS
            while len(sent) < 2 and time.monotonic() < end:
                time.sleep(0.01)
        self.assertGreaterEqual(len(sent), 2, "it did not connect again")
        self.assertEqual(faults, [])


if __name__ == "__main__":
    unittest.main()
