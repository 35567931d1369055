#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the site of the documentation into build/site and prints its first page. A browser opens it from
# there; the search alone needs a server.
#
#   scripts/build_docs.sh [--serve]
#
# A broken link, a missing picture, a page outside of the navigation and a page that loads something from
# another server are errors. The reference comes
# from build/release/bin/egret (EGRET names another program) and from the Python package of that build
# (PYTHONPATH). --serve shows the site at http://127.0.0.1:8000 and follows edits of docs/.
set -euo pipefail
cd "$(dirname "$0")/.."

action=(build --strict --clean)
case "${1:-}" in
  '') ;;
  --serve) action=(serve) ;;
  *)
    echo "build_docs.sh: unknown argument $1; known is --serve" >&2
    exit 2
    ;;
esac

venv=build/docs-venv
stamp=$venv/requirements.sha256
wanted=$(sha256sum <scripts/requirements-docs.txt)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  rm -rf $venv
  mkdir -p build
  interpreter=/usr/bin/python3
  [ -x "$interpreter" ] || interpreter=python3
  "$interpreter" -m venv $venv
  $venv/bin/pip install --quiet --disable-pip-version-check --retries 5 -r scripts/requirements-docs.txt
  echo "$wanted" >"$stamp"
fi

[ -x .venv/bin/python ] || scripts/setup.sh
.venv/bin/python scripts/make_reference.py build/reference
export NO_MKDOCS_2_WARNING=true
$venv/bin/mkdocs "${action[@]}"
if grep -rEl --include='*.html' '(<script[^>]*src|<link[^>]*stylesheet[^>]*href|<img[^>]*src)="?https?:' build/site; then
  echo "build_docs.sh: these pages load something from another server" >&2
  exit 1
fi
echo "build/site/index.html"
