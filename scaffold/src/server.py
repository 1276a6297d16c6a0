"""A small HTTP/1.1 server, for you to replace. Usage: server.py PORT"""

import asyncio
import sys

BODY = b"Hello, World!"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(BODY)


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.unread = b""

    def data_received(self, data):
        # A request without a body ends with an empty line. Several may come at once.
        *requests, self.unread = (self.unread + data).split(b"\r\n\r\n")
        self.transport.write((HEAD + BODY) * len(requests))


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()


asyncio.run(main())
