#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes Egret to a machine with a GPU.
#
#   scripts/gpu_check.sh bundle [--small] [FILE]
#                                          make FILE (default build/egret-gpu.tar.xz, at most 60 MB);
#                                          --small leaves out ONNX's node tests (10 MB)
#   scripts/gpu_check.sh next [--dry-run] [SECONDS] [FOLDER]
#                                          here: the rows that are missing or stale, the most valuable first,
#                                          for SECONDS (540) from now; a dry run prints the schedule
#   scripts/gpu_check.sh merge FOLDER...   add the rows of waves to experiments/results/gpu
#   scripts/gpu_check.sh page [--check]    write (or check) the page of all kept rows
#   scripts/gpu_check.sh kernels [SECONDS] compile kernels for the next bundle (600), and go on another time
#   scripts/gpu_check.sh run [FOLDER]      here: run the stages below to their end
#
# There:  tar xf egret-gpu.tar.xz && egret-gpu/gpu_check.sh next 540 [FOLDER]
#
# The bundle holds the programs with their libraries, ONNX's node tests, the shared models, the kept rows and
# kernels that NVRTC has compiled here, where it is installed; of the
# machine it needs glibc 2.36, NVIDIA's driver, and NVRTC, cuBLASLt, cuDNN and NCCL wherever they are
# installed (those inside Python wheels too). Python 3.11 or later runs the experiments, with PyTorch,
# ONNX Runtime or JAX for comparison where there is one.
#
# next: docs/cuda.md, "Waves". FOLDER (default experiments/results/gpu/NAME-OF-THE-GPU) gets waves.jsonl, costs.json,
# machine.json and logs.tar.xz. GPU_CHECK_ROWS=REGEX takes only rows whose keys match.
#
# run: stages, in this order, each of which writes FOLDER/STAGE.txt and more: probe, tests, conformance,
# models, inference, ablations, costs, sanitizer. FOLDER gets machine.json (device, driver, versions, date) and
# summary.txt too.
#   GPU_CHECK_STAGES="probe tests"   only these
#   GPU_CHECK_SECONDS=600            for all of them: a stage that is not done is stopped, and said to be;
#                                    experiments go on when it is run again
# Exit code 7 if there is no GPU, 1 if something failed.
set -euo pipefail
cd "$(dirname "$0")"
[ -f check_layers.py ] && cd ..

most_bytes=60000000

# Python with what experiments need, and their library.
waves() {
  local python=python3
  [ ! -x .venv/bin/python ] || python=.venv/bin/python
  PYTHONPATH=experiments PYTHONDONTWRITEBYTECODE=1 "$python" -m lib.waves "$@"
}

