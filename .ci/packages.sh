#!/usr/bin/env bash
# Tries what `cargo xtask dist --profile trial` made as somebody has it who has nothing else: the
# static program alone in an empty root, and the package for Debian installed into another. In each,
# `doctor`, `serve`, and `run` against that server: by address, as localhost, by /etc/hosts, and by a
# name server. All of it happens in a network of its own, where port 53 is free.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1-}" != inside ]; then
    own=(unshare --net --mount)
    [ "$(id -u)" = 0 ] || own+=(--map-root-user)
    if ! "${own[@]}" true; then
        echo "skipped: this machine permits no namespaces, so the packages were not tried" >&2
        exit 0
    fi
    exec "${own[@]}" bash .ci/packages.sh inside
fi

readonly TARGET=x86_64-unknown-linux-gnu
readonly NAME_SERVER=127.0.0.53
made="${CARGO_TARGET_DIR:-target}/packages"
folder=$(mktemp -d)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() {
    echo "$*" >&2
    exit 1
}

# The newest of the files that these words match: older versions may lie beside it.
newest() {
    local found
    found=$(ls -t "$@" 2>/dev/null | head -n 1) || true
    [ -n "$found" ] || fail "there is nothing like $*: run cargo xtask dist --profile trial"
    echo "$found"
}

# An empty root has nothing but what names are resolved by.
names_for() {
    mkdir -p "$1/etc"
    echo "127.0.0.1 in-the-file" >"$1/etc/hosts"
    printf 'nameserver %s\nsearch test\n' "$NAME_SERVER" >"$1/etc/resolv.conf"
}

# Waits until a line of that file has this in it.
await() {
    local file=$1 words=$2
    for _ in $(seq 300); do
        grep -m1 "$words" "$file" 2>/dev/null && return
        sleep 0.1
    done
    fail "$file never said $words: $(cat "$file")"
}

# Everything with the program at $2 in the root $1.
try() {
    local root=$1 program=$2 said="$folder/said" listening server port host
    echo "-- $(chroot "$root" "$program" --version), $program in $root"
    chroot "$root" "$program" doctor >"$said" || fail "doctor failed: $(cat "$said")"
    grep -q . "$said" || fail "doctor said nothing"
    : >"$said"
    chroot "$root" "$program" serve --addr in-the-file:0 2>"$said" &
    server=$!
    started+=("$server")
    listening=$(await "$said" "listening on http://")
    port=$(sed 's/^[^(]*:\([0-9]*\) .*/\1/' <<<"$listening")
    for host in 127.0.0.1 localhost in-the-file server.test server; do
        chroot "$root" "$program" run -c 2 -d 0.2s "http://$host:$port/" >"$folder/run" 2>&1 ||
            fail "run against $host failed: $(cat "$folder/run")"
        echo "run: $host answers"
    done
    if chroot "$root" "$program" run -d 0.2s "http://nowhere.invalid.:$port/" >"$folder/run" 2>&1; then
        fail "a name that nobody has was found"
    fi
    grep -q "the name server $NAME_SERVER knows no such name" "$folder/run" ||
        fail "it isn't said who knows no such name: $(cat "$folder/run")"
    kill -INT "$server"
    wait "$server" || fail "serve failed: $(cat "$said")"
}

ip link set lo up
python3 .ci/name_server.py "$NAME_SERVER" >"$folder/names" &
started+=("$!")
await "$folder/names" ready >/dev/null

(cd "$made" && sha256sum --check --quiet SHA256SUMS)

bare="$folder/bare"
mkdir "$bare"
install "$(newest "$made"/ringside-*-"$TARGET"-trial)" "$bare/ringside"
names_for "$bare"
try "$bare" /ringside

package=$(newest "$made"/ringside_*_amd64-trial.deb)
installed="$folder/installed"
mkdir -p "$installed/var/lib/dpkg"
dpkg --root="$installed" --install "$package" >/dev/null
[ "$(dpkg-query --admindir="$installed/var/lib/dpkg" -f '${db:Status-Status}' -W ringside)" = installed ] ||
    fail "dpkg doesn't call the package installed"
for file in bin/ringside-fleet share/man/man1/ringside-run.1.gz share/bash-completion/completions/ringside \
    share/doc/ringside/copyright share/doc/ringside/THIRD-PARTY.txt.gz; do
    [ -s "$installed/usr/$file" ] || fail "the package has no /usr/$file"
done
names_for "$installed"
try "$installed" /usr/bin/ringside
chroot "$installed" /usr/bin/ringside fleet agent --help | grep -q "ringside fleet agent --policy" ||
    fail "ringside doesn't hand over to ringside-fleet"
echo "the packages work in empty roots"
