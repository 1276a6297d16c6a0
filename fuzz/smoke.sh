#!/usr/bin/env bash
# Fuzzes every target: fuzz/smoke.sh [SECONDS]
#
# Without SECONDS, 200,000 inputs from a fixed seed, some seconds for each target, and 20,000 for
# those that serve whole connections or read whole configurations: what fails then fails for
# everybody. With SECONDS, other inputs each time, for that long: that is how to search.
# The canary comes last and must crash; if it does not, fuzzing finds nothing because it cannot.
# Works on stable Rust: coverage is a stable compiler flag, only sanitizers are not (-s none).
# Installs nothing. Without cargo-fuzz it says so and succeeds, except where CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-}

if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzz/smoke.sh: SKIPPED: cargo-fuzz is not installed (cargo install cargo-fuzz)" >&2
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi

fuzz() { # target: the seeds are only read; a search keeps its finds in corpus/, which git ignores
  local words=(-seed=1 -runs=200000) new="$made/$1"
  case $1 in server_* | gateway_*) words=(-seed=1 -runs=20000) ;; esac
  if [ -n "$seconds" ]; then
    words=(-max_total_time="$seconds")
    new="fuzz/corpus/$1"
  fi
  case $1 in
    http1_* | server_*) words+=(-dict=fuzz/http1.dict) ;;
    http2_* | hpack) words+=(-dict=fuzz/http2.dict) ;;
  esac
  mkdir -p "$new"
  cargo fuzz run --fuzz-dir fuzz -s none "$1" "$new" "fuzz/seeds/$1" -- \
    "${words[@]}" -max_len=2048 -rss_limit_mb=512 \
    -verbosity=0 -print_final_stats=1
}

targets=(http1_client http1_server http2_client http2_server hpack grpc
  websocket_client websocket_server server_native server_tower targets data fleet flow proxy token
  stream replay gateway_config)
cargo fuzz build --fuzz-dir fuzz -s none
echo "fuzz/smoke.sh: ${targets[*]}: each for ${seconds:-a few} s, one per core" >&2
made=$(mktemp -d)
said=$made/said
trap 'rm -rf "$made"' EXIT
export seconds made
export -f fuzz
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -euc 'fuzz "$1"' fuzz

echo "fuzz/smoke.sh: canary, which must crash" >&2
if fuzz canary >"$said" 2>&1; then
  echo "fuzz/smoke.sh: FAILED: the canary did not crash, so fuzzing finds nothing" >&2
  exit 1
fi
if ! grep -q "the canary sings" "$said"; then
  cat "$said" >&2
  echo "fuzz/smoke.sh: FAILED: the canary ended, but not by its own assertion" >&2
  exit 1
fi
echo "fuzz/smoke.sh: ok: the targets hold, and the canary sings" >&2
