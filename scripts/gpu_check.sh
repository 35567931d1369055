#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes Egret to a machine with a GPU.
#
#   scripts/gpu_check.sh bundle [FILE]     make FILE (default build/egret-gpu.tar.xz, at most 60 MB)
#   scripts/gpu_check.sh run [FOLDER]      here: run the GPU tests and experiments/inference-gpu
#
# There:  tar xf egret-gpu.tar.xz && egret-gpu/gpu_check.sh [FOLDER]
#
# The bundle holds the programs with their libraries and ONNX's node tests; of the machine it needs glibc
# 2.36, NVIDIA's driver, and NVRTC, cuBLASLt, cuDNN and NCCL wherever they are installed (those inside
# Python wheels too). Python with PyTorch, ONNX Runtime or JAX is used for comparison where there is one.
# Results go to FOLDER (default experiments/results/gpu/NAME-OF-THE-GPU): tests.json, conformance.txt,
# sanitizer.txt, machine.json (device, driver, versions, date), costs.json, and the experiment's tables.
# Exit code 7 where there is no GPU, 1 where something failed.
set -euo pipefail
cd "$(dirname "$0")"
[ -f check_layers.py ] && cd ..

most_bytes=60000000

bundle() {
  local file=${1:-build/egret-gpu.tar.xz}
  cmake --build build/release --target egret gpu_tests conformance_tests
  top=$(mktemp -d) # not local: the trap runs when the function has ended
  trap 'rm -rf "$top"' EXIT
  local root=$top/egret-gpu
  mkdir -p "$root/build/release/bin" "$root/lib" "$root/experiments"
  local program
  for program in egret gpu_tests conformance_tests; do
    cp "build/release/bin/$program" "$root/lib/$program"
    strip "$root/lib/$program"
    # Everything but what belongs to the machine's glibc.
    ldd "build/release/bin/$program" | awk '$3 ~ /^\// {print $3}' |
      grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | xargs -I{} cp -Ln {} "$root/lib"
    cat >"$root/build/release/bin/$program" <<WRAPPER
#!/bin/sh
top=\$(cd "\$(dirname "\$0")/../../.." && pwd)
LD_LIBRARY_PATH="\$top/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" exec "\$top/lib/$program" "\$@"
WRAPPER
    chmod +x "$root/build/release/bin/$program"
  done
  cp -r experiments/lib experiments/inference-gpu experiments/run_all "$root/experiments"
  cp scripts/gpu_check.sh "$root"
  local data
  data=$(sed -n 's/^EGRET_ONNX_TESTDATA:PATH=//p' build/release/CMakeCache.txt)
  [ ! -d "$data" ] || cp -r "$data" "$root/onnx-testdata"
  git rev-parse HEAD >"$root/REVISION" 2>/dev/null || echo unknown >"$root/REVISION"
  mkdir -p "$(dirname "$file")"
  tar -C "$top" -c egret-gpu | xz -T0 -6 >"$file"
  local bytes
  bytes=$(stat -c %s "$file")
  echo "$file: $bytes bytes"
  [ "$bytes" -le $most_bytes ] || { echo "gpu_check.sh: more than $most_bytes bytes" >&2; return 1; }
}

# Folders of CUDA's libraries inside Python wheels, separated by colons.
wheel_folders() {
  python3 - <<'PYTHON' 2>/dev/null || true
import glob, site, sys
places = site.getsitepackages() + [site.getusersitepackages()] + sys.path
print(":".join(sorted({folder for place in places for folder in glob.glob(place + "/nvidia/*/lib")})))
PYTHON
}

# The versions that Python's packages for comparison have, as JSON.
peer_versions() {
  python3 - <<'PYTHON' 2>/dev/null || echo '{}'
import importlib.metadata as metadata, json
found = {}
for name in ("torch", "torchvision", "onnxruntime-gpu", "jax", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"):
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
PYTHON
}

describe_machine() {
  local gpu
  gpu=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null |
    awk 'NR == 1') || gpu=unknown
  cat <<JSON
{
  "date": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "gpu": "$gpu",
  "libraries": "${EGRET_CUDA_LIBRARIES:-}",
  "peers": $(peer_versions),
  "glibc": "$(ldd --version | awk 'NR == 1 {print $NF}')",
  "revision": "$(cat REVISION 2>/dev/null || git rev-parse HEAD)"
}
JSON
}

# The first GPU's name, as a folder is called.
gpu_folder() {
  local name
  name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | awk 'NR == 1') || name=
  echo "${name:-none}" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-'
}

check() {
  local out=${1:-experiments/results/gpu/$(gpu_folder)} failed=0
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  export EGRET_CUDA_LIBRARIES=${EGRET_CUDA_LIBRARIES:-$(wheel_folders)}
  export EGRET_KERNEL_CACHE=$out/kernels
  local bin=build/release/bin model
  describe_machine >"$out/machine.json"
  "$bin/egret" doctor >"$out/doctor.txt"
  cat "$out/machine.json"
  model=$out/probe.onnx
  "$bin/egret" zoo squeezenet1.1 -o "$model"
  local code=0
  "$bin/egret" run --backend cuda --check "$model" >"$out/probe.txt" 2>&1 || code=$?
  cat "$out/probe.txt"
  [ $code -ne 7 ] || return 7
  [ $code -eq 0 ] || failed=1
  "$bin/gpu_tests" --gtest_output="json:$out/tests.json" >"$out/tests.txt" 2>&1 || failed=1
  tail -n 3 "$out/tests.txt"
  if [ -d onnx-testdata ] || [ -x "$bin/conformance_tests" ]; then
    [ ! -d onnx-testdata ] || export EGRET_ONNX_TESTDATA=$PWD/onnx-testdata
    EGRET_CONFORMANCE_BACKEND=cuda "$bin/conformance_tests" >"$out/conformance.txt" 2>&1 || failed=1
    grep -E "on a backend:|PASSED|FAILED" "$out/conformance.txt" || true
  fi
  for precision in tf32 bf16 f16; do
    "$bin/egret" run --backend cuda --check --precision $precision "$model" >"$out/probe-$precision.txt" 2>&1 ||
      failed=1
  done
  if command -v compute-sanitizer >/dev/null; then
    compute-sanitizer --error-exitcode 1 "$bin/egret" run --backend cuda "$model" \
      >"$out/sanitizer.txt" 2>&1 || failed=1
    tail -n 1 "$out/sanitizer.txt"
  fi
  "$bin/egret" costs profile "$model" --backend cuda --cost-db "$out/costs.sqlite" --profile-time 120s >"$out/costs.txt" 2>&1 || failed=1
  "$bin/egret" costs export --cost-db "$out/costs.sqlite" "$out/costs.json" >>"$out/costs.txt" 2>&1 || failed=1
  rm -f "$out"/costs.sqlite*
  rm -rf "$out/kernels" "$model"
  if command -v python3 >/dev/null; then
    python3 experiments/run_all --full inference-gpu || failed=1
    [ ! -d experiments/results/inference-gpu ] || cp -r experiments/results/inference-gpu "$out"
  fi
  return $failed
}

case ${1:-} in
  bundle) shift && bundle "$@" ;;
  run) shift && check "$@" ;;
  *) if [ -f REVISION ]; then check "$@"; else
    sed -n '3,9p' "$0"
    exit 2
  fi ;;
esac
