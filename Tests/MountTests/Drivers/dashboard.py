"""The page of `dewpoint dashboard`, in Chromium and with requests that it must refuse: cases of DashboardTests.

    python3 dashboard.py CASE MOUNTPOINT DEWPOINT OTHER_MOUNTPOINT

With DEWPOINT_SCREENSHOTS, the pictures of the case "every_view_fits" are written to that directory.
"""

import http.client
import http.server
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from typing import Any, Self

from browser import Page
from session import Session, request
from waiting import eventually

# What the issue of an event's way to the page asks for, and how long a busy machine may take in a test.
LIMIT = 30
# A score of "good" is below 0.1: web.dev, Cumulative Layout Shift.
LAYOUT_SHIFT = 0.02
HOSTILE = '<img src=x onerror="document.title=1">.txt'
REVERSED = "gepj\u202etxt.exe"


class Dashboard:
    """A running `dewpoint dashboard`."""

    def __init__(self, dewpoint: str, *arguments: Any, **environment: str) -> None:
        self.process = subprocess.Popen(
            [dewpoint, "dashboard", *arguments], stdout=subprocess.PIPE, env=dict(os.environ, **environment), text=True
        )
        assert self.process.stdout
        self.said = self.process.stdout.readline().strip()
        self.url = json.loads(self.said)["url"] if self.said.startswith("{") else self.said
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.fragment = parts.port or 0, parts.fragment
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def request(
        self, method: str, path: str, host: str | None = None, token: Any = True, body: Any = None, **headers: Any
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        if token:
            connection.putheader("Dewpoint-Token", self.token if token is True else token)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        data = json.dumps(body).encode() if body is not None else b""
        if method == "POST":
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        connection.close()
        return found


class Case:
    def __init__(self, point: str, dewpoint: str, other: str) -> None:
        self.point, self.dewpoint, self.other = point, dewpoint, other

    def path(self, name: str, point: str | None = None) -> str:
        return os.path.join(point or self.point, name)

    def write(self, name: str, data: bytes, point: str | None = None) -> None:
        with open(self.path(name, point), "wb") as file:
            file.write(data)

    def run(self, *command: str) -> str:
        return subprocess.run([self.dewpoint, *command], check=True, timeout=60, capture_output=True, text=True).stdout

    def status(self, name: str, point: str | None = None) -> Any:
        return request(point or self.point, "GET", "/v1/items/status?path=" + urllib.parse.quote(name))

    eventually = staticmethod(eventually)

    def row(self, name: str) -> str:
        return f"[...document.querySelectorAll('.row')].find(e => e.querySelector('.name').textContent === {json.dumps(name)})"

    def state(self, name: str) -> str:
        return f"({self.row(name)})?.querySelector('.state').textContent"

    def open(self, page: Page, dashboard: Dashboard) -> None:
        page.open(dashboard.url)
        page.wait("document.querySelector('#connection')?.textContent === 'Live'")

    def fill(self) -> None:
        os.mkdir(self.path("folder"))
        os.mkdir(self.path("folder/inner"))
        for number in range(300):
            self.write(f"folder/{number:03}.txt", b"x" * number)
        self.write("folder/inner/deep.txt", b"deep")
        self.write("report.txt", b"first")
        self.write(HOSTILE, b"")
        self.write(REVERSED, b"")
        self.run("sync", "--wait", self.point)

    # Cases

    def files_are_shown_and_acted_on(self) -> None:
        self.fill()
        with Dashboard(self.dewpoint, "--no-open", "--json", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            # The token is out of the address, and the page can be loaded again all the same.
            assert page.evaluate("location.search") == "" and dashboard.token not in page.evaluate("location.href")
            page.evaluate("void (window.isFirst = true, location.reload())")
            page.wait("!window.isFirst && document.querySelector('#connection')?.textContent === 'Live'")
            assert page.evaluate("location.search") == "" and page.evaluate("location.hash").startswith("#")
            page.wait(self.row("report.txt"))
            page.wait("document.querySelector('#facts').textContent.includes('Safe to shut downYes')")
            # Nothing has moved away from under a click while the page was filled.
            shift = page.evaluate(
                "new Promise(done => { let sum = 0; new PerformanceObserver(list => { for (const entry of"
                " list.getEntries()) sum += entry.value; }).observe({ type: 'layout-shift', buffered: true });"
                " setTimeout(() => done(sum), 200); })"
            )
            assert shift < LAYOUT_SHIFT, f"the layout has shifted by {shift}"
            # Names are text, whatever is in them.
            page.wait(self.row(HOSTILE))
            page.wait(self.row("gepj\\u{202e}txt.exe"))
            assert page.evaluate("document.title") != "1"
            assert not page.evaluate("document.querySelectorAll('img').length")
            page.wait("document.querySelector('#facts').textContent.includes('Safe to shut downYes')")
            # A directory is opened by a click, and only what is in sight is in the page.
            page.click(".row .twisty", "▸")
            page.wait(self.row("000.txt"))
            assert page.evaluate("document.querySelectorAll('.row').length") < 60
            page.click(".row .twisty", "▾")
            page.wait(f"!({self.row('000.txt')})")
            # Actions.
            page.click(".row .name", "report.txt")
            # Until then the buttons are those of what was chosen before.
            page.wait("document.querySelector('#details').textContent.includes('report.txt')")
            page.click("#details button", "Free up space")
            self.eventually(
                lambda: self.status("report.txt")["downloadingStatus"] == "NotDownloaded", lambda: page.text("#notice")
            )
            page.wait(f"{self.state('report.txt')} === 'In the cloud'")
            page.click("#details button", "Download now")
            self.eventually(lambda: self.status("report.txt")["downloadingStatus"] == "Current", "not downloaded")
            page.wait(f"{self.state('report.txt')} === 'On this device'")
            page.wait("!document.querySelector('#details').textContent.includes('Download now')")
            page.click("#details button", "Keep on this device")
            self.eventually(lambda: self.status("report.txt")["pinned"], "not pinned")
            page.wait(f"{self.state('report.txt')} === 'On this device, pinned'")
            page.wait("document.querySelector('#details').textContent.includes('Do not keep here')")
            page.click("#details button", "Free up space")
            page.wait("document.querySelector('#notice').classList.contains('error')")
            page.click("#details button", "Do not keep here")
            self.eventually(lambda: not self.status("report.txt")["pinned"], "still pinned")
            page.wait("document.querySelector('#details').textContent.includes('Keep on this device')")
            # Versions.
            self.write("report.txt", b"second")
            self.run("sync", "--wait", self.point)
            page.click("#details button", "Versions")
            page.click("#details button", "Restore")
            page.click("dialog button", "Restore")
            self.eventually(lambda: open(self.path("report.txt"), "rb").read() == b"first", "not restored")
            assert page.problems == [], page.problems

    def changes_are_shown_as_they_happen(self) -> None:
        self.fill()
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.wait(self.row("report.txt"))
            self.write("new.txt", b"new")
            page.wait(self.row("new.txt"))
            os.rename(self.path("new.txt"), self.path("moved.txt"))
            page.wait(f"({self.row('moved.txt')}) && !({self.row('new.txt')})")
            self.write("from B.txt", b"from B", self.other)
            page.wait(f"{self.state('from B.txt')} === 'In the cloud'")
            os.remove(self.path("moved.txt"))
            page.wait(f"!({self.row('moved.txt')})")
            page.click("#tab-activity")
            page.wait("document.querySelector('#panel-activity').textContent.includes('from B.txt')")
            self.write("seen.txt", b"")
            page.wait("document.querySelector('#panel-activity').textContent.includes('seen.txt')")
            # Many changes at once.
            page.click("#tab-files")
            for number in range(200):
                self.write(f"many {number:03}", b"")
            page.wait("document.querySelector('#tree-note').textContent.startsWith('20')")
            # Back in the trash, and back from it.
            self.run("sync", "--wait", self.point)
            os.remove(self.path("report.txt"))
            self.run("sync", "--wait", self.point)
            page.click("#tab-trash")
            page.click("#trash-filter")
            page.call("Input.insertText", text="report")
            page.click("#panel-trash button", "Restore")
            self.eventually(lambda: os.path.exists(self.path("report.txt")), "not restored")
            page.wait("document.querySelector('#panel-trash').textContent.includes('Nothing was deleted')")
            assert page.problems == [], page.problems

    def a_lost_daemon_is_found_again(self) -> None:
        self.fill()
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.wait(self.row("report.txt"))
            status = json.loads(self.run("status", "--json"))
            mine = next(one for one in status if one["mountpoint"] == os.path.realpath(self.point))
            os.kill(mine["processID"], signal.SIGKILL)
            page.wait("document.querySelector('#connection')?.textContent !== 'Live'")
            self.run("mount", mine["remote"], self.point, "--state", mine["state"])
            page.wait("document.querySelector('#connection')?.textContent === 'Live'", 60)
            self.write("after.txt", b"")
            page.wait(self.row("after.txt"))
            # The first requests failed, and that is not all: the page went on.
            self.run("unmount", self.point)
            page.wait("!document.querySelector('#container-list').textContent.includes('/A')", 60)
            self.run("mount", mine["remote"], self.point, "--state", mine["state"])
            page.click("#container-list button", "/A")
            page.wait(self.row("after.txt"))

    def conflicts_are_resolved(self) -> None:
        for name in ("kept.txt", "other.txt"):
            self.write(name, b"common")
        self.run("sync", "--wait", self.point)
        self.eventually(lambda: os.path.exists(self.path("other.txt", self.other)), "B has nothing")
        for point, text in ((self.point, b"from A"), (self.other, b"from B, longer")):
            self.run("pause", point)
            for name in ("kept.txt", "other.txt"):
                self.write(name, text, point)
        self.run("resume", self.point)
        self.run("sync", "--wait", self.point)
        self.run("resume", self.other)
        self.run("sync", "--wait", self.other)
        self.eventually(lambda: self.status("kept.txt")["conflictCount"] == 1, "there is no conflict")
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.wait(f"{self.state('kept.txt')} === 'Conflict'")
            page.click("#tab-conflicts")
            page.wait("document.querySelectorAll('#panel-conflicts .card').length === 2")
            page.click("#panel-conflicts button", "Keep this")
            page.click("dialog button", "Cancel")
            assert self.status("kept.txt")["conflictCount"] == 1
            page.click("#panel-conflicts .card li:nth-child(2) button", "Keep this")
            page.click("dialog button", "Keep this version")
            self.eventually(lambda: self.status("kept.txt")["conflictCount"] == 0, "not resolved")
            page.wait("document.querySelectorAll('#panel-conflicts .card').length === 1")
            assert self.status("other.txt")["conflictCount"] == 1
            assert page.problems == [], page.problems

    def locks_devices_and_the_log_are_shown(self) -> None:
        self.write("held.txt", b"held")
        self.write("of B", b"", self.other)
        self.run("sync", "--wait", self.point)
        self.run("sync", "--wait", self.other)
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.click("#tab-locks")
            page.wait("document.querySelector('#panel-locks').textContent.includes('Nothing is locked')")
            holder = subprocess.Popen([self.dewpoint, "coordinate", self.path("held.txt"), "--", "sleep", "60"])
            try:
                page.wait("document.querySelector('#panel-locks').textContent.includes('write claim')")
                page.click("#panel-locks button", "Revoke")
                page.click("dialog button", "Revoke")
                page.wait("!document.querySelector('#panel-locks').textContent.includes('write claim')")
            finally:
                holder.kill()
                holder.wait()
            page.click("#tab-devices")
            page.wait("document.querySelectorAll('#panel-devices .card').length === 2")
            shown = page.text("#panel-devices")
            assert "A" in shown and "B" in shown and "This device" in shown, shown
            page.click("#tab-log")
            page.wait("document.querySelector('#panel-log').textContent.includes('mounted')")
            page.click("#tab-transfers")
            page.wait("document.querySelector('#panel-transfers').textContent.length > 10")
            page.click("#container-actions button", "Pause sync")
            self.eventually(lambda: request(self.point, "GET", "/v1/status")["isPaused"], "not paused")
            page.click("#container-actions button", "Resume sync")
            self.eventually(lambda: not request(self.point, "GET", "/v1/status")["isPaused"], "not resumed")

    def the_keyboard_suffices(self) -> None:
        self.fill()
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.wait(self.row("report.txt"))
            focus = "document.activeElement"
            active = "document.getElementById(document.querySelector('#tree').getAttribute('aria-activedescendant'))"
            for _ in range(30):
                page.press("Tab")
                # The focus is always to be seen.
                assert page.evaluate(
                    f"{focus} === document.body || getComputedStyle({focus}).outlineStyle !== 'none' || {focus}.id === 'tree'"
                )
                if page.evaluate(f"{focus}.id") == "tree":
                    break
            assert page.evaluate(f"{focus}.id") == "tree"
            page.wait(active)
            page.press("Home")
            while not page.evaluate(f"{active}.textContent.startsWith('▸folder/')"):
                page.press("ArrowDown")
            assert page.evaluate(f"{active}.getAttribute('aria-expanded')") == "false"
            page.press("ArrowRight")
            page.wait(f"{active}.getAttribute('aria-expanded') === 'true'")
            page.wait(self.row("000.txt"))
            page.press("ArrowRight")
            page.wait(f"{active}.textContent.includes('000.txt') && {active}.getAttribute('aria-level') === '2'")
            # Rows may still come, and are drawn a moment later: the end is where it is when the key is pressed.
            last = f"{active}?.getAttribute('aria-rowindex') === document.querySelector('#tree').getAttribute('aria-rowcount')"

            def is_at_end() -> object:
                page.press("End")
                return page.evaluate(last)

            self.eventually(is_at_end, "the End key does not lead to the last row")
            page.press("Home")
            page.press("ArrowDown")
            # To the selected file's buttons, and through the tabs.
            while not page.evaluate(f"{active}.textContent.includes('000.txt')"):
                page.press("ArrowDown")
            page.wait("document.querySelector('#details').textContent.includes('000.txt')")
            page.press("Enter")
            page.wait(f"{focus}.closest('#details') !== null")
            page.evaluate("document.getElementById('tab-files').focus()")
            page.press("ArrowRight")
            page.wait(f"{focus}.id === 'tab-pictures' && !document.querySelector('#panel-pictures').hidden")
            page.press("End")
            page.wait(f"{focus}.id === 'tab-log'")

    def connections_of_others_end(self) -> None:
        with Dashboard(self.dewpoint, "--no-open", "--json") as dashboard:
            strangers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strangers.py")
            subprocess.run([sys.executable, strangers, str(dashboard.port), "300"], check=True, timeout=60)
            assert dashboard.request("GET", "/api/containers")[0] == 200
            # The page's own connections stay.
            page = http.client.HTTPConnection("127.0.0.1", dashboard.port, timeout=10)
            for pause in (0, 15):
                time.sleep(pause)
                page.putrequest("GET", "/api/containers")
                page.putheader("Dewpoint-Token", dashboard.token)
                page.endheaders()
                answer = page.getresponse()
                assert answer.status == 200, answer.status
                answer.read()

    def requests_of_others_are_refused(self) -> None:
        self.write("f", b"f")
        with Dashboard(self.dewpoint, "--no-open", "--json") as dashboard:
            ask = dashboard.request
            found = json.loads(ask("GET", "/api/containers")[2])
            mine = next(one for one in found if one["mountpoint"] == os.path.realpath(self.point))
            base = f"/api/containers/{mine['id']}/v1"
            assert ask("GET", base + "/status")[0] == 200
            assert ask("GET", base + "/status", host=f"localhost:{dashboard.port}")[0] == 200
            origin = f"http://127.0.0.1:{dashboard.port}"
            assert ask("GET", base + "/status", Origin=origin)[0] == 200
            # Every answer says what the page may do, and lets no other page read it.
            for path, token in (
                ("/", True),
                ("/dashboard.js", True),
                (base + "/status", True),
                ("/", False),
                ("/no", True),
            ):
                _, headers, _ = ask("GET", path, token=token)
                policy = headers["content-security-policy"]
                assert "default-src 'none'" in policy and "unsafe" not in policy, policy
                assert headers["x-frame-options"] == "DENY" and headers["referrer-policy"] == "no-referrer", headers
                assert headers["cache-control"] == "no-store", headers
                assert not [name for name in headers if name.startswith("access-control")], headers
            # Without the token, or with another one.
            for path in (
                "/",
                "/dashboard.css",
                "/dashboard.js",
                "/api/containers",
                base + "/status",
                base + "/events?path=",
            ):
                for wrong in (False, "0" * 64, dashboard.token[:-1]):
                    assert ask("GET", path, token=wrong)[0] == 401, (path, wrong)
            # A tab without the link gets the link's page only with the token that it has kept itself.
            assert b"reopen.js" in ask("GET", "/", token=False)[2]
            assert b"reopen.js" not in ask("GET", "/?token=0", token=False)[2]
            for path in ("/api/containers", base + "/status"):
                assert ask("GET", f"{path}?token={dashboard.token}", token=False)[0] == 401, path
            # By another name, or for another page.
            for host in (f"evil.example:{dashboard.port}", "127.0.0.1", f"127.0.0.1:{dashboard.port + 1}"):
                assert ask("GET", base + "/status", host=host)[0] == 421, host
            for other in ("http://evil.example", "null", f"http://localhost:{dashboard.port}"):
                assert ask("GET", base + "/status", Origin=other)[0] == 403, other
            # Writes.
            order = {"path": "f", "pinned": True}

            def post(**options: Any) -> int:
                return ask("POST", base + "/items/pin", body=order, **options)[0]

            assert post(Content_Type="application/json", token=False) == 401
            assert post(Content_Type="text/plain") == 415
            assert post() == 415
            assert post(Content_Type="application/json", Origin="http://evil.example") == 403
            assert not self.status("f")["pinned"]
            assert post(Content_Type="application/json") == 200
            assert self.status("f")["pinned"]
            large = {"path": "f" * (1 << 20), "pinned": True}
            assert ask("POST", base + "/items/pin", body=large, Content_Type="application/json")[0] == 413
            # What the page does not need is not passed on.
            for method, path in (
                ("POST", "/unmount"),
                ("POST", "/session"),
                ("POST", "/gc"),
                ("POST", "/check"),
                ("GET", "/unmount"),
                ("GET", "/items/pin"),
                ("GET", "/items/../unmount"),
                ("GET", "//status"),
                ("GET", "/metrics"),
            ):
                status = ask(method, base + path, body={"lazily": True}, Content_Type="application/json")[0]
                assert status == 403, (method, path, status)
            assert ask("GET", f"/api/containers/{'0' * 16}/v1/status")[0] == 404
            assert ask("GET", "/api/containers/..%2f/v1/status")[0] == 404
            assert ask("DELETE", base + "/status")[0] == 405
            assert ask("OPTIONS", base + "/status", Origin=origin)[0] == 405
            assert os.path.ismount(self.point)
            second = subprocess.run(
                [self.dewpoint, "dashboard", "--no-open", "--port", str(dashboard.port)],
                capture_output=True,
                text=True,
                timeout=LIMIT,
            )
            assert second.returncode == 75 and "another program listens" in second.stderr, second
            self.other_pages(dashboard, base)
            dashboard.process.send_signal(signal.SIGINT)
            assert dashboard.process.wait(LIMIT) == 0

    def other_pages(self, dashboard: Dashboard, base: str) -> None:
        """A page of another origin that even knows the token can neither read nor write, nor show the page in a
        frame."""

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                data = f'<iframe src="{dashboard.url}"></iframe>'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Other)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        origin = f"http://127.0.0.1:{dashboard.port}"
        with Page() as page:
            page.open(f"http://127.0.0.1:{server.server_port}/")
            page.wait("document.readyState === 'complete' && location.protocol === 'http:'")
            for options in (
                "{}",
                f"{{headers: {{'Dewpoint-Token': '{dashboard.token}'}}}}",
                "{method: 'POST', mode: 'no-cors', body: '{\"path\":\"f\",\"pinned\":false}'}",
                f"{{method: 'POST', headers: {{'Dewpoint-Token': '{dashboard.token}', 'Content-Type': 'application/json'}}, body: '{{\"path\":\"f\",\"pinned\":false}}'}}",
            ):
                read = page.evaluate(
                    f"fetch('{origin}{base}/items/pin', {options}).then(r => r.text()).then(t => t ? 'read ' + t : 'nothing', () => 'refused')"
                )
                assert read in ("refused", "nothing"), (options, read)
            assert self.status("f")["pinned"]
            assert any(
                "frame-ancestors" in problem or "X-Frame-Options" in problem or "frame" in problem
                for problem in page.problems
            ), page.problems
        server.shutdown()

    def the_link_is_opened_unseen(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            opener = os.path.join(directory, "xdg-open")
            note = os.path.join(directory, "note")
            with open(opener, "w") as file:
                file.write(
                    f'#!/bin/sh\ncat "$1" > {note}.new\nstat -c %a "$1" >> {note}.new\necho "$1" >> {note}.new\nmv {note}.new {note}\n'
                )
            os.chmod(opener, 0o755)
            environment = {"PATH": directory + ":" + os.environ["PATH"], "DISPLAY": ":77"}
            with Dashboard(self.dewpoint, self.point, **environment) as dashboard:
                self.eventually(lambda: os.path.exists(note), "xdg-open is not run")
                text = open(note).read()
                *_, mode, page = text.split()
                assert dashboard.url in text and dashboard.fragment, text
                assert mode == "600" and stat.S_IMODE(os.stat(os.path.dirname(page)).st_mode) == 0o700, text
                dashboard.process.send_signal(signal.SIGTERM)
                assert dashboard.process.wait(LIMIT) == 0
                assert not os.path.exists(page), "the file with the link is left"
            os.remove(note)
            with Dashboard(self.dewpoint, "--no-open", self.point, **environment):
                time.sleep(1)
                assert not os.path.exists(note), "--no-open opens a browser"

    def set_preview(self, name: str) -> None:
        with open(os.path.join(os.path.dirname(__file__), "small.jpg"), "rb") as file:
            os.setxattr(self.path(name), "user.dewpoint.preview", file.read())

    def pictures_are_shown_without_a_download(self) -> None:
        os.makedirs(self.path("album/inner"))
        names = [f"album/{number:03}.jpg" for number in range(150)]
        names += ["album/inner/deep.jpg", "album/" + HOSTILE, "album/" + "long" * 60 + ".jpg"]
        for name in names:
            self.write(name, b"x" * 1000)
            self.set_preview(name)
        self.write("album/text.txt", b"text")
        self.write("report.txt", b"first")
        self.run("sync", "--wait", self.point)
        for name in names:
            self.run("evict", self.path(name))
        tiles = "[...document.querySelectorAll('.tile')]"
        tile = tiles + ".find(e => e.title === '%s')"
        shown = "[...document.querySelectorAll('.tile img')].filter(e => e.naturalWidth === 16).length"
        with Dashboard(self.dewpoint, "--no-open", self.point) as dashboard, Page() as page:
            self.open(page, dashboard)
            page.click("#tab-pictures")
            page.wait("document.querySelector('#panel-pictures').textContent.includes('No file here has a preview')")
            page.wait(tile % "album")
            page.evaluate(f"void ({tile % 'album'}).click()")
            page.wait(f"{tiles}.length === {len(names)}")
            page.wait(f"{shown} >= 8")
            # Only what is in sight is asked for.
            assert page.evaluate(shown) < len(names), "all are loaded at once"
            page.evaluate(f"void {tiles}.at(-1).scrollIntoView()")
            page.wait(f"{tiles}.at(-1).querySelector('img').naturalWidth === 16")
            assert page.evaluate("document.title") != "1"
            page.evaluate(f"void ({tile % 'inner'}).click()")
            page.wait(f"{shown} === 1 && {tiles}.length === 1")
            page.evaluate("void document.querySelector('#panel-pictures [data-action=up]').click()")
            page.wait(f"{tiles}.length === {len(names)}")
            page.evaluate(f"void ({tile % '007.jpg'}).click()")
            page.wait("document.querySelector('#details').textContent.includes('007.jpg')")
            assert page.evaluate("!document.querySelector('#panel-files').hidden")
            assert page.problems == [], page.problems
        for name in names:
            assert self.status(name)["downloadingStatus"] == "NotDownloaded", name

    def every_view_fits(self) -> None:
        """At two widths, light and dark, nothing is wider than the window. Writes pictures where they are wanted."""
        self.fill()
        for name in ("report.txt", HOSTILE, REVERSED):
            self.set_preview(name)
        os.remove(self.path("folder/000.txt"))
        self.run("sync", "--wait", self.point)
        if directory := os.environ.get("DEWPOINT_SCREENSHOTS"):
            os.makedirs(directory, exist_ok=True)
        with Dashboard(self.dewpoint, "--no-open", self.path("report.txt")) as dashboard, Page() as page:
            self.open(page, dashboard)
            # The link names the file, which is chosen.
            page.wait("document.querySelector('#details').textContent.includes('report.txt')")
            names = page.evaluate("[...document.querySelectorAll('[role=tab]')].map(e => e.id)")
            for width in (1280, 360):
                for is_dark in (False, True):
                    page.resize(width, 800)
                    page.dark(is_dark)
                    for name in names:
                        page.click(f"#{name}")
                        time.sleep(0.5)
                        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                        assert wide <= 0, f"{name} is {wide} pixels too wide at {width}"
                        if directory:
                            page.screenshot(f"{directory}/{name}-{width}-{'dark' if is_dark else 'light'}.png")
            assert page.problems == [], page.problems


if __name__ == "__main__":
    _, name, point, dewpoint, other = sys.argv
    try:
        getattr(Case(point, dewpoint, other), name)()
    finally:
        Session.end_all()
