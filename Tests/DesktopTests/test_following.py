import tempfile
import threading
import time
import unittest
from typing import Any

from dewpoint_desktop.control import Control, Fault
from dewpoint_desktop.following import Follower, Items
from dewpoint_desktop.states import State

from .daemon import FakeDaemon, status

WAIT_SECONDS = 5


class FollowingTests(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.daemon = FakeDaemon(self.directory.name)
        self.told: dict[bytes, State | None] = {}
        self.changed = threading.Condition()
        self.control = Control(self.daemon.mount, self.daemon.environment)

    def follow(self) -> Follower:
        follower = Follower(self.daemon.mount, self.note, lambda _: self.control)
        self.addCleanup(follower.close)
        return follower

    def note(self, directory: bytes, items: Items) -> None:
        with self.changed:
            for name, shown in items.items():
                self.told[directory + b"/" + name.encode()] = shown.state if shown else None
            self.changed.notify_all()

    def wait(self, path: bytes, expected: Any) -> None:
        with self.changed:
            reached = self.changed.wait_for(lambda: self.told.get(path, "unknown") == expected, WAIT_SECONDS)
        self.assertTrue(reached, f"{path!r}: {self.told.get(path, 'unknown')}, not {expected}")

    def listings(self) -> list[str]:
        return [request for request in self.daemon.requests if request.startswith("/v1/items?")]

    def test_one_request_lists_a_directory_and_events_update_it(self) -> None:
        for number in range(1000):
            self.daemon.items[f"d/{number}"] = status(f"d/{number}")
        self.follow().show("d")
        self.wait(b"/mnt/fake/d/999", State.CLOUD)
        self.assertEqual(len(self.told), 1000)
        self.assertEqual(len(self.listings()), 1)
        self.daemon.items["d/7"] = status("d/7", downloadingStatus="Current")
        started = time.monotonic()
        self.daemon.tell(path="d/7")
        self.wait(b"/mnt/fake/d/7", State.LOCAL)
        self.assertLess(time.monotonic() - started, 2)
        self.assertEqual(len(self.listings()), 1)
        # Many changes at once are one request.
        for number in range(1000):
            self.daemon.items[f"d/{number}"] = status(f"d/{number}", pinned=True)
            self.daemon.tell(path=f"d/{number}")
        self.wait(b"/mnt/fake/d/999", State.PINNED)
        self.wait(b"/mnt/fake/d/0", State.PINNED)
        self.assertLess(len(self.daemon.requests), 60)

    def test_a_removed_item_is_forgotten_and_a_moved_directory_is_listed_again(self) -> None:
        self.daemon.items = {"d": status("d", kind="directory"), "d/a": status("d/a"), "d/b": status("d/b")}
        self.follow().show("d")
        self.wait(b"/mnt/fake/d/b", State.CLOUD)
        del self.daemon.items["d/a"]
        self.daemon.tell(event="deleted", path="d/a")
        self.wait(b"/mnt/fake/d/a", None)
        self.daemon.items = {"e/b": status("e/b")}
        self.daemon.tell(event="moved", **{"from": "d", "path": "e"})
        self.wait(b"/mnt/fake/d/b", None)

    def test_a_pin_of_a_directory_concerns_what_is_in_it(self) -> None:
        self.daemon.items = {"d/e/a": status("d/e/a")}
        self.follow().show("d/e")
        self.wait(b"/mnt/fake/d/e/a", State.CLOUD)
        self.daemon.items["d/e/a"] = status("d/e/a", pinned=True)
        self.daemon.tell(path="d", keys=["pinned"])
        self.wait(b"/mnt/fake/d/e/a", State.PINNED)

    def test_no_change_is_missed_before_the_daemon_says_that_it_follows(self) -> None:
        self.daemon.following_pause = 0.3
        self.daemon.items = {"a": status("a")}
        self.follow().show("")
        self.wait(b"/mnt/fake/a", State.CLOUD)
        self.daemon.items["a"] = status("a", downloadingStatus="Current")
        self.daemon.tell(path="a")
        self.wait(b"/mnt/fake/a", State.LOCAL)

    def test_when_the_daemon_ends_nothing_is_known_and_when_it_comes_back_all_is(self) -> None:
        self.daemon.items = {"a": status("a")}
        self.follow().show("")
        self.wait(b"/mnt/fake/a", State.CLOUD)
        self.daemon.stop()
        self.wait(b"/mnt/fake/a", None)
        self.daemon.items["a"] = status("a", downloadingStatus="Current")
        self.daemon.start()
        self.wait(b"/mnt/fake/a", State.LOCAL)

    def test_a_directory_without_an_answer_yet_is_listed_when_the_daemon_comes(self) -> None:
        self.daemon.stop()
        self.follow().show("")
        self.daemon.items = {"a": status("a")}
        self.daemon.start()
        self.wait(b"/mnt/fake/a", State.CLOUD)

    def test_long_directories_come_in_pages(self) -> None:
        self.daemon.items = {f"small/{name}": status(f"small/{name}") for name in "abcde"}
        self.assertEqual(list(self.control.directory("small")), list("abcde"))
        self.assertEqual(len(self.listings()), 3)

    def test_names_of_any_bytes_are_asked_for(self) -> None:
        with self.assertRaises(Fault) as caught:
            self.control.get("/v1/items/status", path="a b+ü\udcff%&")
        self.assertEqual(str(caught.exception), "no such item")
        self.assertEqual(self.daemon.requests[-1], "/v1/items/status?path=a%20b%2B%C3%BC%FF%25%26")

    def test_without_a_daemon_a_request_fails_at_once(self) -> None:
        self.daemon.stop()
        started = time.monotonic()
        with self.assertRaises(Fault) as caught:
            self.control.get("/v1/status")
        self.assertEqual(caught.exception.code, "unreachable")
        self.assertLess(time.monotonic() - started, 1)
