#!/usr/bin/env python3
"""Writes the licences and notices of what is linked into the program, by its bill of materials: each package of Swift as its checkout has them, and Swift's own."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = re.compile(r"(?i)(licen[cs]e|notice|copying)(\.(txt|md))?$")


def texts(folder):
    return [path for path in sorted(folder.iterdir()) if path.is_file() and TEXTS.fullmatch(path.name)]


def toolchain():
    info = json.loads(subprocess.run(["swiftc", "-print-target-info"], check=True, capture_output=True, text=True).stdout)
    path = pathlib.Path(info["paths"]["runtimeResourcePath"]).parents[1] / "share/swift/LICENSE.txt"
    return [path] if path.exists() else []


def main():
    parser = argparse.ArgumentParser(description="Write the licences and notices of what is linked into the program.")
    parser.add_argument("--materials", required=True, type=pathlib.Path, metavar="FILE", help="what sbom.py has written")
    parser.add_argument("--checkouts", default=PROJECT / ".build/checkouts", type=pathlib.Path, metavar="DIRECTORY", help="of SwiftPM (default: .build/checkouts)")
    parser.add_argument("--output", required=True, type=pathlib.Path, metavar="FILE")
    asked = parser.parse_args()
    folders = {folder.name.lower(): folder for folder in asked.checkouts.iterdir() if folder.is_dir()}
    parts = ["What is linked into mailboat beside its own code, and on which terms. The libraries of Debian that it loads come with their own.\n"]
    for package in json.loads(asked.materials.read_text())["packages"]:
        purl = next(reference["referenceLocator"] for reference in package["externalRefs"] if reference["referenceType"] == "purl")
        if not purl.startswith("pkg:swift/"):
            continue
        name = package["name"]
        found = toolchain() if name == "swift" else texts(folders[name]) if name in folders else []
        if not found:
            sys.exit(f"third-party: no licence of {name} {package['versionInfo']} is found")
        parts += [f"{name} {package['versionInfo']}: {path.name}\n\n{path.read_text(encoding='utf-8').strip()}\n" for path in found]
    asked.output.write_text(f"\n{'-' * 78}\n\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
