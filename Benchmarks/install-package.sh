#!/usr/bin/env bash
# install-package.sh COMMAND PACKAGE: installs the Debian package of a program that the benchmark starts, if the program is missing. It does
# nothing if the program is there.
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
command -v "$1" >/dev/null && exit 0
"$(dirname "$0")/../deploy/install-packages.sh" bench "$2"
command -v "$1" >/dev/null
