#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The share of lines that the unit tests run, for each folder and its own tests. Building takes long.
#
#   scripts/coverage.sh [folder..., default base ir egraph rules verifier extract]
set -euo pipefail
cd "$(dirname "$0")/.."
folders=("$@")
[ ${#folders[@]} -gt 0 ] || folders=(base ir egraph rules verifier extract)

cmake --preset coverage >/dev/null
cmake --build build/coverage -j "$(nproc)" --target "${folders[@]/%/_tests}"
for folder in "${folders[@]}"; do
  find build/coverage -name '*.gcda' -delete
  build/coverage/bin/"${folder}_tests" --gtest_brief=1
  # One .gcov file for each source, of which only those of the folder count.
  (cd "build/coverage/$folder" && find . -name '*.gcda' -exec gcov -t -r -s ../../.. {} + 2>/dev/null) |
    awk -v folder="$folder" '
      /^ *-:    0:Source:/ { file = $0; sub(/.*Source:/, "", file); mine = index(file, folder "/") == 1; next }
      !mine { next }
      { split($0, part, ":"); count = part[1]; line = part[2] + 0; gsub(/[ *]/, "", count) }
      line == 0 || count == "-" { next }
      { all[file ":" line] = 1; if (count !~ /^[#=]/) run[file ":" line] = 1 }
      END {
        for (one in all) { lines++; if (one in run) covered++ }
        printf "%-10s %6d of %6d lines, %.1f %%\n", folder, covered, lines, lines ? 100 * covered / lines : 0
      }'
done
