// Node's own HTTP/2: in the clear where there is a port alone, else with a certificate and its key.
// After so many requests, where that is said, each session is ended by GOAWAY.
const fs = require('fs');
const http2 = require('http2');

const [port, certificate, key] = process.argv.slice(2);
const goAwayAfter = Number(process.env.GO_AWAY_AFTER || Infinity);
const server = certificate
  ? http2.createSecureServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(key) })
  : http2.createServer();

server.on('session', (session) => {
  let requests = 0;
  session.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'text/plain' });
    stream.end('Hello, World!');
    requests += 1;
    if (requests === goAwayAfter) session.close();
  });
});
server.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
