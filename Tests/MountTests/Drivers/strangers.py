"""Holds connections to a port of this machine as a hostile user does: many, with a byte now and then.

    python3 strangers.py PORT COUNT

Fails unless all of them are closed within LIMIT seconds.
"""

import selectors
import socket
import sys
import time

# Those beyond what is accepted at a time wait for the first ones, which get ten seconds.
LIMIT = 45


def main() -> None:
    port, count = int(sys.argv[1]), int(sys.argv[2])
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        connection.sendall(b"GET /")
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, connection)
    end = time.monotonic() + LIMIT
    while selector.get_map():
        assert time.monotonic() < end, f"{len(selector.get_map())} of {count} connections are still open"
        ended = [key.fd for key, _ in selector.select(timeout=1)]
        for connection in [key.data for key in selector.get_map().values()]:
            try:
                if connection.fileno() in ended and connection.recv(1 << 16) == b"":
                    raise ConnectionError
                connection.send(b"x")
            except BlockingIOError:
                continue
            except OSError:
                selector.unregister(connection)
                connection.close()


if __name__ == "__main__":
    main()
