#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is too long for CI: unit tests under the address and undefined-behaviour sanitizers, those
# with threads under the thread sanitizer, the tests labelled slow, the site of the documentation, and
# longer fuzzing.
#
#   scripts/nightly.sh [seconds per fuzzer, default 600]
set -euo pipefail
cd "$(dirname "$0")/.."
fuzz_seconds=${1:-600}
start=$SECONDS
step() { printf '\n== %s (after %d s)\n' "$*" $((SECONDS - start)); }

scripts/setup.sh

# Also while building: the tests are asked for their names.
export LSAN_OPTIONS="suppressions=$PWD/cmake/library_leaks.txt:print_suppressions=0"
step "sanitizers: build"
cmake --preset asan >/dev/null
cmake --build build/asan -j "$(nproc)"
step "sanitizers: unit tests"
ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
  ctest --test-dir build/asan -L unit -j "$(nproc)" --output-on-failure

# The tests that search, verify, evaluate and loop with several threads.
step "data races"
cmake --preset tsan >/dev/null
cmake --build build/tsan -j "$(nproc)" --target base_tests ir_tests egraph_tests rules_tests
build/tsan/bin/base_tests --gtest_brief=1 --gtest_filter='ThreadPool.*:InOrder.*'
build/tsan/bin/ir_tests --gtest_brief=1 --gtest_filter='Planned*:Contraction.*:EvaluationMemo.*'
build/tsan/bin/egraph_tests --gtest_brief=1 --gtest_filter='RuleSearch.*'
build/tsan/bin/rules_tests --gtest_brief=1 --gtest_filter='*Threads*'

step "fuzzers"
scripts/fuzz.sh "$fuzz_seconds"

step "slow tests"
cmake --preset release >/dev/null
cmake --build build/release -j "$(nproc)"
scripts/build_docs.sh
ctest --test-dir build/release -L slow -j "$(nproc)" --output-on-failure