bundle() {
  local programs=(egret gpu_tests conformance_tests)
  [ "${1:-}" != --small ] || { programs=(egret gpu_tests) && shift; }
  local file=${1:-build/egret-gpu.tar.xz}
  cmake --build build/release --target "${programs[@]}" fake_cuda
  top=$(mktemp -d) # not local: the trap runs when the function has ended
  trap 'rm -rf "$top"' EXIT
  local root=$top/egret-gpu
  mkdir -p "$root/build/release/bin" "$root/lib" "$root/experiments"
  local program
  for program in "${programs[@]}"; do
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
  cp -r experiments/lib experiments/data experiments/run_all experiments/*gpu* "$root/experiments"
  [ ! -d experiments/fused-subgraphs ] || cp -r experiments/fused-subgraphs "$root/experiments"
  find "$root/experiments" -name __pycache__ -prune -exec rm -r {} +
  waves manifest "$root/SOURCES.json"
  waves kernels build/gpu-kernels "${GPU_CHECK_KERNEL_SECONDS:-600}" --copy "$root/kernels"
  # Rows of these that are kept are not measured again, nor costs.
  local kept
  for kept in inference-gpu gpu-ablations; do
    [ ! -d "experiments/results/$kept" ] ||
      { mkdir -p "$root/experiments/results" && cp -r "experiments/results/$kept" "$root/experiments/results"; }
  done
  for kept in experiments/results/gpu/*/costs.json experiments/results/gpu/*/waves.jsonl; do
    [ ! -f "$kept" ] || { mkdir -p "$root/$(dirname "$kept")" && cp "$kept" "$root/$kept"; }
  done
  cp scripts/gpu_check.sh "$root"
  local data
  data=$(sed -n 's/^EGRET_ONNX_TESTDATA:PATH=//p' build/release/CMakeCache.txt)
  [ ! -d "$data" ] || [[ " ${programs[*]} " != *" conformance_tests "* ]] || cp -rL "$data" "$root/onnx-testdata"
  [ ! -d ../shared/models ] || { mkdir "$root/shared" && cp -r ../shared/models "$root/shared"; }
  git rev-parse HEAD >"$root/REVISION" 2>/dev/null || echo unknown >"$root/REVISION"
  mkdir -p "$(dirname "$file")"
  # The programs share much of their code: a dictionary of 64 MiB holds it once.
  tar -C "$top" --sort=name -c egret-gpu | xz -9 -T0 >"$file"
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

bin=build/release/bin

# ---- Stages. Each prints what is to be kept; its exit code says whether it is as it should be.

stage_probe() {
  "$bin/egret" doctor
  "$bin/egret" run --backend cuda --check "$out/probe.onnx"
}

# A program's tests in as many processes as half the processors, each of which is told its part by
# variables; fails where one of them does.
tests_of() {
  local program=$1 shards=$(($(nproc) / 2)) shard failed=0
  [ "$shards" -ge 1 ] || shards=1
  local processes=()
  for ((shard = 0; shard < shards; ++shard)); do
    env OMP_NUM_THREADS=2 $(printf "$2" "$shard" "$shards") "$bin/$program" >"$out/$program.$shard.txt" 2>&1 &
    processes+=($!)
  done
  for ((shard = 0; shard < shards; ++shard)); do
    wait "${processes[shard]}" || failed=1
    grep -vE '^\[ (RUN|      OK) ' "$out/$program.$shard.txt" || true
    rm "$out/$program.$shard.txt"
  done
  return $failed
}

stage_tests() { tests_of gpu_tests 'GTEST_SHARD_INDEX=%d GTEST_TOTAL_SHARDS=%d'; }

stage_conformance() {
  [ -x "$bin/conformance_tests" ] || { echo "conformance_tests is not in this bundle"; return 0; }
  [ ! -d onnx-testdata ] || export EGRET_ONNX_TESTDATA=$PWD/onnx-testdata
  EGRET_CONFORMANCE_BACKEND=cuda tests_of conformance_tests \
    'GTEST_FILTER=Onnx/BackendTests.* EGRET_CONFORMANCE_PART=%d/%d'
}

experiment() {
  local left=$((end - SECONDS))
  EGRET_EXPERIMENT_SECONDS=$((left > 20 ? left - 20 : 1)) python3 experiments/run_all --full "$1"
}
stage_models() { experiment gpu-models; }
stage_inference() { experiment inference-gpu; }
stage_ablations() { experiment gpu-ablations; }

# Rates, and operators beside those that `optimize` measured.
stage_costs() {
  local model precision left
  for precision in bf16 f32; do
    "$bin/egret" costs calibrate --backend cuda --precision $precision
    for model in squeezenet1.1 resnet50 bert-base; do
      "$bin/egret" zoo $model -q -o "$out/costs.onnx"
      left=$(((end - SECONDS) / 6))
      "$bin/egret" costs profile "$out/costs.onnx" --backend cuda --precision $precision \
        --profile-time $((left < 60 ? (left > 5 ? left : 5) : 60))s || [ $? -eq 5 ] # its time is over
    done
  done
}

stage_sanitizer() {
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; return 0; }
  local tool
  for tool in memcheck racecheck; do
    compute-sanitizer --tool $tool --error-exitcode 1 "$bin/egret" run --backend cuda "$out/probe.onnx"
    compute-sanitizer --tool $tool --error-exitcode 1 "$bin/gpu_tests" --gtest_filter='DeviceGraphs.*'
  done
}

all_stages="probe tests conformance models inference ablations costs sanitizer"

# What all of CUDA's programs are told here; folder: absolute.
set_environment() {
  local folder=$1 known
  export EGRET_CUDA_LIBRARIES=${EGRET_CUDA_LIBRARIES:-$(wheel_folders)}
  export EGRET_KERNEL_CACHE=$folder/kernels EGRET_COST_DB=$folder/costs.sqlite
  [ ! -d kernels ] || export EGRET_KERNEL_CACHE=$PWD/kernels # those of the bundle
  [ ! -d shared ] || export EGRET_SHARED=$PWD/shared
  for known in experiments/results/gpu/*/costs.json "$folder/costs.json"; do
    [ ! -f "$known" ] || "$bin/egret" costs import -q "$known"
  done
}

# For planning without the GPU (egret costs import): all that was measured, done or stopped.
export_costs() {
  [ ! -f "$EGRET_COST_DB" ] || "$bin/egret" costs export -q "$1/costs.json"
}

