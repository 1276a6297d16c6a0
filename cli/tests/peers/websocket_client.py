"""A client by websockets that looks at how a server echoes and closes. Arguments: the URL."""

import asyncio
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

URL = sys.argv[1]


async def closed(socket):
    """The code with which the server closes."""
    try:
        while True:
            await socket.recv()
    except ConnectionClosed as end:
        assert end.rcvd is not None, "no close frame came"
        return end.rcvd.code


async def main():
    async with connect(URL) as socket:
        for message in ["Hello", "", b"\x00\xff", "x" * 300_000]:
            await socket.send(message)
            assert await socket.recv() == message
        await socket.send(["one ", "", "two"])
        pong = await socket.ping("between")
        assert await socket.recv() == "one two"
        await pong
        await socket.close(3456, "bye")
        assert socket.close_code == 3456, socket.close_code
    async with connect(URL) as socket:
        await socket.send(b"\xce\xba\xed\xa0", text=True)
        assert await closed(socket) == 1007
    async with connect(URL) as socket:
        await socket.send(bytes((1 << 20) + 1))
        assert await closed(socket) == 1009
    async with connect(URL + "/close/4321") as socket:
        await socket.send("x")
        assert await closed(socket) == 4321
    try:
        await connect(URL + "/none")
    except InvalidStatus as refusal:
        assert refusal.response.status_code == 404
    else:
        raise AssertionError("the upgrade was granted")


asyncio.run(main())
