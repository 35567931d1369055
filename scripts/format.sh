#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formats all C++ sources, or with --check names those that are not formatted (exit code 1).
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.h' '*.cc' '*.cu')
if [ "${1:-}" = --check ]; then
  clang-format-14 --dry-run --Werror "${files[@]}" 2>&1 | sed -n 's/:.*error: code should be.*//p' |
    sort -u >/tmp/egret-format.$$ || true
  unformatted=$(cat /tmp/egret-format.$$)
  rm -f /tmp/egret-format.$$
  [ -z "$unformatted" ] && exit 0
  echo "not formatted (run scripts/format.sh):" >&2
  echo "$unformatted" >&2
  exit 1
fi
clang-format-14 -i "${files[@]}"
