"""Delivers records one by one as they are made, on one connection: `stream.py HOST PORT RECORDS`.

The body is that of one chunked HTTP request, a record on each line and a chunk for each record.
"""

import asyncio
import json
import sys


async def records(count):
    for i in range(count):
        yield {"device": f"d-{i % 10000:04}", "value": 21.5}


async def send_stream(host, port, count):
    reader, writer = await asyncio.open_connection(host, port)
    head = f"POST /stream HTTP/1.1\r\nHost: {host}:{port}\r\nTransfer-Encoding: chunked\r\n"
    writer.write((head + "Content-Type: application/x-ndjson\r\nConnection: close\r\n\r\n").encode())
    async for record in records(count):
        line = json.dumps(record).encode() + b"\n"
        writer.write(b"%x\r\n%b\r\n" % (len(line), line))
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    if b" 200 " not in head.split(b"\r\n")[0]:
        sys.exit(head.decode())
    return json.loads(body)["count"]


def main():
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print("records", asyncio.run(send_stream(host, port, count)))


main()
