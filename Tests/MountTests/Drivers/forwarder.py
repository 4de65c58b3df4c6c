"""Forwards connections to a server; a test cuts them by ending this program.

    python3 forwarder.py PORT SERVER_PORT

Both ports are on loopback. The program ends with the process that started it.
"""

import contextlib
import ctypes
import signal
import socket
import sys
import threading

PIECE_BYTE_COUNT = 256 << 10
PR_SET_PDEATHSIG = 1


def pass_on(source, target):
    try:
        while data := source.recv(PIECE_BYTE_COUNT):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        # One side has closed the connection; close the other one too.
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def serve(client, port):
    try:
        server = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        return
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=pass_on, args=(server, client), daemon=True)
    back.start()
    pass_on(client, server)
    back.join()
    client.close()
    server.close()


def main():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(sys.argv[1])))
    listener.listen(64)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, int(sys.argv[2])), daemon=True).start()


main()
