#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks that need no build, in a few seconds: layers, format, prose and links. All of them run; the
# exit code is 1 if one fails.
#
#   ln -s ../../scripts/check_all.sh .git/hooks/pre-commit      runs them before each commit
set -uo pipefail
[ -x scripts/check_all.sh ] || cd "$(dirname "$0")/.."   # a hook starts at the root of its worktree
failed=0
for check in check_layers.py "format.sh --check" check_prose.py check_links.py; do
  # shellcheck disable=SC2086
  if ! output=$(scripts/$check 2>&1); then
    printf '%s\nscripts/%s failed\n' "$output" "$check" >&2
    failed=1
  fi
done
exit $failed
