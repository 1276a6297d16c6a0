"""The subject python-eventloop: one thread that waits for all sockets at once and calls back.

One `selectors` loop, written by hand: what a socket has sent is answered at once, and an answer
that waits is put on a list of times."""

import heapq
import itertools
import selectors
import socket
import sys
import time

from answers import HEAD_END, WAITS_S, answer, path_of

RECEIVE_BYTES = 65536

selector = selectors.DefaultSelector()
due: list[tuple[float, int, "Connection", bytes]] = []
order = itertools.count()


class Connection:
    """A client's socket. While an answer waits, nothing further of it is answered."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.received = b""
        self.to_send = b""
        self.waits = False
        self.events = selectors.EVENT_READ
        selector.register(sock, self.events, self)

    def ready(self, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                received = self.sock.recv(RECEIVE_BYTES)
                if not received:
                    return self.close()
                self.received += received
                self.answer_all()
            self.send()
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def answer_all(self) -> None:
        while not self.waits:
            head, end, rest = self.received.partition(HEAD_END)
            if not end:
                return
            self.received = rest
            path = path_of(head)
            wait = WAITS_S.get(path)
            if wait is not None:
                self.waits = True
                heapq.heappush(due, (time.monotonic() + wait, next(order), self, path))
            else:
                self.to_send += answer(path)

    def waited(self, path: bytes) -> None:
        self.waits = False
        if self.sock.fileno() < 0:
            return
        self.to_send += answer(path)
        self.answer_all()
        self.ready(0)

    def send(self) -> None:
        if self.to_send:
            self.to_send = self.to_send[self.sock.send(self.to_send) :]
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.to_send else 0)
        if events != self.events:
            self.events = events
            selector.modify(self.sock, events, self)

    def close(self) -> None:
        selector.unregister(self.sock)
        self.sock.close()


def accept_all(listener: socket.socket) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except BlockingIOError:
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(sock)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ, None)
    while True:
        timeout = max(0.0, due[0][0] - time.monotonic()) if due else None
        for key, events in selector.select(timeout):
            if key.data is None:
                accept_all(listener)
            else:
                key.data.ready(events)
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, _, connection, path = heapq.heappop(due)
            connection.waited(path)


main()
