"""Networks of this machine for tests: namespaces with an address each, joined by a bridge. Takes root and iproute2."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

DRIVERS = os.path.dirname(os.path.abspath(__file__))


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=20)


class Networks:
    """Bridges `PREFIX.0`, `PREFIX.1` … of this machine, each a network of its own, of IPv4 or of IPv6 alone."""

    def __init__(self, is_six: bool = False) -> None:
        self.is_six = is_six
        # Names of interfaces have at most 15 bytes; another run may have networks too.
        self.tag = f"dp{os.getpid() % 100_000:05}"
        self.block = 64 + os.getpid() % 128
        self.bridges = 0
        self.spaces = 0

    def address(self, network: int, host: int) -> str:
        return f"fd00:dead:{self.block}:{network}::{host}" if self.is_six else f"10.{self.block}.{network}.{host}"

    def with_length(self, address: str) -> list[str]:
        """As `ip address add` takes it; an address of IPv6 is there at once, without looking whether another has it."""
        return [f"{address}/64", "nodad"] if self.is_six else [f"{address}/24"]

    def network(self) -> int:
        """A new network; this machine itself is its host 1."""
        number, name = self.bridges, f"{self.tag}b{self.bridges}"
        self.bridges += 1
        ip("link", "add", name, "type", "bridge")
        ip("address", "add", *self.with_length(self.address(number, 1)), "dev", name)
        ip("link", "set", name, "up")
        return number

    def host(self, network: int) -> tuple[str, str]:
        """A namespace in a network.

        Its default route leads through this machine.
        Returns what goes before a command that is to run there, and its address.
        """
        number, space = self.spaces, f"{self.tag}n{self.spaces}"
        self.spaces += 1
        address = self.address(network, 10 + number)
        ip("netns", "add", space)
        here, there = f"{self.tag}v{number}", "eth0"
        ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", space)
        ip("link", "set", here, "master", f"{self.tag}b{network}", "up")
        for command in (
            ["link", "set", "lo", "up"], ["address", "add", *self.with_length(address), "dev", there], ["link", "set", there, "up"],
            ["route", "add", "default", "via", self.address(network, 1)],
        ):  # fmt: skip
            ip("-n", space, *command)
        # `ip netns exec` would mount in a namespace of mounts of its own, where nobody sees it.
        return f"nsenter --net=/run/netns/{space}", address

    def remove(self) -> None:
        for number in range(self.spaces):
            subprocess.run(["ip", "netns", "del", f"{self.tag}n{number}"], timeout=20)
        for number in range(self.bridges):
            subprocess.run(["ip", "link", "del", f"{self.tag}b{number}"], timeout=20)

    @contextlib.contextmanager
    def forwarded(self, network: int, server_port: int) -> Iterator[int]:
        """A port of this machine's address in a network that leads to a port of its loopback."""
        port = server_port
        address = f"{self.address(network, 1)}:{port}"
        command = [sys.executable, f"{DRIVERS}/forwarder.py", address, str(server_port)]
        process = subprocess.Popen(command)
        try:
            yield port
        finally:
            process.kill()
            process.wait()


def possible() -> bool:
    networks = Networks()
    try:
        networks.host(networks.network())
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        networks.remove()
    return True


if __name__ == "__main__":
    sys.exit(0 if possible() else 1)
