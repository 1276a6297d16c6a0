#!/bin/sh
# Starts Spring Boot on a port that the kernel chooses, and the gateway in front of it once it
# listens, and ends both when it is asked to end. Runs in the run directory. $1 is the folder of the
# build, $2 the gateway's port.
set -u
java -XX:+UseSerialGC -Xmx4g -jar "$1/service/server.jar" --server.port=0 \
    --logging.level.org.springframework.boot.web.embedded.tomcat=info >service.log 2>&1 &
service=$!
trap 'kill "$service"; wait "$service"; exit 0' TERM
port=
until [ -n "$port" ]; do
    kill -0 "$service" || { cat service.log >&2; exit 1; }
    sleep 0.1
    port=$(sed -n 's/.*Tomcat started on port \([0-9]*\).*/\1/p' service.log)
done
java -XX:+UseSerialGC -Xmx4g -jar "$1/app/gateway.jar" --server.port="$2" \
    --service.port="$port" &
gateway=$!
trap 'kill "$gateway" "$service"' TERM
wait "$gateway"
# Either the gateway has ended by itself, or both have just been asked to.
kill "$service" 2>/dev/null
wait "$service"
wait "$gateway"
