#!/bin/sh
# What clients get while Redis and MariaDB are both dead: accounts that memory has, and others.
# Gateway and stores are started as subjects/ringside-gateway-users has them.
#   sh dead-stores.sh RINGSIDE GATEWAY
set -eu
ringside=$1 gateway=$2
subjects=$(CDPATH= cd "$(dirname "$0")/../../subjects" && pwd)
dir=$(mktemp -d)
sh "$subjects/go-chain/database.sh" "$dir/data" > "$dir/prepare.log" 2>&1
redis-server --port 9401 --bind 127.0.0.1 --dir "$dir" --save "" --appendonly no > "$dir/redis.log" 2>&1 &
redis=$!
mariadbd --no-defaults --user=root --datadir="$dir/data" --socket="$dir/db.sock" --bind-address=127.0.0.1 \
    --port=9402 --init-file="$subjects/ringside-gateway-users/fill.sql" > "$dir/database.log" 2>&1 &
database=$!
trap 'kill -9 $redis $database $served 2> /dev/null; rm -rf "$dir"' EXIT
sed -e 's/127\.0\.0\.1:{port}/127.0.0.1:9403/' -e 's/127\.0\.0\.2:{port}/127.0.0.2:9403/' \
    -e 's/{companion\.redis\.port}/9401/' -e 's/{companion\.database\.port}/9402/' \
    "$subjects/ringside-gateway-users/gateway.toml" > "$dir/gateway.toml"
cp "$subjects/ringside-gateway-users/secret" "$dir/"
until mariadb-admin --no-defaults --protocol=tcp --host=127.0.0.1 --port=9402 --user=root ping > /dev/null 2>&1; do sleep 0.2; done
(cd "$dir" && exec taskset -c 0 "$gateway" --config gateway.toml) 2> "$dir/gateway.log" &
served=$!
sleep 2
token=$(sed -n 's/^\(e[yO][A-Za-z0-9_.-]*\).*/\1/p' "$subjects/ringside-gateway-users/subject.toml" | head -3 | tr -d '\n')
(echo account; seq 0 9999) > "$dir/known.csv"
(echo account; seq 10000 99999) > "$dir/others.csv"
ask() { # name, data, what to expect, more
    name=$1 data=$2 expect=$3; shift 3
    echo "== $name"
    taskset -c 1 "$ringside" run -c 64 -H "Authorization: Bearer $token" --data "$dir/$data" --expect "$expect" "$@" \
        "http://127.0.0.1:9403/account/{{account}}" | grep -Ei "Latency|Requests/sec:|response|unexpected|never|failed" || true
}
ask "before, known" known.csv status=200 -R 3000 -d 10s
kill -9 $redis $database
sleep 1
ask "a moment after both were killed, others" others.csv status=503 -R 1000 -d 2s
ask "both dead, known" known.csv status=200 -R 3000 -d 10s
ask "both dead, others" others.csv status=503 -R 3000 -d 10s
cat "$dir/gateway.log"
