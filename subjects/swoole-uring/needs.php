<?php
// Succeeds where the loaded extension is new enough and its sockets use what the argument names:
// `uring` or `epoll`. Only phpinfo() tells the two apart.
declare(strict_types=1);

if (!extension_loaded('swoole')) {
    fwrite(STDERR, "the extension is not loaded\n");
    exit(1);
}
ob_start();
(new ReflectionExtension('swoole'))->info();
$uring = preg_match('/^uring_socket => enabled$/m', ob_get_clean()) === 1;
$new = version_compare(phpversion('swoole'), '6.2.0', '>=');
printf("Swoole %s, sockets on %s\n", phpversion('swoole'), $uring ? 'io_uring' : 'epoll');
exit($new && $uring === (($argv[1] ?? '') === 'uring') ? 0 : 1);
