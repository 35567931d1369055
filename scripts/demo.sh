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

# A text-direction classifier; its image is 48 pixels high and may have any width.
model=experiments/data/ppocr_cls.onnx
bind=(--bind p2o.DynamicDimension.0=1 --bind p2o.DynamicDimension.1=48 --bind p2o.DynamicDimension.2=192)
result=build/release/ppocr_cls.optimized.onnx
echo
"$egret" optimize "$model" "${bind[@]}" -o "$result"
echo
"$egret" compare "$model" "$result" "${bind[@]}"
