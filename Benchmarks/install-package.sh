#!/usr/bin/env bash
# install-package.sh COMMAND PACKAGE: installs the Debian package that has a program the benchmark starts, when the program is missing. Does
# nothing when it is there.
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
command -v "$1" >/dev/null && exit 0
"$(dirname "$0")/../deploy/install-packages.sh" bench "$2"
command -v "$1" >/dev/null
