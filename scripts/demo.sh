#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to the main job: installs what is missing, builds the program, says what it can
# do, and optimizes a bundled trained model (experiments/data). May be run again at any time.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --no-python
cmake --preset release >/dev/null
cmake --build build/release --target egret -j "$(nproc)"

egret=build/release/bin/egret
"$egret" doctor
if "$egret" help optimize >/dev/null 2>&1; then
  echo
  "$egret" optimize experiments/data/ppocr_cls.onnx -o build/release/ppocr_cls.optimized.onnx
fi
