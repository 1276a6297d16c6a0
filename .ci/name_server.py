"""A name server for the packages' trial: what ends in .test is at 127.0.0.1, and nothing else is."""

import socket
import struct
import sys

A = 1
NO_SUCH_NAME = 3

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], 53))
print("ready", flush=True)
while True:
    message, client = server.recvfrom(512)
    # RFC 1035, section 4.1: a head of 12 bytes, then the name, its type and its class.
    end = message.index(0, 12) + 5
    question = message[12:end]
    known = question[:-4].lower().endswith(b"\x04test\0")
    addresses = [socket.inet_aton("127.0.0.1")] if known and question[-3] == A else []
    flags = 0x8180 if known else 0x8180 | NO_SUCH_NAME
    answer = message[:2] + struct.pack(">5H", flags, 1, len(addresses), 0, 0) + question
    for address in addresses:
        answer += b"\xc0\x0c" + struct.pack(">2HIH", A, 1, 60, 4) + address
    server.sendto(answer, client)
