<?php
// The subjects swoole-uring-page and swoole-epoll-page: a coroutine HTTP server in the one process
// of a pool, which answers every path with a small page.
declare(strict_types=1);

use Swoole\Coroutine;
use Swoole\Coroutine\Http\Server;
use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Process\Pool;
use Swoole\Runtime;

if ($argc !== 2) {
    fwrite(STDERR, "usage: server.php PORT\n");
    exit(2);
}

$serve = function () use ($argv): void {
    $server = new Server('127.0.0.1', (int) $argv[1], ssl: false, reuse_port: true);
    $server->handle('/', function (Request $request, Response $response): void {
        $response->end("<h1>\nHello world!\n</h1>\n");
    });
    $server->start();
};

$pool = new Pool(1, SWOOLE_IPC_NONE);
$pool->on('WorkerStart', function () use ($serve): void {
    Runtime::setHookFlags(0);
    Coroutine\run($serve);
});
$pool->start();
