"""The subject python-async: a coroutine for each connection, on the event loop uvloop."""

import asyncio
import sys

import uvloop

from answers import HEAD_END, WAITS_S, answer, path_of


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            path = path_of(await reader.readuntil(HEAD_END))
            wait = WAITS_S.get(path)
            if wait is not None:
                await asyncio.sleep(wait)
            writer.write(answer(path))
            await writer.drain()
    except (asyncio.IncompleteReadError, OSError):
        pass  # The client has gone.
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    async with server:
        await server.serve_forever()


uvloop.run(main())
