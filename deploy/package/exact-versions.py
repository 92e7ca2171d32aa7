#!/usr/bin/env python3
"""Compares the packages that a build has resolved with those that releases are made of: the table `exactVersions` of Package.swift. Names each that differs, and then
ends with 1."""

import json
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]


def identity(address):
    return address.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git").lower()


def expected():
    table = re.search(r"^let exactVersions:.*?= \[\n(.*?)^\]", (PROJECT / "Package.swift").read_text(), re.DOTALL | re.MULTILINE)
    if not table:
        sys.exit("exact-versions: Package.swift has no table called exactVersions")
    return {identity(address): version for address, version in re.findall(r'\("([^"]+)", "([^"]+)"\)', table[1])}


def resolved():
    path = PROJECT / "Package.resolved"
    if not path.exists():
        sys.exit("exact-versions: Package.resolved is missing, which `swift build` writes")
    pins = json.loads(path.read_text())["pins"]
    return {pin["identity"]: pin["state"].get("version") or pin["state"].get("branch") or pin["state"]["revision"] for pin in pins}


def main():
    wanted, found = expected(), resolved()
    faults = []
    for name in sorted(wanted.keys() | found.keys()):
        if name not in wanted:
            faults.append(f"{name} is resolved to {found[name]}, and is not in the table")
        elif name not in found:
            faults.append(f"{name} is in the table with {wanted[name]}, and nothing resolves to it")
        elif wanted[name] != found[name]:
            faults.append(f"{name} is resolved to {found[name]}, expected {wanted[name]}")
    for fault in faults:
        print(f"exact-versions: {fault}", file=sys.stderr)
    if faults:
        sys.exit("exact-versions: a release is built with MAILBOAT_EXACT=1 (`make dist`), by the table exactVersions of Package.swift")
    print(f"exact-versions: {len(found)} packages have the versions of releases")


if __name__ == "__main__":
    main()
