<?php
// Ten calls to a service that answers each after a while: one after the other, or all at once in
// coroutines. `calls.php serial|concurrent URL`
declare(strict_types=1);

use Swoole\Coroutine;

const CALLS = 10;

if ($argc !== 3 || !in_array($argv[1], ['serial', 'concurrent'], true)) {
    fwrite(STDERR, "usage: calls.php serial|concurrent URL\n");
    exit(2);
}

$answers = 0;
$call = function () use ($argv, &$answers): void {
    // It warns and gives false where there is no answer, or none with a status of success.
    if (file_get_contents($argv[2]) !== false) {
        $answers++;
    }
};

if ($argv[1] === 'serial') {
    for ($at = 0; $at < CALLS; $at++) {
        $call();
    }
} else {
    Coroutine::set(['hook_flags' => SWOOLE_HOOK_TCP]);
    Coroutine\run(function () use ($call): void {
        for ($at = 0; $at < CALLS; $at++) {
            Coroutine::create($call);
        }
    });
}
echo $answers, " answers\n";
exit($answers === CALLS ? 0 : 1);
