#!/usr/bin/env bash
# install-package.sh COMMAND PACKAGE: installs the Debian package that has a program the benchmark starts, when the program is missing. Does
# nothing when it is there.
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
command=$1
package=$2
command -v "$command" >/dev/null && exit 0

if ! command -v apt-get >/dev/null; then
    echo "bench: $command is not found, and this system has no apt-get. Install what Debian has in $package, then try again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "bench: $command is missing, and there is no sudo. As root, run: apt-get install $package" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "bench: installing the Debian package $package, for $command"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$package")
# Package lists may be absent or too old; one update repairs both.
if ! "${install[@]}" </dev/null; then
    "${as_root[@]}" apt-get update </dev/null
    "${install[@]}" </dev/null
fi
command -v "$command" >/dev/null
