// The subject grpc-node: the echo service of `ringside serve` on @grpc/grpc-js.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const path = require('node:path');

const [port, folder] = process.argv.slice(2);
if (!port || !folder) {
  console.error('usage: server.js PORT FOLDER-OF-PROTO-FILES');
  process.exit(2);
}

const definition = loader.loadSync(path.join(folder, 'ringside.proto'));
const { Echo } = grpc.loadPackageDefinition(definition).ringside;

const echo = {
  Echo(call, callback) {
    callback(null, call.request);
  },
  EchoClientStream(call, callback) {
    let last = {};
    call.on('data', (message) => {
      last = message;
    });
    call.on('end', () => callback(null, last));
  },
  EchoServerStream(call) {
    for (let sent = 0; sent < Math.max(call.request.count, 1); sent += 1) {
      call.write(call.request);
    }
    call.end();
  },
  EchoBidirectional(call) {
    call.on('data', (message) => call.write(message));
    call.on('end', () => call.end());
  },
};

const server = new grpc.Server();
server.addService(Echo.service, echo);
server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) {
    console.error(error.message);
    process.exit(1);
  }
});
