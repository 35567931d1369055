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

# A text-direction classifier for batches of images of any size. It is measured at one image of 48 by
# 192 pixels; the result takes all sizes, and is compared with the original at another one.
model=experiments/data/ppocr_cls.onnx
size=p2o.DynamicDimension
result=build/release/ppocr_cls.optimized.onnx
echo
"$egret" optimize "$model" --at $size.0=1 --at $size.1=48 --at $size.2=192 -o "$result"
echo
"$egret" compare "$model" "$result" --bind $size.0=2 --bind $size.1=48 --bind $size.2=321
