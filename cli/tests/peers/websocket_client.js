// A client by ws that looks at how a server echoes and closes. Arguments: the URL of the echo.
'use strict';

const assert = require('node:assert');
const { once } = require('node:events');
const WebSocket = require('ws');

const url = process.argv[2];

async function open(path = '') {
  const socket = new WebSocket(url + path);
  await once(socket, 'open');
  return socket;
}

async function answer(socket) {
  const [data, binary] = await once(socket, 'message');
  return [data.toString('latin1'), binary];
}

async function closed(socket) {
  const [code] = await once(socket, 'close');
  return code;
}

async function main() {
  const socket = await open();
  for (const [data, binary] of [['Hello', false], ['', false], ['x'.repeat(300_000), true]]) {
    socket.send(data, { binary });
    assert.deepStrictEqual(await answer(socket), [data, binary]);
  }
  socket.send('one ', { fin: false });
  socket.ping('between');
  socket.send('', { fin: false });
  socket.send('two', { fin: true });
  const [[pong], fragments] = await Promise.all([once(socket, 'pong'), answer(socket)]);
  assert.strictEqual(pong.toString(), 'between');
  assert.deepStrictEqual(fragments, ['one two', false]);
  socket.close(3456, 'bye');
  assert.strictEqual(await closed(socket), 3456);

  const without = await open();
  without.close();
  assert.strictEqual(await closed(without), 1005);

  const garbled = await open();
  garbled.send(Buffer.from([0xce, 0xba, 0xed, 0xa0]), { binary: false });
  assert.strictEqual(await closed(garbled), 1007);

  const oversized = await open();
  oversized.on('error', () => {});
  oversized.send(Buffer.alloc((1 << 20) + 1));
  assert.strictEqual(await closed(oversized), 1009);

  const told = await open('/close/4321');
  told.send('x');
  assert.strictEqual(await closed(told), 4321);

  const refused = new WebSocket(url + '/none');
  const [error] = await once(refused, 'error');
  assert.match(error.message, /404/);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
