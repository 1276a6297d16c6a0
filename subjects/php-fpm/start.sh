#!/bin/sh
# Starts PHP-FPM, and nginx in front of it once it listens, and ends both when it is asked to end.
# Runs in the run directory, to which all paths here are relative: the path of a socket may not be
# longer than 107 bytes (unix(7)). What else is given goes to PHP-FPM, behind its own settings.
set -u
subject=$1
shift
rm -f fpm.sock
# PHP-FPM leaves the process group and overwrites its environment, so nobody else would find it:
# setpriv lets the kernel end it with this script, however that ends.
# -n: no php.ini; -R: as root, too; -F: in the foreground, as a child of this script.
setpriv --pdeathsig TERM sh "$subject/fpm.sh" -n -R -F -p . -y php-fpm.conf \
    -d zend_extension=opcache -d opcache.validate_timestamps=0 \
    -d expose_php=0 -d default_charset= -d variables_order=GPCS "$@" &
fpm=$!
trap 'kill "$fpm"; wait "$fpm"; exit 0' TERM
until [ -S fpm.sock ]; do
    kill -0 "$fpm" || exit 1
    sleep 0.05
done
nginx -e error.log -p . -c nginx.conf &
nginx=$!
trap 'kill "$nginx" "$fpm"' TERM
wait "$nginx"
# Either nginx has ended by itself, or both have just been asked to.
kill "$fpm" 2>/dev/null
wait "$fpm"
wait "$nginx"
