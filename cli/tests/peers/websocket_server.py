"""A server by websockets, with a path for each way to answer. Arguments: the port."""

import asyncio
import json
import sys

from websockets.asyncio.server import serve


async def answer(socket, path, message):
    if path == "/echo":
        await socket.send(message)
    elif path == "/fragments":
        half = len(message) // 2
        await socket.send([message[:half], message[:0], message[half:]])
    elif path == "/large":
        await socket.send("\u00e9" * 200_000)
    elif path == "/close":
        await socket.close(4001, "enough")
    elif path == "/garbled":
        await socket.send(b"\xce\xed\xa0", text=True)


async def chat(socket):
    """Takes these types of messages in this order alone, and answers two of them."""
    room = None
    at = 0
    async for message in socket:
        said = json.loads(message)
        if said["type"] != ["join", "typing", "say"][at]:
            return await socket.close(4002, "out of order")
        at = (at + 1) % 3
        if said["type"] == "join":
            room = said["room"]
            await socket.send(json.dumps({"type": "joined", "room": room}))
        elif said["type"] == "say":
            await socket.send(json.dumps({"type": "heard", "in": room, "by": said["by"]}))


async def handle(socket):
    path = socket.request.path
    if path == "/chat":
        return await chat(socket)
    async for message in socket:
        await answer(socket, path, message)


async def refuse(socket, request):
    if request.path == "/refused":
        return socket.respond(503, "busy")
    return None


async def main():
    # Pings often, so that whoever is connected has to answer some.
    port = int(sys.argv[1])
    async with serve(
        handle, "127.0.0.1", port, process_request=refuse, ping_interval=0.05
    ) as server:
        await server.serve_forever()


asyncio.run(main())
