"""Runs a daemon as a service manager does, and prints what it says.

    python3 notify.py ADDRESS MOUNTPOINT COMMAND...

ADDRESS is that of the socket: a path, or @ and a name in the abstract namespace. When the daemon is ready, the names in
the mountpoint are printed, and what its C library was told; then the daemon is told to end. Fails if the daemon does not
become ready, or does not end.
"""

import os
import signal
import socket
import subprocess
import sys

SECONDS = 60


def main(address: str, mountpoint: str, command: list[str]) -> None:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("\0" + address[1:] if address.startswith("@") else address)
    listener.settimeout(SECONDS)
    daemon = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": address}, stderr=subprocess.DEVNULL)
    try:
        while True:
            message = listener.recv(4096).decode()
            print(message.replace("\n", "|"))
            if "READY=1" in message:
                break
        print("names:", " ".join(sorted(os.listdir(mountpoint))))
        with open(f"/proc/{daemon.pid}/environ") as variables:
            print(*[line for line in variables.read().split("\0") if line.startswith("GLIBC_TUNABLES=")], sep="\n")
        daemon.send_signal(signal.SIGTERM)
        status = daemon.wait(SECONDS)
        listener.settimeout(0.2)
        try:
            while True:
                print(listener.recv(4096).decode().replace("\n", "|"))
        except TimeoutError:
            pass
        print("exit status:", status)
    finally:
        if daemon.poll() is None:
            daemon.kill()
            daemon.wait()


main(sys.argv[1], sys.argv[2], sys.argv[3:])
