#!/usr/bin/env bash
# Installs the Debian packages Mailboat is built against, when they are missing. Says what it does. Does nothing when all are there.
set -euo pipefail

packages=(pkg-config librdkafka-dev libssl-dev libnghttp2-dev)
# What the build really looks for. On another system these may come from anywhere.
modules=(rdkafka openssl libnghttp2)

have_all_modules() {
    command -v pkg-config >/dev/null || return 1
    local module
    for module in "${modules[@]}"; do pkg-config --exists "$module" || return 1; done
}

if ! command -v swift >/dev/null; then
    echo "deps: no 'swift' found in PATH. Install Swift 6.2 or later from https://www.swift.org/install/linux/" >&2
    exit 1
fi

have_all_modules && exit 0

if ! command -v apt-get >/dev/null; then
    echo "deps: librdkafka, OpenSSL 3 or nghttp2 is not found by pkg-config, and this system has no apt-get." >&2
    echo "deps: install pkg-config and the development files of the three with your own package manager, then try again." >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if [ "${#missing[@]}" -eq 0 ]; then
    echo "deps: ${packages[*]} are installed, but pkg-config does not find all of: ${modules[*]}. Check PKG_CONFIG_PATH." >&2
    exit 1
fi

"$(dirname "$0")/install-packages.sh" deps "${missing[@]}"

if ! have_all_modules; then
    echo "deps: installed ${missing[*]}, but pkg-config still does not find all of: ${modules[*]}" >&2
    exit 1
fi
echo "deps: done"
