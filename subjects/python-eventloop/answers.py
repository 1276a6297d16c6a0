"""What the plain Python subjects answer. They read and write the same bytes and differ only in how
they wait for them."""

import json
import time
from email.utils import formatdate

HEAD_END = b"\r\n\r\n"
# How long an answer waits first, as if for another server.
WAITS_S = {b"/wait10": 0.01, b"/order": 0.002}

_BODIES = {
    b"/": (b"text/plain", b"Hello, World!"),
    b"/json": (b"application/json", b'{"status":"ok"}'),
    b"/wait10": (b"text/plain", b"waited\n"),
}
# What the other server would have sent: an order of a hundred items.
_ORDER = json.dumps(
    [{"item": f"item-{at:02}", "price": 100 + 7 * at, "count": 1 + at % 3} for at in range(100)]
)
_answers: dict[bytes, bytes] = {}
_answers_of = 0
_date = b""


def answer(path: bytes) -> bytes:
    """The whole answer to a path; its date is that of the second. That to an order is computed."""
    global _answers_of, _date
    now = int(time.time())
    if now != _answers_of:
        _answers_of = now
        _date = formatdate(now, usegmt=True).encode()
        for known, (content_type, body) in _BODIES.items():
            _answers[known] = _whole(content_type, body)
    if path == b"/order":
        return _whole(b"application/json", _process(_ORDER))
    return _answers.get(path, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def _whole(content_type: bytes, body: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nDate: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
        % (_date, content_type, len(body), body)
    )


def _process(order: str) -> bytes:
    """What a handler computes between its two waits: the total of an order, out of JSON and into
    it."""
    items = json.loads(order)
    total = sum(item["price"] * item["count"] for item in items)
    return json.dumps({"items": len(items), "total": total}).encode()


def path_of(head: bytes) -> bytes:
    """The path of a request, out of its first line."""
    return head.split(b" ", 2)[1]
