// The subject node-http: small answers from Node's own HTTP module.
'use strict';

const http = require('node:http');

const hello = Buffer.from('Hello, World!');
const helloHead = { 'Content-Type': 'text/plain', 'Content-Length': hello.length };
const status = Buffer.from('{"status":"ok"}');
const statusHead = { 'Content-Type': 'application/json', 'Content-Length': status.length };
const waited = Buffer.from('waited\n');
const waitedHead = { 'Content-Type': 'text/plain', 'Content-Length': waited.length };

const server = http.createServer((request, response) => {
  if (request.url === '/') {
    response.writeHead(200, helloHead);
    response.end(hello);
  } else if (request.url === '/json') {
    response.writeHead(200, statusHead);
    response.end(status);
  } else if (request.url === '/wait10') {
    setTimeout(() => {
      response.writeHead(200, waitedHead);
      response.end(waited);
    }, 10);
  } else {
    response.writeHead(404, { 'Content-Length': 0 });
    response.end();
  }
});

server.keepAliveTimeout = 0;
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
