<?php
// The subject php-fpm-100: the front controller of php-fpm, which PHP-FPM takes no path with `..` to.
require __DIR__ . '/../php-fpm/index.php';
