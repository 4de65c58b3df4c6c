"""On a real mount: the helper of a file manager, and its end in the file manager."""

import json
import os
import select
import subprocess
import sys
import time
import unittest
from collections.abc import Callable
from typing import IO, Any

from dewpoint_desktop import mounts
from dewpoint_desktop.control import Control

from .mounted import COMMAND_SECONDS, FOLLOWING_SECONDS, Mounted

try:
    from gi.repository import GLib
except ImportError:
    GLib = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = f"{ROOT}/Sources/Desktop/dewpoint_desktop"
# What a helper reads, and what it says.
Pipes = tuple[IO[bytes], IO[bytes]]


class MountTests(Mounted):
    def helper(self) -> Pipes:
        process = subprocess.Popen(
            [sys.executable, PACKAGE, "states"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            bufsize=0,
        )
        self.addCleanup(process.wait, COMMAND_SECONDS)
        assert process.stdin and process.stdout
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        return process.stdin, process.stdout

    def order(self, helper: Pipes, **order: object) -> None:
        helper[0].write(json.dumps(order).encode() + b"\n")
        helper[0].flush()

    def until(self, helper: Pipes, name: str, expected: Any) -> float:
        """Reads answers until an item has a state; the seconds that it took."""
        started, seen = time.monotonic(), "nothing"
        while (left := started + FOLLOWING_SECONDS - time.monotonic()) > 0:
            if not select.select([helper[1]], [], [], left)[0]:
                break
            # Unbuffered: a line that came with another one would not be seen by select.
            items = json.loads(helper[1].readline())["items"]
            if name in items:
                seen = items[name] and items[name][0]
                if seen == expected:
                    return time.monotonic() - started
        raise self.failureException(f"{name} was {seen}, not {expected}, within {FOLLOWING_SECONDS} s")

    def test_the_socket_is_found_and_answers(self) -> None:
        (mount,) = [mount for mount in mounts.containers() if mount.point == self.point.encode()]
        self.assertIsNotNone(mounts.find_socket(mount, self.environment))
        status = Control(mount, self.environment).get("/v1/status")
        self.assertEqual((status["mountpoint"], status["deviceName"]), (self.point, "desk"))

    def test_states_follow_commands_and_the_menu_without_a_download(self) -> None:
        self.away("a.jpg", "b.jpg")
        helper = self.helper()
        self.order(helper, show=self.point)
        self.until(helper, "b.jpg", "cloud")
        self.dewpoint("download", "--wait", f"{self.point}/a.jpg")
        seconds = [self.until(helper, "a.jpg", "local")]
        self.dewpoint("pin", f"{self.point}/a.jpg")
        seconds.append(self.until(helper, "a.jpg", "pinned"))
        self.dewpoint("unpin", f"{self.point}/a.jpg")
        seconds.append(self.until(helper, "a.jpg", "local"))
        self.order(helper, act="/v1/items/evict", paths=[f"{self.point}/a.jpg"], values={})
        seconds.append(self.until(helper, "a.jpg", "cloud"))
        os.rename(f"{self.point}/a.jpg", f"{self.point}/c.jpg")
        seconds.append(self.until(helper, "c.jpg", "cloud"))
        print("states were followed within", ", ".join(f"{second:.2f} s" for second in seconds), file=sys.stderr)
        (mount,) = [mount for mount in mounts.containers() if mount.point == self.point.encode()]
        status = Control(mount, self.environment).get("/v1/items/status", path="b.jpg")
        self.assertEqual(status["downloadingStatus"], "NotDownloaded")

    def test_a_file_manager_that_is_not_in_python_asks_for_its_menu(self) -> None:
        self.away("a.jpg")
        helper, path = self.helper(), f"{self.point}/a.jpg"

        def menu(number: int, *paths: str) -> dict[str, Any]:
            self.order(helper, menu=number, paths=paths)
            while (answer := json.loads(helper[1].readline())).get("menu") != number:
                pass
            return {action["label"]: action["order"] for action in answer["actions"]}

        self.order(helper, show=self.point)
        self.until(helper, "a.jpg", "cloud")
        offered = menu(1, path)
        self.assertEqual(list(offered), ["_Keep on This Device", "_Download Now", "_Versions…"])
        self.assertEqual(offered["_Versions…"], {"start": "versions"})
        self.order(helper, paths=[path], **offered["_Keep on This Device"])
        self.until(helper, "a.jpg", "pinned")
        self.assertIn("Do Not _Keep on This Device", menu(2, path))
        # A directory that was never shown may have anything in it; elsewhere is nothing to offer for.
        os.mkdir(f"{self.point}/d")
        self.assertEqual(len(menu(3, f"{self.point}/d")), 3)
        self.assertEqual(menu(4), {})

    def test_states_go_with_the_daemon_and_come_back_with_it(self) -> None:
        self.away("a.jpg")
        helper = self.helper()
        self.order(helper, show=self.point)
        self.until(helper, "a.jpg", "cloud")
        self.unmount()
        self.until(helper, "a.jpg", None)
        self.mount()
        self.until(helper, "a.jpg", "cloud")

    @unittest.skipUnless(GLib, "python3-gi is not installed")
    def test_a_file_manager_never_waits_and_survives_its_helper(self) -> None:
        from dewpoint_desktop.shown import ShownItems

        self.away("a.jpg")
        changed: list[bytes] = []
        os.environ["XDG_RUNTIME_DIR"] = self.environment["XDG_RUNTIME_DIR"]
        shown = ShownItems(changed.extend, [sys.executable, PACKAGE, "states"])
        self.addCleanup(shown.close)
        path = f"{self.point}/a.jpg".encode()

        def wait(condition: Callable[[], object]) -> None:
            end, context = time.monotonic() + FOLLOWING_SECONDS, GLib.MainContext.default()
            while not condition() and time.monotonic() < end:
                context.iteration(False)
                time.sleep(0.01)
            self.assertTrue(condition())

        def words() -> str | None:
            found = shown.of(path)
            return found.words if found else None

        started = time.monotonic()
        self.assertIsNone(shown.of(path))
        self.assertLess(time.monotonic() - started, 0.5)
        self.assertIsNone(shown.of(b"/etc/passwd"))
        wait(lambda: path in changed)
        self.assertEqual(words(), "In the cloud")
        assert shown._process
        shown._process.kill()
        wait(lambda: shown._process is None)
        self.dewpoint("download", "--wait", f"{self.point}/a.jpg")
        wait(lambda: words() == "On this device")
