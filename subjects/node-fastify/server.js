// The subject node-fastify: the same answers as node-http, from Fastify.
'use strict';

const fastify = require('fastify')({ keepAliveTimeout: 0 });

const answerSchema = {
  type: 'object',
  properties: { status: { type: 'string' }, timestamp: { type: 'integer' } },
};
const options = { schema: { response: { 200: answerSchema } } };

fastify.get('/', (request, reply) => {
  reply.type('text/plain').send('Hello, World!');
});

fastify.get('/json', options, (request, reply) => {
  reply.send({ status: 'ok' });
});

fastify.get('/status', options, (request, reply) => {
  const timestamp = Math.floor(Date.now() / 1000);
  reply.send({ status: 'ok', timestamp });
});

fastify.get('/wait10', (request, reply) => {
  setTimeout(() => reply.type('text/plain').send('waited\n'), 10);
});

const port = Number(process.argv[2]);
fastify.listen({ host: '127.0.0.1', port, backlog: 4096 }, (error) => {
  if (error) {
    console.error(error.message);
    process.exit(1);
  }
});
