<?php
// The subject swoole-http-server: Swoole's server of the reactor, each request in a coroutine.
declare(strict_types=1);

use Swoole\Coroutine;
use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Http\Server;

if ($argc !== 2) {
    fwrite(STDERR, "usage: server.php PORT\n");
    exit(2);
}

// Nothing is set: mode, workers and everything else are what this class has by itself.
$server = new Server('127.0.0.1', (int) $argv[1]);
$server->on('request', function (Request $request, Response $response): void {
    if ($request->server['request_uri'] === '/wait10') {
        Coroutine::sleep(0.01);
        $response->header('Content-Type', 'text/plain');
        $response->end("waited\n");
        return;
    }
    $response->header('Content-Type', 'application/json');
    $response->end(json_encode(['status' => 'ok']));
});
$server->start();
