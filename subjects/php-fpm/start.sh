#!/bin/sh
# Starts PHP-FPM, and nginx in front of it once it listens. Runs in the run directory, to which all
# paths here are relative: the path of a socket may not be longer than 107 bytes (unix(7)).
set -eu
subject=$1
rm -f fpm.sock
# -n: no php.ini; -R: as root, too; -F: in the foreground, so that it stays in this process tree.
sh "$subject/fpm.sh" -n -R -F -p . -y php-fpm.conf \
    -d zend_extension=opcache -d opcache.validate_timestamps=0 \
    -d expose_php=0 -d default_charset= -d variables_order=GPCS &
fpm=$!
until [ -S fpm.sock ]; do
    kill -0 "$fpm"
    sleep 0.05
done
exec nginx -e error.log -p . -c nginx.conf
