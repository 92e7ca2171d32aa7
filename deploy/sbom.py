#!/usr/bin/env python3
"""Writes what `mailboat` is made of as SPDX 2.3 in JSON: the packages of Swift that are linked into it, Swift's own libraries, and the libraries of Debian
that it loads. Needs Python's standard library, `swift` and `dpkg-query`; nothing is built. The Dockerfile runs it, so the image has its own.

  deploy/sbom.py [--output FILE] [--program FILE] [--dpkg DIRECTORY] [--scratch-path DIRECTORY]

Of the packages that SwiftPM resolves only those are listed that a product reaches on Linux: what serves the tests or other systems alone is not in the
program. SOURCE_DATE_EPOCH sets the document's date; all else follows from what is described, so two documents of the same parts differ in nothing.
"""

import argparse
import collections
import datetime
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import uuid

PROJECT = pathlib.Path(__file__).resolve().parents[1]
PRODUCT = "mailboat"
# What the system libraries of Package.swift lead to. With --program, the program itself is asked.
LIBRARIES = ["libnghttp2-14", "librdkafka1", "libssl3"]
# They come with the toolchain, linked into the program or beside it.
SWIFT_LIBRARY = re.compile(r"lib(swift|Foundation|_Foundation|dispatch|BlocksRuntime)\w*\.so$")
# A condition names platforms as SwiftPM does.
PLATFORM = "linux"


class Failure(Exception):
    """What cannot be found out, and what was expected."""


def output(*words, **environment):
    try:
        done = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, **environment})
    except FileNotFoundError:
        raise Failure(f"{words[0]} is not installed") from None
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, words))} ends with {done.returncode}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def read_json(text, what):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Failure(f"{what} is no JSON: {error}") from None


def found(pattern, text, what):
    match = re.search(pattern, text)
    if not match:
        raise Failure(f"{what}: expected something like {pattern}")
    return match[1]


class SwiftPackages:
    """The packages that were resolved, and which of them a product is made of."""

    def __init__(self, project, scratch):
        self.project, self.where = project, ["--scratch-path", scratch] if scratch else []
        root = read_json(
            output("swift", "package", "--package-path", project, *self.where, "show-dependencies", "--format", "json"), "swift package show-dependencies")
        self.root, self.nodes = root["identity"], {}
        self.collect(root)
        resolved = project / "Package.resolved"
        if not resolved.exists():
            raise Failure(f"{resolved} is missing, which `swift package resolve` writes")
        self.pins = {pin["identity"]: pin for pin in read_json(resolved.read_text(), resolved)["pins"]}
        # What a package's parts take from another package.
        self.uses, self.reached = collections.defaultdict(set), set()

    def collect(self, node):
        if node["identity"] not in self.nodes:
            self.nodes[node["identity"]] = node
        for dependency in node["dependencies"]:
            self.collect(dependency)

    @functools.cache
    def manifest(self, identity):
        # In a folder of its own: SwiftPM leaves one in the checkout otherwise, and locks and compiled manifests among the temporary files.
        with tempfile.TemporaryDirectory() as scratch:
            text = output("swift", "package", "--package-path", self.nodes[identity]["path"], "--scratch-path", scratch, "dump-package", TMPDIR=scratch)
        return read_json(text, f"swift package dump-package of {identity}")

    @functools.cache
    def traits(self, identity):
        """Those in force: what was asked for, and what that brings along."""
        brings = {trait["name"]: trait["enabledTraits"] for trait in self.manifest(identity).get("traits") or []}
        in_force, waiting = set(), list(self.nodes[identity].get("traits", []))
        while waiting:
            name = waiting.pop()
            if name not in in_force:
                in_force.add(name)
                waiting += brings.get(name, [])
        return in_force

    def holds(self, condition, identity):
        if not condition:
            return True
        platforms, traits = condition.get("platformNames") or [], condition.get("traits") or []
        return (not platforms or PLATFORM in platforms) and (not traits or bool(set(traits) & self.traits(identity)))

    def identity(self, name):
        """Of a package that a manifest calls so."""
        for identity, node in self.nodes.items():
            if name.lower() in (identity, node["name"].lower()):
                return identity
        raise Failure(f"a manifest names the package {name}, which was not resolved")

    def reach_product(self, identity, name):
        for product in self.manifest(identity)["products"]:
            if product["name"] == name:
                for target in product["targets"]:
                    self.reach_target(identity, target)
                return
        raise Failure(f"the package {identity} has no product {name}")

    def reach_target(self, identity, name):
        if (identity, name) in self.reached:
            return
        self.reached.add((identity, name))
        targets = {target["name"]: target for target in self.manifest(identity)["targets"]}
        # These run in the compiler.
        if targets[name]["type"] in ("macro", "plugin"):
            return
        for dependency in targets[name]["dependencies"]:
            (kind, (wanted, *details)), = dependency.items()
            if not self.holds(details[-1], identity):
                continue
            if kind == "target" or kind == "byName" and wanted in targets:
                self.reach_target(identity, wanted)
                continue
            # A product by its name alone is called like its package.
            other = self.identity(details[0] if kind == "product" else wanted)
            self.uses[identity].add(other)
            self.reach_product(other, wanted)

    def linked(self, product):
        """Identities of the packages that a product of the root is made of, without the root."""
        self.reach_product(self.root, product)
        return sorted({identity for identity, _ in self.reached} - {self.root})

    def pin(self, identity):
        """The package's address, version and commit."""
        pin = self.pins.get(identity)
        if not pin or pin["kind"] != "remoteSourceControl" or "version" not in pin["state"]:
            raise Failure(f"the package {identity} is local or of a branch (see Package.resolved): expected a released version")
        return pin["location"], pin["state"]["version"], pin["state"]["revision"]

    def license(self, identity):
        """As the file says that lies beside the manifest, where it is one of the usual ones."""
        text = "".join(file.read_text(errors="replace") for file in sorted(pathlib.Path(self.nodes[identity]["path"]).glob("LICENSE*")))
        if "Apache License" in text and "Version 2.0" in text:
            return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
        return "MIT" if "Permission is hereby granted, free of charge" in text else "NOASSERTION"