next_wave() {
  local began=$SECONDS flags=() device seconds kernels logs code=0
  [ "${1:-}" != --dry-run ] || { flags=(--dry-run) && shift; }
  seconds=${1:-540}
  device=$(gpu_folder)
  # A dry run plans for the device that was measured last.
  [ "$device" != none ] || [ ${#flags[@]} -eq 0 ] ||
    device=$(basename "$(ls -td experiments/results/gpu/*/ 2>/dev/null | head -n 1)")
  [ "$device" != none ] || [ -n "${2:-}" ] || { echo "gpu_check.sh: nvidia-smi finds no GPU" >&2 && return 7; }
  local known=experiments/results/gpu/$device
  out=${2:-$known}
  if [ ${#flags[@]} -gt 0 ]; then
    waves next "$out" "$seconds" --dry-run --known "$known" --rows "${GPU_CHECK_ROWS:-}"
    return
  fi
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  set_environment "$out"
  mkdir -p "$EGRET_KERNEL_CACHE"
  kernels=$(find "$EGRET_KERNEL_CACHE" -name '*.cuda' | wc -l)
  describe_machine | tee "$out/machine.json"
  logs=$(mktemp -d)
  waves next "$out" $((seconds - (SECONDS - began))) --known "$known" --rows "${GPU_CHECK_ROWS:-}" --logs "$logs" |
    tee "$logs/schedule.txt" || code=$?
  echo "kernels: $kernels were here, $(($(find "$EGRET_KERNEL_CACHE" -name '*.cuda' | wc -l) - kernels)) were compiled"
  export_costs "$out"
  tar -C "$logs" -c . | xz -1 >"$out/logs.tar.xz"
  rm -rf "$logs" "$out/kernels" "$EGRET_COST_DB"*
  return $code
}

check() {
  local stage code began failed=0
  out=${1:-experiments/results/gpu/$(gpu_folder)}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  end=$((SECONDS + ${GPU_CHECK_SECONDS:-86400}))
  set_environment "$out"
  describe_machine | tee "$out/machine.json"
  "$bin/egret" zoo squeezenet1.1 -q -o "$out/probe.onnx"
  code=0
  "$bin/egret" run --backend cuda "$out/probe.onnx" >"$out/summary.txt" 2>&1 || code=$?
  [ $code -ne 7 ] || { cat "$out/summary.txt"; return 7; }
  : >"$out/summary.txt"
  for stage in ${GPU_CHECK_STAGES:-$all_stages}; do
    began=$SECONDS
    if [ $((end - SECONDS)) -lt 5 ]; then
      echo "$stage: left out, the time is over" | tee -a "$out/summary.txt"
      continue
    fi
    code=0
    export -f "stage_$stage" experiment tests_of
    export bin out end
    timeout --kill-after=5 $((end - SECONDS)) bash -c "set -euo pipefail; SECONDS=$SECONDS; stage_$stage" \
      >"$out/$stage.txt" 2>&1 || code=$?
    tail -n 4 "$out/$stage.txt"
    case $code in
      0) echo "$stage: ok ($((SECONDS - began)) s)" ;;
      124 | 137) echo "$stage: not done, stopped after $((SECONDS - began)) s" ;;
      *) echo "$stage: FAILED with exit code $code ($((SECONDS - began)) s)" ;;
    esac | tee -a "$out/summary.txt"
    [ $code -eq 0 ] || [ $code -eq 124 ] || [ $code -eq 137 ] || failed=1
  done
  export_costs "$out"
  rm -rf "$out/kernels" "$out/probe.onnx" "$out/costs.onnx" "$EGRET_COST_DB"*
  for stage in inference-gpu gpu-models gpu-ablations; do
    [ ! -d "experiments/results/$stage" ] || cp -r "experiments/results/$stage" "$out"
  done
  return $failed
}

usage() {
  sed -n '3,/^# Exit code/p' "$0" | sed 's/^# \{0,1\}//'
}

case ${1:-} in
  bundle) shift && bundle "$@" ;;
  next) shift && next_wave "$@" ;;
  merge) shift && waves merge "$@" ;;
  page) shift && waves page "$@" ;;
  kernels) shift && waves kernels build/gpu-kernels "${1:-600}" ;;
  run) shift && check "$@" ;;
  '') usage && exit 2 ;;
  *) if [ -f REVISION ]; then check "$@"; else usage && exit 2; fi ;;
esac
