"""What an application in a Flatpak sees of a mount: files that the document portal shows it."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

from .mounted import COMMAND_SECONDS, Mounted

PORTAL = "/usr/libexec/xdg-document-portal"
# It runs in a session of its own: with the portal, and without a display.
SESSION = """
import json, os, subprocess, sys, time
from gi.repository import Gio, GLib
NAME, PATH = "org.freedesktop.portal.Documents", "/org/freedesktop/portal/documents"
portal, file, directory = sys.argv[1:]
mountpoint = os.environ["XDG_RUNTIME_DIR"] + "/doc"
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
process = subprocess.Popen([portal], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

def shown(path, is_directory):
    fds = Gio.UnixFDList.new()
    rights = ["read", "write", "grant-permissions", "delete"]
    number = fds.append(os.open(path, os.O_PATH | os.O_CLOEXEC))
    arguments = GLib.Variant("(ahusas)", ([number], 8 if is_directory else 0, "org.example.App", rights))
    kind = GLib.VariantType("(asa{sv})")
    answer = bus.call_with_unix_fd_list_sync(NAME, PATH, NAME, "AddFull", arguments, kind, 0, 10000, fds, None)
    return f"{mountpoint}/by-app/org.example.App/{answer[0].unpack()[0][0]}/{os.path.basename(path)}"

found = {}
try:
    for _ in range(200):
        if os.path.ismount(mountpoint):
            break
        time.sleep(0.05)
    one, all_ = shown(file, False), shown(directory, True)
    found["size"] = os.stat(one).st_size
    found["before"] = os.getxattr(one, "user.dewpoint.downloadingStatus").decode()
    with open(one, "rb") as stream:
        found["read"] = len(stream.read())
    with open(one, "r+b") as stream:
        stream.write(b"changed")
    with open(all_ + "/new", "w") as stream:
        stream.write("new")
    os.rename(all_ + "/new", all_ + "/renamed")
    found["names"] = sorted(os.listdir(all_))
finally:
    subprocess.run(["fusermount3", "-u", mountpoint], check=False)
    process.terminate()
    process.wait()
print(json.dumps(found))
"""


@unittest.skipUnless(
    os.path.exists(PORTAL) and shutil.which("dbus-run-session"), "xdg-desktop-portal or dbus is not installed"
)
class PortalTests(Mounted):
    def test_an_application_reads_changes_and_saves_files_that_are_not_downloaded(self) -> None:
        os.mkdir(f"{self.point}/shared")
        self.away("shared/picture")
        environment = {**self.environment, "XDG_DATA_HOME": f"{self.work}/data", "HOME": self.work}
        # The rest of a file follows the first read.
        output = subprocess.run(
            ["dbus-run-session", "--", sys.executable, "-c", SESSION, PORTAL, f"{self.point}/shared/picture",
             f"{self.point}/shared"],
            env=environment, timeout=COMMAND_SECONDS, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ).stdout  # fmt: skip
        self.assertEqual(
            json.loads(output), {"size": 5000, "before": "NotDownloaded", "read": 5000, "names": ["picture", "renamed"]}
        )
        with open(f"{self.point}/shared/picture", "rb") as file:
            self.assertEqual(file.read(7), b"changed")
        deadline = time.monotonic() + COMMAND_SECONDS
        while os.path.ismount(f"{self.work}/run/doc") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertFalse(os.path.ismount(f"{self.work}/run/doc"))
