#!/bin/sh
# Starts Spring Boot on a port that the kernel chooses, and nginx in front of it once it listens, and
# ends both when it is asked to end. Runs in the run directory. $1 is the folder of the build.
set -u
java -XX:+UseSerialGC -Xmx4g -jar "$1/app/server.jar" --server.port=0 \
    --logging.level.org.springframework.boot.web.embedded.tomcat=info >service.log 2>&1 &
service=$!
trap 'kill "$service"; wait "$service"; exit 0' TERM
port=
until [ -n "$port" ]; do
    kill -0 "$service" || { cat service.log >&2; exit 1; }
    sleep 0.1
    port=$(sed -n 's/.*Tomcat started on port \([0-9]*\).*/\1/p' service.log)
done
sed "s/SERVICE_PORT/$port/" nginx.conf >nginx-service.conf
nginx -e error.log -p . -c nginx-service.conf &
nginx=$!
trap 'kill "$nginx" "$service"' TERM
wait "$nginx"
# Either nginx has ended by itself, or both have just been asked to.
kill "$service" 2>/dev/null
wait "$service"
wait "$nginx"