class DebianPackages:
    """The packages of a system, by its dpkg: this one's, or that of an image whose /var/lib/dpkg was brought along."""

    def __init__(self, directory):
        self.query = ["dpkg-query", *(["--admindir", directory] if directory else [])]

    def of_library(self, name):
        """The package that brings a shared library. None: it has to be there, or the program does not start."""
        try:
            lines = output(*self.query, "--search", f"*-linux-gnu*/{name}")
        except Failure:
            raise Failure(f"no package that is installed brings {name}, which the program loads") from None
        return found(r"^([^:,\s]+)", lines, f"dpkg-query --search {name}")

    def details(self, name):
        form = "${db:Status-Status}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
        status, *details = output(*self.query, "--show", "--showformat", form, name).split("\t")
        if status != "installed":
            raise Failure(f"the package {name} is {status}, expected installed")
        return details


def loaded(program):
    """Names of the shared libraries that a program asks for."""
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", "--wide", program))
    if not names:
        raise Failure(f"{program} loads no shared library: expected the program mailboat")
    return names


def package(name, version, purl, **fields):
    """One package of the document. Of nothing here the files are listed."""
    return {
        "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', name)}",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}],
        **fields,
    }


def quoted(text):
    return urllib.parse.quote(text, safe="")


def swift_package(packages, identity):
    location, version, revision = packages.pin(identity)
    address = re.sub(r"\.git$", "", location)
    if not address.startswith("https://"):
        raise Failure(f"the package {identity} comes from {location}: expected an address that begins with https://")
    path = "/".join(map(quoted, address.removeprefix("https://").split("/")))
    return package(
        identity, version, f"pkg:swift/{path}@{quoted(version)}", downloadLocation=f"git+{address}.git@{revision}", licenseDeclared=packages.license(identity),
        sourceInfo=f"commit {revision}")


def swift_itself():
    text = output("swift", "--version")
    version, tag = found(r"Swift version (\S+)", text, "swift --version"), found(r"\((swift-[^)\s]+)", text, "swift --version")
    return package(
        "swift", version, f"pkg:swift/github.com/swiftlang/swift@{quoted(version)}", downloadLocation=f"git+https://github.com/swiftlang/swift.git@{tag}",
        licenseDeclared="Apache-2.0 WITH Swift-exception", comment="The standard library, Dispatch and Foundation, as the toolchain brings them.")


