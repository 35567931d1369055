#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel of the Python package egret into build/dist and prints its path.
#
#   scripts/build_wheel.sh [--try]
#
# --try installs it into a fresh virtual environment and runs python/tests there, away from the
# repository. The wheel is for this machine's Python: one for 3.12 and later serves all later
# versions, one for 3.11 (Debian 12) or 3.10 that version alone. The library and the program link
# Debian's libraries (scripts/packages.txt), which must be installed where the wheel is used; HiGHS
# comes with the package highsbox.
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x .venv/bin/python ] || scripts/setup.sh
python=$PWD/.venv/bin/python
# What setup.sh installed is what the wheel is built with.
"$python" -m build --wheel --no-isolation -Ccmake.define.EGRET_WERROR=ON --skip-dependency-check --outdir build/dist . >build/wheel.log 2>&1 || {
  tail -30 build/wheel.log >&2
  exit 1
}
wheel=$(ls -t build/dist/egret_tensors-*.whl | head -1)
echo "$wheel"

if [ "${1:-}" = --try ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
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
