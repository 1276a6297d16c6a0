// A server by ws, with a path for each way to answer. Arguments: the port.
'use strict';

const http = require('node:http');
const { WebSocketServer } = require('ws');

const server = http.createServer();
const sockets = new WebSocketServer({ noServer: true, maxPayload: 4 << 20 });

const answers = {
  '/echo': (socket, data, binary) => socket.send(data, { binary }),
  // In three fragments with a ping between them, the middle one empty.
  '/fragments': (socket, data, binary) => {
    const half = data.length >> 1;
    socket.send(data.subarray(0, half), { binary, fin: false });
    socket.ping('between');
    socket.send('', { binary, fin: false });
    socket.send(data.subarray(half), { binary, fin: true });
  },
  '/large': (socket) => socket.send('\u00e9'.repeat(200_000)),
  '/close': (socket) => socket.close(4001, 'enough'),
  '/terminate': (socket) => socket.terminate(),
  // Takes these types of messages in this order alone, and answers two of them.
  '/chat': (socket, data) => {
    const said = JSON.parse(data);
    const at = socket.at ?? 0;
    if (said.type !== ['join', 'typing', 'say'][at]) return socket.close(4002, 'out of order');
    socket.at = (at + 1) % 3;
    if (said.type === 'join') socket.room = said.room;
    if (said.type === 'say') socket.send(JSON.stringify({ type: 'heard', in: socket.room, by: said.by }));
    if (said.type === 'join') socket.send(JSON.stringify({ type: 'joined', room: said.room }));
  },
  // A text frame that is no UTF-8.
  '/garbled': (socket) => socket.send(Buffer.from([0xce, 0xed, 0xa0]), { binary: false }),
};

server.on('upgrade', (request, stream, head) => {
  const answer = answers[request.url];
  if (answer === undefined) {
    return stream.end('HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n');
  }
  sockets.handleUpgrade(request, stream, head, (socket) => {
    socket.on('error', () => {});
    socket.on('message', (data, binary) => answer(socket, data, binary));
  });
});

server.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
