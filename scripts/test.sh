#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a passed test run: what CI does. Installs what is missing, builds with
# warnings as errors, checks layers, format, prose and links, runs the fuzzers for a few seconds each,
# the experiments in their smallest form, and last all tests but those labelled slow.
set -euo pipefail
cd "$(dirname "$0")/.."
start=$SECONDS
step() { printf '\n== %s (after %d s)\n' "$*" $((SECONDS - start)); }

step "set-up"
scripts/setup.sh

step "layers, files, prose and links"
scripts/check_all.sh

step "build"
cmake --preset release >/dev/null
cmake --build build/release -j "$(nproc)"

step "fuzzers"
scripts/fuzz.sh "${FUZZ_SECONDS:-10}"

if [ -x experiments/run_all ]; then
  step "experiments, smallest form"
  experiments/run_all --smoke
  experiments/run_all --plots --check
fi

step "Python package"
.venv/bin/python -m pytest -q python/tests

step "tests"
ctest --test-dir build/release -LE slow -j "$(nproc)" --output-on-failure
