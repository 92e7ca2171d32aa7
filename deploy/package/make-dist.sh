#!/usr/bin/env bash
# make-dist.sh PROGRAM DIRECTORY: makes of a release build what is handed out: Debian packages of the program and of its debug symbols, a tarball, the bill of
# materials and checksums. `make dist` calls it. A commit always gives the same bytes: dates are the commit's (or SOURCE_DATE_EPOCH), and packages have the versions of Package.swift.
set -euo pipefail

[ $# -eq 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
program=$(realpath "$1")
mkdir -p "$2"
target=$(realpath "$2")
cd "$(dirname "$0")/../.."
fail() { echo "dist: $*" >&2; exit 1; }

version=$(sed -n 's/.*current = "\(.*\)"/\1/p' Sources/PushWorker/Service/MailboatVersion.swift)
said=$("$program" --version)
[ "$said" = "$version" ] || fail "$program says that it is $said, expected $version: build it first"
grep -q "^## $version\b" CHANGELOG.md || fail "CHANGELOG.md has no heading for $version"
deploy/package/exact-versions.py
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
stage=$scratch/mailboat
mkdir -p "$stage"/{bin,completions,schemas,prometheus,grafana,notes}

# The bill of materials, and the licences of what is linked in.
deploy/sbom.py --program "$program" --output "$scratch/mailboat.spdx.json"
deploy/package/third-party.py --materials "$scratch/mailboat.spdx.json" --output "$stage/notes/third-party.txt"

# The compiler leaves a hash of its own work in a section, which nothing reads when the program runs and which depends on the folder. The linker's build id depends on it.
install -m 0755 "$program" "$stage/bin/mailboat"
deploy/package/same-bytes.py "$stage/bin/mailboat"

for shell in bash:mailboat zsh:_mailboat fish:mailboat.fish; do
    "$program" --generate-completion-script "${shell%%:*}" >"$stage/completions/${shell#*:}"
done
# It is read by a shell that runs already.
sed -i '1{/^#!/d}' "$stage/completions/mailboat"
deploy/package/man-pages.py --program "$program" --date "@$SOURCE_DATE_EPOCH" --output "$stage/man"
cp deploy/schemas/*.json Sources/PushWorker/Admin/admin.openapi.json "$stage/schemas/"
cp deploy/prometheus/mailboat-rules.yaml "$stage/prometheus/"
cp deploy/grafana/dashboards/mailboat.json "$stage/grafana/"
sed 's,=schemas/,=/usr/share/mailboat/schemas/,' deploy/mailboat.example.yaml >"$stage/mailboat.yaml"
# CHANGELOG.md becomes release-notes.md: debhelper would take it for the package's changelog, which has a form of its own.
deploy/package/pages.py --output "$stage/notes"
cp -r deploy/package/debian "$stage/debian"
cp deploy/systemd/mailboat.service "$stage/debian/mailboat.service"
# To Debian a hyphen begins the number of a packaging; what comes before a release sorts before it.
debian_version=${version/-/\~}
maintainer=$(sed -n 's/^Maintainer: //p' deploy/package/debian/control)
cat >"$stage/debian/changelog" <<END
mailboat ($debian_version) bookworm; urgency=medium

  * Mailboat $version: see release-notes.md beside this file.

 -- $maintainer  $(date --rfc-email --date "@$SOURCE_DATE_EPOCH")
END

(cd "$stage" && dh binary >"$scratch/dh.log" 2>&1) || { cat "$scratch/dh.log" >&2; fail "debhelper made no package"; }

# For a system without apt: the package's files below one folder, as they lie below /usr and /etc.
name=mailboat-$version-linux-$(uname -m)
mkdir "$scratch/$name"
cp -a "$stage/debian/mailboat/usr/." "$scratch/$name/"
cp -a "$stage/debian/mailboat/etc" "$scratch/$name/etc"
sed -i 's,=/usr/share/,=/usr/local/share/,' "$scratch/$name/etc/mailboat/mailboat.yaml"
install -D -m 0644 deploy/systemd/mailboat.service "$scratch/$name/lib/systemd/system/mailboat.service"
cp LICENSE "$scratch/$name/share/doc/mailboat/"
rm -rf "$scratch/$name/share/lintian"
deploy/package/pages.py --check "$scratch/$name/share/doc/mailboat"
tar --create --directory "$scratch" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name" |
    xz --threads=1 >"$scratch/$name.tar.xz"

# Nothing of a build before it is left.
rm -f "$target"/mailboat*_*.deb "$target"/mailboat-*.tar.xz "$target"/mailboat-*.spdx.json "$target"/SHA256SUMS
cp "$scratch"/mailboat*_*.deb "$scratch/$name.tar.xz" "$target/"
cp "$scratch/mailboat.spdx.json" "$target/mailboat-$version.spdx.json"
(cd "$target" && sha256sum mailboat* >SHA256SUMS)
echo "dist: Mailboat $version, program stripped from $(stat -c %s "$program") to $(stat -c %s "$stage/debian/mailboat/usr/bin/mailboat") bytes"
(cd "$target" && stat --format '%10s  %n' mailboat* SHA256SUMS)
