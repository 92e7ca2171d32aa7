#!/usr/bin/env bash
# Installs h2load (Debian's nghttp2-client), which every benchmark is compared with, when it is missing. Does nothing when it is there.
set -euo pipefail

command -v h2load >/dev/null && exit 0

if ! command -v apt-get >/dev/null; then
    echo "bench: h2load is not found, and this system has no apt-get. Install nghttp2's client programs, then try again." >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "bench: h2load is missing, and there is no sudo. As root, run: apt-get install nghttp2-client" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "bench: installing the Debian package nghttp2-client, for h2load"
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends nghttp2-client)
# Package lists may be absent or too old; one update repairs both.
if ! "${install[@]}" </dev/null; then
    "${as_root[@]}" apt-get update </dev/null
    "${install[@]}" </dev/null
fi
command -v h2load >/dev/null
