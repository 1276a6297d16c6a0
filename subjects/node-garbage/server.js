// The subject node-garbage: a constant answer for which each request makes garbage, so that what
// the collector costs can be seen.
'use strict';

const http = require('node:http');
const { constants, PerformanceObserver } = require('node:perf_hooks');

const pieces = 64;
// 128 numbers of 8 bytes each.
const piece = () => new Array(128).fill(0.5);
// What is alive is found anew by each collection.
const alive = Array.from({ length: 32 * 1024 }, piece);

const hello = Buffer.from('Hello, World!');
const head = { 'Content-Type': 'text/plain', 'Content-Length': hello.length };

// What V8 says of its collections: of the young generation alone, and of all.
const kinds = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, { name: 'minor', count: 0, seconds: 0 }],
  [constants.NODE_PERFORMANCE_GC_MAJOR, { name: 'major', count: 0, seconds: 0 }],
]);
let longest = 0;

const observed = (entries) => {
  for (const { detail, duration } of entries) {
    const kind = kinds.get(detail.kind);
    // The steps of a collection that is made in pieces are part of the one that ends it.
    if (kind) {
      kind.count += 1;
      kind.seconds += duration / 1000;
      longest = Math.max(longest, duration / 1000);
    }
  }
};

const observer = new PerformanceObserver((list) => observed(list.getEntries()));
observer.observe({ entryTypes: ['gc'] });

const collections = () => {
  observed(observer.takeRecords());
  const lines = [...kinds.values()].map(
    ({ name, count, seconds }) =>
      `nodejs_gc_duration_seconds_count{kind="${name}"} ${count}\n` +
      `nodejs_gc_duration_seconds_sum{kind="${name}"} ${seconds}\n`,
  );
  return `${lines.join('')}nodejs_gc_longest_pause_seconds ${longest}\n`;
};

const server = http.createServer((request, response) => {
  if (request.url === '/metrics') {
    response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4' });
    response.end(collections());
    return;
  }
  const garbage = Array.from({ length: pieces }, piece);
  // Somebody has to hold it for a moment, or the compiler leaves it out.
  alive[garbage.length] = garbage[0];
  response.writeHead(200, head);
  response.end(hello);
});

server.keepAliveTimeout = 0;
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
