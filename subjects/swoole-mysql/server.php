<?php
// The subject swoole-mysql: a query of MariaDB for each request, by PDO or mysqli, whose calls block
// the process or, hooked, only their coroutine. One process either way.
declare(strict_types=1);

use Swoole\Coroutine\Channel;
use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Http\Server;

const ROWS = 1000;
// As many as there are connections of the load, so that no coroutine waits for another's.
const CONNECTIONS = 50;

$clients = ['pdo' => pdo(...), 'mysqli' => mysqli(...)];
[, $port, $database, $way, $client] = $argv + ['', '', '', 'coroutines', 'pdo'];
if (!in_array($way, ['blocking', 'coroutines'], true) || !isset($clients[$client])) {
    fwrite(STDERR, "usage: server.php PORT DATABASE-PORT [blocking|coroutines [pdo|mysqli]]\n");
    exit(2);
}
$connect = fn() => $clients[$client]((int) $database);

function pdo(int $port): Closure
{
    $options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    $pdo = new PDO("mysql:host=127.0.0.1;port=$port", 'root', '', $options);
    return fn(string $query) => $pdo->query($query)->fetchColumn();
}

function mysqli(int $port): Closure
{
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $mysqli = new mysqli('127.0.0.1', 'root', '', '', $port);
    return fn(string $query) => $mysqli->query($query)->fetch_row()[0];
}

function prepare(int $port): void
{
    $pdo = new PDO("mysql:host=127.0.0.1;port=$port", 'root', '');
    $pdo->exec('CREATE DATABASE IF NOT EXISTS mechanisms');
    $columns = 'id INT PRIMARY KEY, text VARCHAR(64)';
    $pdo->exec("CREATE TABLE IF NOT EXISTS mechanisms.lines ($columns)");
    $values = array_map(fn(int $id) => "($id, 'line $id')", range(1, ROWS));
    $pdo->exec('REPLACE INTO mechanisms.lines VALUES ' . implode(', ', $values));
}

prepare((int) $database);

$hooked = $way === 'coroutines';
$server = new Server('127.0.0.1', (int) $port, SWOOLE_BASE);
$server->set([
    'worker_num' => 1,
    'log_level' => SWOOLE_LOG_WARNING,
    'hook_flags' => $hooked ? SWOOLE_HOOK_ALL : 0,
    'enable_coroutine' => $hooked,
    'http_compression' => false,
]);

$pool = null;
$only = null;
$server->on('workerStart', function () use (&$pool, &$only, $hooked, $connect): void {
    if (!$hooked) {
        $only = $connect();
        return;
    }
    $pool = new Channel(CONNECTIONS);
    for ($made = 0; $made < CONNECTIONS; $made++) {
        $pool->push($connect());
    }
});

$ask = function (string $query) use (&$pool, &$only, $hooked): string {
    if (!$hooked) {
        return (string) $only($query);
    }
    $connection = $pool->pop();
    try {
        return (string) $connection($query);
    } finally {
        $pool->push($connection);
    }
};

$server->on('request', function (Request $request, Response $response) use ($ask): void {
    $answer = match ($request->server['request_uri']) {
        // A row by its key, out of memory: as fast as a query can be.
        '/row' => $ask('SELECT text FROM mechanisms.lines WHERE id = 42'),
        // A query that takes 10 ms, in which the database computes nothing.
        '/wait' => $ask("SELECT CONCAT('waited ', SLEEP(0.01))"),
        '/' => 'ready',
        default => null,
    };
    $response->header('Content-Type', 'text/plain');
    if ($answer === null) {
        $response->status(404);
    }
    $response->end($answer ?? 'nothing here');
});
$server->start();
