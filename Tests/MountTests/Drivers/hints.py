"""Devices in networks of their own tell each other of commits: cases of HintTests.

python3 hints.py CASE DEWPOINT URL DIRECTORY

URL is a container in a bucket of the server of AWS_ENDPOINT_URL, on loopback. With the case `measure`, the time from the
end of a write on one device until it is seen on the other is printed, in milliseconds.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from networks import Networks

PATIENCE = 60.0
HINT_PORT = 28_771


class Device:
    def __init__(self, dewpoint: str, directory: str, name: str, enter: str, address: str) -> None:
        self.dewpoint, self.name, self.enter, self.address = dewpoint, name, enter.split(), address
        self.point, self.state = f"{directory}/{name}", f"{directory}/state-{name}"

    def run(self, *arguments: str) -> str:
        command = [*self.enter, self.dewpoint, *arguments]
        return subprocess.run(command, check=True, timeout=90, stdout=subprocess.PIPE, text=True).stdout

    def mount(self, url: str, endpoint: str, *options: str) -> None:
        os.makedirs(self.point, exist_ok=True)
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        chosen = ["-o", ",".join(options)] if options else []
        self.run("mount", url, self.point, "--state", self.state, "--device-name", self.name, *chosen)

    def unmount(self) -> None:
        if os.path.ismount(self.point):
            subprocess.run([self.dewpoint, "unmount", self.point], timeout=90)

    def status(self) -> dict[str, Any]:
        statuses: list[dict[str, Any]] = json.loads(self.run("status", self.point, "--json"))
        found: dict[str, Any] = statuses[0]["container"]
        return found

    def heard(self) -> dict[str, str]:
        return {peer["name"]: peer["address"] for peer in self.status()["peers"]}

    def write(self, name: str, text: str = "text") -> None:
        with open(f"{self.point}/{name}", "w") as file:
            file.write(text)

    def has(self, name: str) -> bool:
        return os.path.exists(f"{self.point}/{name}")


def eventually(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Case:
    def __init__(self, dewpoint: str, url: str, directory: str) -> None:
        self.dewpoint, self.url, self.directory = dewpoint, url, directory
        self.port = urllib.parse.urlparse(os.environ["AWS_ENDPOINT_URL"]).port or 80
        self.networks = Networks()
        self.devices: list[Device] = []

    def device(self, name: str, network: int) -> Device:
        enter, address = self.networks.host(network)
        device = Device(self.dewpoint, self.directory, name, enter, address)
        self.devices.append(device)
        return device

    def endpoint(self, network: int) -> str:
        address = self.networks.address(network, 1)
        return f"http://[{address}]:{self.port}" if self.networks.is_six else f"http://{address}:{self.port}"

    @contextlib.contextmanager
    def two(self, *options: str) -> Iterator[tuple[Device, Device]]:
        """Two devices in one network."""
        network = self.networks.network()
        a, b = self.device("A", network), self.device("B", network)
        with self.networks.forwarded(network, self.port):
            a.mount(self.url, self.endpoint(network), *options)
            b.mount(self.url, self.endpoint(network), *options)
            # A device has its name by its first commit.
            a.write("of A")
            b.write("of B")
            yield a, b

    def end(self) -> None:
        for device in self.devices:
            device.unmount()
        self.networks.remove()

    # Cases

    def devices_in_one_network(self) -> None:
        with self.two() as (a, b):
            eventually(lambda: a.heard() == {"B": b.address}, "A does not hear B")
            eventually(lambda: b.heard() == {"A": a.address}, "B does not hear A")
            text = b.run("status", b.point)
            assert f"A ({a.address}), " in text, text
            a.write("file")
            eventually(lambda: b.has("file"), "B does not have the file")
            # The daemon's hints end with it.
            a.unmount()
            b.write("later")
            self.flood(b)
            assert "problem" not in b.status()

    def devices_without_ipv4(self) -> None:
        """Each device has several addresses of IPv6, one of them of the link alone: what it sends comes from one of them."""
        self.networks = Networks(is_six=True)
        with self.two() as (a, b):
            eventually(lambda: set(a.heard()) == {"B"}, "A does not hear B")
            eventually(lambda: set(b.heard()) == {"A"}, "B does not hear A")
            assert ":" in a.heard()["B"], a.heard()
            a.write("file")
            eventually(lambda: b.has("file"), "B does not have the file")

    def flood(self, device: Device) -> None:
        """Thousands of datagrams of a stranger: of all lengths, and some that begin like hints."""
        enter = [*self.devices[0].enter, sys.executable, "-c", FLOOD]
        subprocess.run(enter, check=True, timeout=60)
        device.write("after the flood")
        assert device.has("after the flood")

    def devices_with_names(self) -> None:
        """Without the group, as in two networks."""
        network = self.networks.network()
        a, b = self.device("A", network), self.device("B", network)
        with self.networks.forwarded(network, self.port):
            common = ("off=hints", f"hint_port={HINT_PORT}")
            a.mount(self.url, self.endpoint(network), *common, f"hint_peer={b.address}")
            b.mount(self.url, self.endpoint(network), *common, f"hint_peer=[{a.address}]:{HINT_PORT}")
            a.write("of A")
            b.write("of B")
            eventually(lambda: set(a.heard()) == {"B"}, "A does not hear B")
            eventually(lambda: set(b.heard()) == {"A"}, "B does not hear A")

    def turned_off(self) -> None:
        with self.two("off=hints") as (a, b):
            eventually(lambda: b.has("of A") and a.has("of B"), "the files do not arrive")
            time.sleep(2)
            assert a.heard() == b.heard() == {}, (a.heard(), b.heard())

    def networks_that_come_and_go(self) -> None:
        network = self.networks.network()
        a, b = self.device("A", network), self.device("B", network)
        down = ["ip", "-n", b.enter[1].rpartition("/")[2], "link", "set", "eth0"]
        with self.networks.forwarded(network, self.port):
            a.mount(self.url, self.endpoint(network))
            b.mount(self.url, self.endpoint(network))
            a.write("of A")
            eventually(lambda: set(b.heard()) == {"A"}, "B does not hear A")
            subprocess.run([*down, "down"], check=True)
            time.sleep(1)
            subprocess.run([*down, "up"], check=True)
            route = ["ip", "-n", down[2], "route", "add", "default", "via", self.networks.address(network, 1)]
            subprocess.run(route, check=True)
            os.kill(int(a.status()["processID"]), signal.SIGKILL)
            subprocess.run(["umount", "-l", a.point], check=True)
            a.mount(self.url, self.endpoint(network))
            seen = b.status()["peers"][0]["secondsAgo"]
            eventually(lambda: b.status()["peers"][0]["secondsAgo"] < max(seen, 2), "B does not hear A again")

    def a_store_that_calls(self) -> None:
        network = self.networks.network()
        a, b = self.device("A", network), self.device("B", network)
        with self.networks.forwarded(network, self.port):
            # An address that this machine does not have, now: no reason to have no mount.
            a.mount(self.url, self.endpoint(network), "off=hints", "notify=192.0.2.1:8460")
            b.mount(self.url, self.endpoint(network), "off=hints", f"notify={b.address}:8460")
            a.write("file")
            a.run("sync", a.point, "--wait")
            number = a.status()["applied"]
            key = {"s3": {"bucket": {"name": "b"}, "object": {"key": f"x/log/{number:020}"}}}
            for body in (json.dumps({"Records": [key]}), "", "nonsense", '{"key": "log/' + "9" * 20 + '"}'):
                assert post(b.address, 8460, body.encode()) == 200, body
            assert post(b.address, 8460, b"x" * (2 << 20)) == 413
            eventually(lambda: b.has("file"), "B does not have the file")

    def measure(self) -> None:
        """The latencies with hints, and by polling."""
        for options in ((), ("off=hints",)):
            with self.two(*options) as (a, b):
                eventually(lambda a=a, b=b: a.has("of B") and b.has("of A"), "nothing arrives")  # type: ignore[misc]
                times = []
                for number in range(40):
                    name = f"{len(options)}-{number}"
                    a.write(name)
                    began = time.monotonic()
                    while not b.has(name):
                        assert time.monotonic() - began < PATIENCE
                        time.sleep(0.001)
                    times.append((time.monotonic() - began) * 1000)
                    time.sleep(0.3)
                for device in (a, b):
                    device.unmount()
            print(json.dumps({"options": options, "median": statistics.median(times), "times": sorted(times)}))


def post(host: str, port: int, body: bytes) -> int:
    connection = http.client.HTTPConnection(host, port, timeout=20)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        connection.request("POST", "/", body)
    status = connection.getresponse().status
    connection.close()
    return status


FLOOD = """
import os, socket
target = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for count in range(20_000):
    head = b"DWPH\\1" if count % 2 else b""
    try:
        target.sendto(head + os.urandom(count % 600), ("239.255.68.80", 28770))
    except OSError:
        pass
"""


def main() -> None:
    case, dewpoint, url, directory = sys.argv[1:]
    socket.setdefaulttimeout(20)
    cases = Case(dewpoint, url, directory)
    try:
        getattr(cases, case)()
    finally:
        cases.end()


main()
