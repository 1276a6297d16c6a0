// The subject node-http-page: a small page from Node's own HTTP module, in chunks.
'use strict';

const http = require('node:http');

const server = http.createServer((request, response) => {
  response.writeHead(200, { 'Server': 'node.js' });
  response.end('<h1>Hello World</h2>');
});

server.listen(Number(process.argv[2]), '127.0.0.1');
