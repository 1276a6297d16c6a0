"""The subject python-gunicorn: the same answers for workers that speak WSGI and for one that speaks
ASGI."""

import asyncio
import time

HELLO = b"Hello, World!"
WAITED = b"waited\n"


def wsgi(environ, start_response):
    path = environ["PATH_INFO"]
    if path == "/":
        body, status = HELLO, "200 OK"
    elif path == "/wait10":
        time.sleep(0.010)
        body, status = WAITED, "200 OK"
    else:
        body, status = b"", "404 Not Found"
    start_response(
        status, [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    )
    return [body]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    if scope["path"] == "/":
        body, status = HELLO, 200
    elif scope["path"] == "/wait10":
        await asyncio.sleep(0.010)
        body, status = WAITED, 200
    else:
        body, status = b"", 404
    head = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
