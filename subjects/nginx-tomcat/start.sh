#!/bin/sh
# Starts the service, which writes the port that it was given to a file, and becomes the nginx in
# front of it.
set -eu
rm -f service.port
PORTFILE=service.port java -XX:+UseSerialGC -Xms256m -Xmx256m -jar "$1" --server.port=0 &
until [ -s service.port ]; do
    kill -0 $!
    sleep 0.1
done
cat >upstream.conf <<END
upstream service {
    server 127.0.0.1:$(cat service.port);
    keepalive 1024;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
}
END
exec nginx -e error.log -p . -c nginx.conf
