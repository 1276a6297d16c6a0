<?php
// The subjects swoole-uring and swoole-epoll: Swoole's coroutine HTTP server in one process. Which
// kernel interface its sockets use was decided when the extension was compiled.
declare(strict_types=1);

use Swoole\Coroutine;
use Swoole\Coroutine\Http\Server;
use Swoole\Http\Request;
use Swoole\Http\Response;

if ($argc !== 2) {
    fwrite(STDERR, "usage: server.php PORT\n");
    exit(2);
}

function answer(Response $response, string $type, string $body): void
{
    $response->header('Content-Type', $type);
    $response->end($body);
}

// The handlers call nothing that blocks, so no function of PHP has to be replaced.
Coroutine::set(['hook_flags' => 0]);
Coroutine\run(function () use ($argv): void {
    $server = new Server('127.0.0.1', (int) $argv[1]);
    $server->set(['http_compression' => false]);
    $server->handle('/', function (Request $request, Response $response): void {
        switch ($request->server['request_uri']) {
            case '/':
                answer($response, 'text/plain', 'Hello, World!');
                break;
            case '/json':
                answer($response, 'application/json', json_encode(['status' => 'ok']));
                break;
            case '/status':
                $status = ['status' => 'ok', 'timestamp' => time()];
                answer($response, 'application/json', json_encode($status));
                break;
            case '/wait10':
                Coroutine::sleep(0.01);
                answer($response, 'text/plain', "waited\n");
                break;
            default:
                $response->status(404);
                $response->end();
        }
    });
    $server->start();
});
