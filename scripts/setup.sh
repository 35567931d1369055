#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build, the tests and the experiments need on Debian 12: the Debian packages of
# scripts/packages.txt and, into .venv, the Python packages of experiments/requirements.txt and
# scripts/requirements-python.txt.
# Does nothing where nothing is missing. Works as root or through sudo.
#
#   scripts/setup.sh [--no-python] [--cuda] [--peers] [--check]
#
# --no-python leaves .venv out; --cuda adds scripts/requirements-cuda.txt to it (90 MB: the compiler
# for GPU kernels and headers, which only tests use); --peers adds scripts/packages-peers.txt (250 MB:
# engines that experiments compare with and that come from Debian) and experiments/requirements-peers.txt
# (140 MB: optimizers); --check only says what is missing (exit code 1).
set -euo pipefail
cd "$(dirname "$0")/.."

python=yes
cuda=no
peers=no
lists=(scripts/packages.txt)
check=no
for argument in "$@"; do
  case $argument in
    --no-python) python=no ;;
    --cuda) cuda=yes ;;
    --peers)
      peers=yes
      lists+=(scripts/packages-peers.txt)
      ;;
    --check) check=yes ;;
    *)
      echo "setup.sh: unknown argument $argument; known are --no-python, --cuda, --peers and --check" >&2
      exit 2
      ;;
  esac
done

packages=()
declare -A expected
while read -r name version _; do
  case $name in '' | '#'*) continue ;; esac
  packages+=("$name")
  expected[$name]=$version
done < <(cat "${lists[@]}")

installed_version() {
  dpkg-query -W -f '${db:Status-Abbrev}${Version}\n' "$1" 2>/dev/null | sed -n 's/^ii *//p' | head -1
}

# The version without epoch and Debian revision: 1:14.0.6-12 -> 14.0.6.
upstream() {
  local version=${1#*:}
  echo "${version%-*}"
}

missing=()
for name in "${packages[@]}"; do
  [ -n "$(installed_version "$name")" ] || missing+=("$name")
done

stamp=.venv/requirements.sha256
python_lists=(experiments/requirements.txt scripts/requirements-python.txt)
wanted=$(cat "${python_lists[@]}" | sha256sum)
venv_stale=no
if [ "$python" = yes ] && [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then venv_stale=yes; fi

if [ "$check" = yes ]; then
  [ ${#missing[@]} -eq 0 ] || echo "missing Debian packages: ${missing[*]}"
  [ $venv_stale = no ] || echo ".venv does not match ${python_lists[*]}"
  [ ${#missing[@]} -eq 0 ] && [ $venv_stale = no ]
  exit
fi

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "setup.sh: this is no Debian; install the equivalents of: ${missing[*]}" >&2
    exit 7
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup.sh: run as root, or install sudo; missing: ${missing[*]}" >&2
      exit 7
    fi
    as_root=(sudo)
  fi
  # Boost's development packages of two versions exclude each other. Only headers and link files of
  # 1.74 go; programs keep their libraries.
  old_boost=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 'libboost*1.74-dev' 'libboost*-dev' \
    2>/dev/null | sed -n 's/^ii *//p' | grep -v 1.81 || true)
  if [ -n "$old_boost" ] && [[ " ${missing[*]} " == *boost* ]]; then
    echo "setup.sh: Boost 1.81 replaces these packages: ${old_boost//$'\n'/ }"
  fi
  echo "setup.sh: installing ${missing[*]}"
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -qq
    -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 --no-install-recommends install "${missing[@]}")
  "${as_root[@]}" apt-get -qq -o Acquire::Retries=3 update
  "${install[@]}" >/dev/null
fi

for name in "${packages[@]}"; do
  found=$(installed_version "$name")
  if [ "$(upstream "$found")" != "$(upstream "${expected[$name]}")" ]; then
    echo "setup.sh: note: $name is $found; ${expected[$name]} was tested" >&2
  fi
done

if [ $venv_stale = yes ]; then
  echo "setup.sh: making .venv for the experiments and the Python package"
  # Debian's own Python first: another one on the PATH may lack venv.
  interpreter=/usr/bin/python3
  [ -x "$interpreter" ] || interpreter=python3
  rm -rf .venv
  "$interpreter" -m venv .venv
  .venv/bin/pip install --quiet --disable-pip-version-check --retries 5 \
    -r "${python_lists[0]}" -r "${python_lists[1]}"
  echo "$wanted" >"$stamp"
fi
if [ $cuda = yes ] && [ "$python" = yes ]; then
  .venv/bin/pip install --quiet --disable-pip-version-check --retries 5 \
    -r scripts/requirements-cuda.txt
fi
if [ $peers = yes ] && [ "$python" = yes ]; then
  .venv/bin/pip install --quiet --disable-pip-version-check --retries 5 --no-deps \
    -r experiments/requirements-peers.txt
fi
echo "setup.sh: everything is installed"
