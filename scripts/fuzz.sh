#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzzer of tests/fuzz for some seconds each, from its corpus. What it finds is left in
# build/fuzz/found; put the file into the corpus with the mend, so that the tests replay it.
#
#   scripts/fuzz.sh [seconds per fuzzer, default 60] [fuzzer...]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true

fuzzers=("$@")
if [ ${#fuzzers[@]} -eq 0 ]; then
  for source in tests/fuzz/*_fuzzer.cc; do
    fuzzers+=("$(basename "$source" .cc)")
  done
fi

cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target "${fuzzers[@]}" -j "$(nproc)"
mkdir -p build/fuzz/found
for fuzzer in "${fuzzers[@]}"; do
  grown=build/fuzz/corpus/$fuzzer
  mkdir -p "$grown"
  echo "-- $fuzzer, $seconds s"
  # One input may take 1 s and 256 MB at most; a slower or larger one is a finding.
  build/fuzz/bin/"$fuzzer" -max_total_time="$seconds" -timeout=1 -rss_limit_mb=512 \
    -malloc_limit_mb=256 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix=build/fuzz/found/"$fuzzer"- "$grown" tests/fuzz/corpus/"$fuzzer"
done
