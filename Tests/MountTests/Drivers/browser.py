"""A page in headless Chromium, driven over the DevTools protocol with real clicks and keys."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from typing import Any, Self

import websocket

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
START_SECONDS = 60
ANSWER_SECONDS = 60
SETTLED_MILLISECONDS = 100
KEYS = {
    "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37,
    "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-background-networking "
    "--disable-component-update --disable-dev-shm-usage --remote-debugging-port=0 --remote-allow-origins=* --lang=en-GB"
).split()


class Navigated(Exception):
    """The page went elsewhere while it was asked something."""


class Page:
    """One tab of a browser of its own. Use as a context manager: nothing of it is left behind."""

    def __enter__(self) -> Self:
        self.directory = tempfile.mkdtemp(prefix="dewpoint-browser-")
        self.log = open(os.path.join(self.directory, "log"), "wb")
        environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
        self.process = subprocess.Popen(
            [CHROMIUM or "chromium", *FLAGS, f"--user-data-dir={self.directory}/profile", "about:blank"],
            stdout=self.log,
            stderr=self.log,
            env=dict(environment, TZ="UTC"),
        )
        try:
            self.connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()
        # Its child processes may still be writing into the profile.
        shutil.rmtree(self.directory, ignore_errors=True)

    def connect(self) -> None:
        note = os.path.join(self.directory, "profile", "DevToolsActivePort")
        end = time.monotonic() + START_SECONDS
        while not (os.path.exists(note) and open(note).read().count("\n")):
            assert self.process.poll() is None, "Chromium ended: " + open(self.log.name).read()[-2000:]
            assert time.monotonic() < end, "Chromium does not start"
            time.sleep(0.05)
        port = open(note).readline().strip()
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=ANSWER_SECONDS))
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        self.socket = websocket.create_connection(address, timeout=ANSWER_SECONDS, suppress_origin=True)
        self.last = 0
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Performance", "Network"):
            self.call(f"{domain}.enable")
        self.resize(1280, 800)

    def call(self, method: str, **parameters: Any) -> Any:
        self.last += 1
        self.socket.send(json.dumps({"id": self.last, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.last:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated(method)
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.note(answer)

    def note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(event["params"]["exceptionDetails"].get("exception", {}).get("description", "?"))
        elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            entry = event["params"]["entry"]
            if entry["source"] == "network":
                return  # a refusal, which the page says in words
            self.problems.append(f"{entry['text']} {entry.get('url', '')}")

    def evaluate(self, script: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"].get("description")
        return answer["result"].get("value")

    def wait(self, script: str, limit: float = 30) -> Any:
        """Waits until an expression is true, and returns its value."""
        end = time.monotonic() + limit
        # An element is not a value that can be returned.
        plain = f"(value => value instanceof Node || value)({script})"
        while True:
            try:
                if value := self.evaluate(plain):
                    return value
                assert time.monotonic() < end, f"not within {limit} s: {script}\n{self.text('main')[:1500]}"
            except Navigated:
                assert time.monotonic() < end, f"not within {limit} s: {script}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def open(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark: bool) -> None:
        value = "dark" if is_dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def find(self, selector: str, text: str | None = None) -> str:
        """An expression for the first visible element with a selector, and with a text in it."""
        condition = f"&& e.textContent.includes({json.dumps(text)})" if text else ""
        return (
            f"[...document.querySelectorAll({json.dumps(selector)})].find(e => e.getClientRects().length {condition})"
        )

    def click(self, selector: str, text: str | None = None, count: int = 1) -> None:
        """A click where a user would click; whatever lies above the element would be hit instead, which is an error."""
        element = self.find(selector, text)
        self.wait(f"!!({element})")
        # Nobody clicks on what has just moved.
        place = f"JSON.stringify(({element})?.getBoundingClientRect())"
        self.wait(
            f"(async () => {{ const before = {place}; await new Promise(done => setTimeout(done, {SETTLED_MILLISECONDS}));"
            f" return before === {place}; }})()"
        )
        x, y, hits = self.evaluate(
            f"""(() => {{ const e = {element}; e.scrollIntoView({{block: 'nearest', inline: 'nearest'}});
            const r = e.getBoundingClientRect(), x = r.left + Math.min(r.width, innerWidth - r.left) / 2, y = r.top + r.height / 2;
            const hit = document.elementFromPoint(x, y); return [x, y, hit === e || e.contains(hit)]; }})()"""
        )
        assert hits, f"{selector} {text or ''} is covered or outside of the window"
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=number)

    def press(self, key: str, shift: bool = False) -> None:
        parameters = {"key": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        text = {"Enter": "\r", " ": " "}.get(key)
        self.call("Input.dispatchKeyEvent", type="keyDown", **parameters, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def screenshot(self, path: str) -> None:
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
