#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes paper/build/egret.pdf. Tables are written from experiments/results; what an experiment has
# not produced is named in the PDF instead of being made up.
set -euo pipefail
cd "$(dirname "$0")"

packages=(texlive-latex-base texlive-latex-recommended texlive-fonts-recommended lmodern latexmk)
missing=()
for name in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
fi

mkdir -p build
python3 make_tables.py
latexmk -pdf -interaction=nonstopmode -halt-on-error -outdir=build egret.tex >build/latexmk.log 2>&1 ||
  { tail -40 build/latexmk.log >&2; exit 1; }
echo "paper/build/egret.pdf"
