// The subject node-http: two constant answers from Node's own HTTP module.
'use strict';

const http = require('node:http');

const hello = Buffer.from('Hello, World!');
const helloHead = { 'Content-Type': 'text/plain', 'Content-Length': hello.length };
const status = Buffer.from('{"status":"ok"}');
const statusHead = { 'Content-Type': 'application/json', 'Content-Length': status.length };

const server = http.createServer((request, response) => {
  if (request.url === '/') {
    response.writeHead(200, helloHead);
    response.end(hello);
  } else if (request.url === '/json') {
    response.writeHead(200, statusHead);
    response.end(status);
  } else {
    response.writeHead(404, { 'Content-Length': 0 });
    response.end();
  }
});

server.keepAliveTimeout = 0;
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
