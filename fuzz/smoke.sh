#!/usr/bin/env bash
# Fuzzes every target for a few seconds: fuzz/smoke.sh [seconds, 7 unless given]
#
# The canary comes last and must crash; if it does not, fuzzing finds nothing because it cannot.
# Works on stable Rust: coverage is a stable compiler flag, only sanitizers are not (-s none).
# Installs nothing. Without cargo-fuzz it says so and succeeds, except where CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-7}

if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "fuzz/smoke.sh: SKIPPED: cargo-fuzz is not installed (cargo install cargo-fuzz)" >&2
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi

fuzz() { # target: new inputs go to corpus/, which git ignores; the seeds are only read
  local words=()
  case $1 in
    http1_*) words=(-dict=fuzz/http1.dict) ;;
    http2_* | hpack) words=(-dict=fuzz/http2.dict) ;;
  esac
  mkdir -p "fuzz/corpus/$1"
  cargo fuzz run --fuzz-dir fuzz -s none "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- \
    -max_total_time="$seconds" -max_len=2048 "${words[@]}" -rss_limit_mb=512 \
    -verbosity=0 -print_final_stats=1
}

targets=(http1_client http1_server http2_client http2_server hpack grpc
  websocket_client websocket_server targets data)
cargo fuzz build --fuzz-dir fuzz -s none
echo "fuzz/smoke.sh: ${targets[*]}: each for $seconds s, one per core" >&2
export seconds
export -f fuzz
printf '%s\0' "${targets[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -euc 'fuzz "$1"' fuzz

echo "fuzz/smoke.sh: canary, which must crash" >&2
said=$(mktemp)
trap 'rm -f "$said"' EXIT
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
