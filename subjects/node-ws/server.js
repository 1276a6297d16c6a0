// The subject node-ws: every message comes back as it was, and / answers over HTTP.
'use strict';

const http = require('node:http');
const { WebSocketServer } = require('ws');

const hello = Buffer.from('Hello, World!');
const server = http.createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': hello.length });
  response.end(hello);
});

const sockets = new WebSocketServer({ server, path: '/ws', perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
});

server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
