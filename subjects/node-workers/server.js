// The subject node-workers: who computes, the thread that serves, two worker threads, or two
// processes of a cluster that serve and compute.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const { isMainThread, parentPort, Worker } = require('node:worker_threads');

const WORKERS = 2;
const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2));

function answer(response, body) {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

// A function that computes for whoever asks, and calls back.
function inThreads() {
  const waiting = new Map();
  let number = 0;
  const threads = Array.from({ length: WORKERS }, () => {
    const thread = new Worker(__filename);
    thread.on('message', ({ id, result }) => {
      waiting.get(id)(result);
      waiting.delete(id);
    });
    return thread;
  });
  return (n, done) => {
    number += 1;
    waiting.set(number, done);
    threads[number % WORKERS].postMessage({ id: number, n });
  };
}

function serve(port, compute) {
  const server = http.createServer((request, response) => {
    if (request.url === '/') {
      answer(response, 'Hello, World!');
    } else if (request.url === '/fib/20') {
      compute(20, (result) => answer(response, String(result)));
    } else {
      response.writeHead(404, { 'Content-Length': 0 });
      response.end();
    }
  });
  server.keepAliveTimeout = 0;
  server.listen({ host: '127.0.0.1', port, backlog: 4096 });
}

if (!isMainThread) {
  parentPort.on('message', ({ id, n }) => parentPort.postMessage({ id, result: fib(n) }));
} else {
  const [port, mode = 'main'] = process.argv.slice(2);
  const here = (n, done) => done(fib(n));
  if (mode === 'main') {
    serve(Number(port), here);
  } else if (mode === 'threads') {
    serve(Number(port), inThreads());
  } else if (mode !== 'cluster') {
    console.error('usage: node server.js PORT [main|threads|cluster]');
    process.exitCode = 2;
  } else if (cluster.isPrimary) {
    for (let worker = 0; worker < WORKERS; worker += 1) {
      cluster.fork();
    }
  } else {
    serve(Number(port), here);
  }
}
