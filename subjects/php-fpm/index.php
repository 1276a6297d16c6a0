<?php
// The subject php-fpm: the front controller that nginx hands every request to.
declare(strict_types=1);

function fib(int $n): int
{
    return $n < 2 ? $n : fib($n - 1) + fib($n - 2);
}

function answer(string $type, string $body): void
{
    header("Content-Type: $type");
    header('Content-Length: ' . strlen($body));
    echo $body;
}

switch ($_SERVER['DOCUMENT_URI']) {
    case '/':
        answer('text/plain', 'Hello, World!');
        break;
    case '/json':
        answer('application/json', json_encode(['status' => 'ok']));
        break;
    case '/status':
        answer('application/json', json_encode(['status' => 'ok', 'timestamp' => time()]));
        break;
    case '/api.php':
        // As posted programs write it: without a length, so that nginx sends it in chunks.
        header('Content-Type: application/json');
        echo json_encode(['status' => 'ok', 'timestamp' => time()]);
        break;
    case '/fib/20':
        answer('text/plain', (string) fib(20));
        break;
    case '/wait10':
        usleep(10_000);
        answer('text/plain', "waited\n");
        break;
    default:
        http_response_code(404);
}
