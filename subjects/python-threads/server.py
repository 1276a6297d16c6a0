"""The subject python-threads: a thread for each connection, which blocks in every call."""

import socket
import sys
import threading
import time

from answers import HEAD_END, WAITS_S, answer, path_of

RECEIVE_BYTES = 65536
STACK_BYTES = 256 * 1024


def serve(sock: socket.socket) -> None:
    received = b""
    try:
        while True:
            head, end, rest = received.partition(HEAD_END)
            if end:
                received = rest
                path = path_of(head)
                wait = WAITS_S.get(path)
                if wait is not None:
                    time.sleep(wait)
                sock.sendall(answer(path))
            else:
                more = sock.recv(RECEIVE_BYTES)
                if not more:
                    return
                received += more
    except OSError:
        pass  # The client has gone.
    finally:
        sock.close()


def main() -> None:
    threading.stack_size(STACK_BYTES)
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


main()
