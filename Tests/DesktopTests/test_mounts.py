import dataclasses
import os
import tempfile
import unittest
import unittest.mock

from dewpoint_desktop import control, mounts

from .daemon import FakeDaemon

TABLE = b"""\
22 28 0:20 / /proc rw,nosuid - proc proc rw
28 1 254:0 / / rw,relatime - ext4 /dev/vda rw
36 28 0:40 / /mnt/my\\040notes rw,nosuid shared:1 master:2 - fuse.dewpoint dewpoint rw,user_id=1000,group_id=0,allow_other
37 28 0:40 /Photos /srv/photos rw - fuse.dewpoint dewpoint rw,user_id=1000,group_id=0
38 28 0:41 / /mnt/work rw - fuse.dewpoint dewpoint rw,user_id=0,group_id=0
39 38 0:42 / /mnt/work/usb rw - ext4 /dev/sda rw
40 28 0:43 / /mnt/covered rw - fuse.dewpoint dewpoint rw,user_id=0
41 28 0:44 / /mnt/covered rw - tmpfs tmpfs rw
damaged line
"""


class MountTests(unittest.TestCase):
    def place(self, path: bytes) -> tuple[bytes, bytes] | None:
        found = mounts.container(path, mounts.table(TABLE))
        return found and (found[0].point, found[1])

    def test_a_path_belongs_to_the_mount_above_it(self) -> None:
        for path, expected in [
            (b"/mnt/my notes", (b"/mnt/my notes", b"")),
            (b"/mnt/my notes/a/b.jpg", (b"/mnt/my notes", b"a/b.jpg")),
            (b"/mnt/my notes2/a", None),
            (b"/srv/photos/b.jpg", (b"/mnt/my notes", b"Photos/b.jpg")),
            (b"/mnt/work/usb/a", None),
            (b"/mnt/work/a\xff", (b"/mnt/work", b"a\xff")),
            (b"/mnt/covered/a", None),
            (b"/home", None),
        ]:
            with self.subTest(path=path):
                self.assertEqual(self.place(path), expected)

    def test_each_container_is_listed_once(self) -> None:
        found = mounts.containers(mounts.table(TABLE))
        self.assertEqual([mount.point for mount in found], [b"/mnt/my notes", b"/mnt/work", b"/mnt/covered"])
        self.assertEqual(found[0].owner, 1000)

    def test_the_socket_is_where_the_daemon_makes_it(self) -> None:
        # The same as in Tests/ControlAPITests/ControlSocketTests.swift.
        home = "/home/1000/.local/state/dewpoint/sockets/"
        for owner, environment, expected in [
            (1000, {"XDG_RUNTIME_DIR": "/run/user/1000"}, ["/run/user/1000/dewpoint/", "/tmp/dewpoint-1000/", home]),
            (0, {}, ["/run/dewpoint/", "/run/user/0/dewpoint/"]),
            (1000, {"XDG_RUNTIME_DIR": "relative"}, ["/tmp/dewpoint-1000/", home, "/run/user/1000/dewpoint/"]),
            (1000, {"XDG_RUNTIME_DIR": "/" + "x" * 90}, ["/tmp/dewpoint-1000/", home, "/run/user/1000/dewpoint/"]),
        ]:
            with (
                self.subTest(owner=owner, environment=environment),
                unittest.mock.patch.object(mounts, "_home", lambda user: f"/home/{user}"),
            ):
                found = mounts.socket_candidates(b"/mnt/work", owner, environment)
                self.assertEqual([os.path.dirname(path) + "/" for path in found], expected)
        self.assertEqual(os.path.basename(mounts.socket_candidates(b"", 0, {})[0]), "cbf29ce484222325.sock")
        self.assertEqual(os.path.basename(mounts.socket_candidates(b"/mnt/notes", 0, {})[0]), "d8682f1a88a00d99.sock")

    def test_a_socket_in_a_directory_that_others_can_write_is_not_trusted(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(f"{directory}/dewpoint", mode=0o700)
            mount = mounts.Mount("0:1", b"/", b"/mnt/work", mounts.TYPE, os.geteuid())
            environment = {"XDG_RUNTIME_DIR": directory}
            path = mounts.socket_candidates(mount.point, os.geteuid(), environment)[0]
            self.assertIsNone(mounts.find_socket(mount, environment))
            open(path, "w").close()
            self.assertEqual(mounts.find_socket(mount, environment), path)
            os.chmod(f"{directory}/dewpoint", 0o770)
            self.assertIsNone(mounts.find_socket(mount, environment))

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a directory to another user")
    def test_a_link_to_another_users_socket_is_not_asked(self) -> None:
        with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as foreign:
            daemon = FakeDaemon(own)
            try:
                self.refuse_link(daemon, foreign)
            finally:
                daemon.stop()

    def refuse_link(self, daemon: FakeDaemon, foreign: str) -> None:
        real = mounts.socket_candidates(daemon.mount.point, 0, daemon.environment)[0]
        mount = dataclasses.replace(daemon.mount, owner=4242)
        environment = {"XDG_RUNTIME_DIR": foreign}
        link = mounts.socket_candidates(mount.point, 4242, environment)[0]
        os.makedirs(os.path.dirname(link), mode=0o700)
        os.symlink(real, link)
        os.chown(os.path.dirname(link), 4242, 4242)
        self.assertEqual(control.Control(daemon.mount, daemon.environment).post("/v1/sync", {}), {})
        with self.assertRaises(control.Fault) as refused:
            control.Control(mount, environment).post("/v1/sync", {})
        self.assertEqual(refused.exception.code, "unreachable")
        self.assertEqual(len(daemon.posted), 1)
