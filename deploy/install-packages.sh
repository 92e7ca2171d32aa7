#!/usr/bin/env bash
# install-packages.sh NAME PACKAGE...: installs Debian packages with apt, as root or with sudo. NAME begins what it says.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
name=$1
shift

if ! command -v apt-get >/dev/null; then
    echo "$name: this system has no apt-get. Install what Debian has in $* in its own way, then try again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "$name: Debian packages are missing, and there is no sudo. As root, run: apt-get install $*" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "$name: installing Debian packages: $*"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "$@")
# Package lists may be absent or too old; one update repairs both.
if ! "${install[@]}" </dev/null; then
    echo "$name: that failed; updating the package lists and trying once more"
    "${as_root[@]}" apt-get update </dev/null
    "${install[@]}" </dev/null
fi
