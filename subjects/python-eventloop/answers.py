"""What the plain Python subjects answer. They read and write the same bytes and differ only in how
they wait for them."""

import time
from email.utils import formatdate

HEAD_END = b"\r\n\r\n"
WAIT_S = 0.01

_BODIES = {
    b"/": (b"text/plain", b"Hello, World!"),
    b"/json": (b"application/json", b'{"status":"ok"}'),
    b"/wait10": (b"text/plain", b"waited\n"),
}
_answers: dict[bytes, bytes] = {}
_answers_of = 0


def answer(path: bytes) -> bytes:
    """The whole answer to a path; its date is that of the second."""
    global _answers_of
    now = int(time.time())
    if now != _answers_of:
        _answers_of = now
        date = formatdate(now, usegmt=True).encode()
        for known, (content_type, body) in _BODIES.items():
            _answers[known] = (
                b"HTTP/1.1 200 OK\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
                % (date, content_type, len(body), body)
            )
    return _answers.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def path_of(head: bytes) -> bytes:
    """The path of a request, out of its first line."""
    return head.split(b" ", 2)[1]