def debian_package(packages, name, release):
    version, architecture, source, source_version = packages.details(name)
    qualifiers = {"arch": architecture, "distro": f"debian-{release}"}
    if source != name or source_version != version:
        qualifiers["upstream"] = source if source_version == version else f"{source}@{source_version}"
    text = "&".join(f"{key}={quoted(value)}" for key, value in qualifiers.items())
    return package(
        name, version, f"pkg:deb/debian/{quoted(name)}@{quoted(version)}?{text}", supplier="Organization: Debian",
        sourceInfo=f"built from the Debian source package {source} {source_version}")


def describe(asked):
    packages = SwiftPackages(PROJECT, asked.scratch_path)
    version = found(r'current = "([^"]+)"', (PROJECT / "Sources/PushWorker/Service/MailboatVersion.swift").read_text(), "MailboatVersion.swift")
    itself = package(PRODUCT, version, f"pkg:generic/{PRODUCT}@{quoted(version)}", licenseDeclared=packages.license(packages.root), primaryPackagePurpose="APPLICATION")
    described, relations = [itself], [("SPDXRef-DOCUMENT", "DESCRIBES", itself["SPDXID"])]

    def add(one, *how):
        described.append(one)
        relations.extend((itself["SPDXID"], word, one["SPDXID"]) for word in how)

    identities = packages.linked(PRODUCT)
    for identity in identities:
        add(swift_package(packages, identity), *(["DEPENDS_ON"] if identity in packages.uses[packages.root] else []))
    by_name = {one["name"]: one["SPDXID"] for one in described}
    for identity in identities:
        relations += [(by_name[identity], "DEPENDS_ON", by_name[other]) for other in sorted(packages.uses[identity])]

    names = loaded(asked.program) if asked.program else []
    beside = [name for name in names if SWIFT_LIBRARY.match(name)]
    add(swift_itself(), *(["DYNAMIC_LINK" if beside else "STATIC_LINK"] if names else ["DEPENDS_ON"]))
    debian = DebianPackages(asked.dpkg)
    for name in sorted({debian.of_library(name) for name in names if name not in beside} if names else LIBRARIES):
        add(debian_package(debian, name, asked.debian), "DYNAMIC_LINK")
    return version, described, [{"spdxElementId": one, "relationshipType": word, "relatedSpdxElement": other} for one, word, other in relations]


def created():
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch and not (epoch.isascii() and epoch.isdigit() and len(epoch) <= 11):
        raise Failure(f"SOURCE_DATE_EPOCH is “{epoch[:40]}”, expected seconds since 1970")
    moment = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc) if epoch else datetime.datetime.now(datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def document(asked):
    date = created()
    version, described, relations = describe(asked)
    content = {"packages": described, "relationships": relations}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{PRODUCT}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{PRODUCT}-{quoted(version)}-{uuid.uuid5(uuid.NAMESPACE_OID, digest)}",
        "creationInfo": {"created": date, "creators": [f"Tool: {PRODUCT}-sbom-{version}"]},
        **content,
    }


def main():
    parser = argparse.ArgumentParser(description="Write what mailboat is made of, as SPDX 2.3 in JSON.")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path, help="where to (default: standard output)")
    parser.add_argument(
        "--program", metavar="FILE", type=pathlib.Path,
        help=f"the program as it was built: whose libraries are listed (needs readelf; default: {', '.join(LIBRARIES)})")
    parser.add_argument(
        "--dpkg", metavar="DIRECTORY", type=pathlib.Path, help="the /var/lib/dpkg of the system that it runs on (default: this one's)")
    parser.add_argument("--debian", metavar="NUMBER", default="12", help="that system's release of Debian (default: 12)")
    parser.add_argument("--scratch-path", metavar="DIRECTORY", type=pathlib.Path, help="where SwiftPM has its checkouts (default: .build)")
    asked = parser.parse_args()
    try:
        for path in (asked.program, asked.dpkg):
            if path and not path.exists():
                raise Failure(f"{path} is not there")
        text = json.dumps(document(asked), indent=2, ensure_ascii=False) + "\n"
        if asked.output:
            asked.output.write_text(text)
        else:
            sys.stdout.write(text)
    except (Failure, OSError) as failure:
        print(f"sbom: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
