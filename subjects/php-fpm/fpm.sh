#!/bin/sh
# Becomes the newest PHP-FPM that is installed: Debian puts the version into the program's name.
for program in php-fpm8.5 php-fpm8.4 php-fpm8.3 php-fpm8.2 php-fpm; do
    if command -v "$program" >/dev/null; then
        exec "$program" "$@"
    fi
done
echo "no php-fpm is installed" >&2
exit 1
