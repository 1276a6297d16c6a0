// The subject node-garbage: a constant answer for which each request makes garbage, so that what
// the collector costs can be seen.
'use strict';

const http = require('node:http');

const pieces = 64;
// 128 numbers of 8 bytes each.
const piece = () => new Array(128).fill(0.5);
// What is alive is found anew by each collection.
const alive = Array.from({ length: 32 * 1024 }, piece);

const hello = Buffer.from('Hello, World!');
const head = { 'Content-Type': 'text/plain', 'Content-Length': hello.length };

const server = http.createServer((request, response) => {
  const garbage = Array.from({ length: pieces }, piece);
  // Somebody has to hold it for a moment, or the compiler leaves it out.
  alive[garbage.length] = garbage[0];
  response.writeHead(200, head);
  response.end(hello);
});

server.keepAliveTimeout = 0;
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
