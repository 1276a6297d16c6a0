<?php
// The subject php-fpm-100: the front controller of php-fpm. PHP-FPM itself takes no path with `..`.
require __DIR__ . '/../php-fpm/index.php';
