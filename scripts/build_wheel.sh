#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package egret into build/dist and prints its path.
#
#   scripts/build_wheel.sh [--portable] [--try]
#
# The wheel is for the Python of .venv, or for PYTHON, which needs the packages of
# scripts/requirements-python.txt and highsbox: one for 3.12 or later serves all later versions, one
# for 3.10 or 3.11 (Debian 12) that version alone. The library and the program link Debian's libraries
# (scripts/packages.txt), which must be installed where the wheel is used. With --portable the wheel
# holds them, for Linux with glibc 2.36 or later, and its program runs without MPI. HiGHS comes with
# the package highsbox in both.
#
# --try installs the wheel into a fresh virtual environment and runs python/tests there, away from the
# repository.
set -euo pipefail
cd "$(dirname "$0")/.."

portable=no
try=no
for argument in "$@"; do
  case $argument in
    --portable) portable=yes ;;
    --try) try=yes ;;
    *)
      echo "build_wheel.sh: unknown argument $argument; known are --portable and --try" >&2
      exit 2
      ;;
  esac
done

[ -x .venv/bin/python ] || scripts/setup.sh
python=${PYTHON:-$PWD/.venv/bin/python}
mkdir -p build/dist
log=build/wheel.log

# Compiled as the build itself is, so that ccache knows most of it.
options=(-Ccmake.define.EGRET_WERROR=ON -Ccmake.define.CMAKE_CXX_COMPILER=c++)
output=build/dist
if [ $portable = yes ]; then
  options+=(-Ccmake.define.MPI_LIBRARY=OFF "-Cbuild-dir=build/wheel-portable-{cache_tag}")
  output=$(mktemp -d)
  trap 'rm -rf "$output"' EXIT
fi
if ! "$python" -m build --wheel --no-isolation --skip-dependency-check "${options[@]}" \
  --outdir "$output" . >"$log" 2>&1; then
  tail -30 "$log" >&2
  exit 1
fi
if [ $portable = yes ]; then
  programs=$(dirname "$python")
  highs=$("$python" -c "import highsbox; print(highsbox.highs_dist_dir())")/lib
  if ! PATH=$programs:$PATH LD_LIBRARY_PATH=$highs "$python" -m auditwheel repair \
    --exclude libhighs.so --plat manylinux_2_36_x86_64 -w build/dist "$output"/*.whl >>"$log" 2>&1; then
    tail -30 "$log" >&2
    exit 1
  fi
fi
wheel=$(ls -t build/dist/egret_tensors-*.whl | head -1)
echo "$wheel"

if [ $try = yes ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder" $([ $portable = no ] || echo "$output")' EXIT
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel" \
    -r <(grep -E '^(numpy|onnx|ml_dtypes|protobuf|typing_extensions)==' experiments/requirements.txt) \
    -r <(grep -E '^(pytest|iniconfig|pluggy|Pygments)==' scripts/requirements-python.txt)
  cp -r python "$folder/python"
  cp pyproject.toml docs/python.md "$folder"
  cd "$folder"
  PYTHONPATH= venv/bin/python -m pytest -q python/tests
  venv/bin/egret version
fi
