# Starts the service, which writes the port that it was given to a file, and becomes the gateway in
# front of it.
set -eu
build=$1 port=$2
rm -f service.port
PORTFILE=service.port java -XX:+UseSerialGC -Xms256m -Xmx256m \
    -jar "$build/service/server.jar" --server.port=0 &
while [ ! -s service.port ]; do
    kill -0 $!
    sleep 0.1
done
exec java -XX:+UseSerialGC -Xms256m -Xmx256m \
    -jar "$build/gateway/gateway.jar" "--server.port=$port" "--service.port=$(cat service.port)"
