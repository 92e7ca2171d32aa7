#!/usr/bin/env python3
"""pages.py --output DIRECTORY: the pages and the small publishers as a package has them, below /usr/share/doc/mailboat. Links lead to what lies there, or to what the package has
elsewhere; where a link leads to something that only the sources have, its text stays. Pages of DocC lie beside README.md, what is in `deploy` in a folder of that name.

  pages.py --check DIRECTORY   only looks whether each link of the pages there leads somewhere
"""

import argparse
import os
import pathlib
import re
import shutil
import sys

PROJECT = pathlib.Path(__file__).resolve().parents[2]
DOCC = "Sources/mailboat/Mailboat.docc"
# What the package has outside of its pages, from /usr/share/doc/mailboat on.
ELSEWHERE = {
    # Debian has licences in a file of this name, and so has the tarball.
    "LICENSE": "copyright",
    "deploy/prometheus": "../../mailboat/prometheus", "deploy/grafana": "../../mailboat/grafana", "deploy/grafana/dashboards/mailboat.json": "../../mailboat/grafana/mailboat.json",
    "deploy/prometheus/mailboat-rules.yaml": "../../mailboat/prometheus/mailboat-rules.yaml", "Sources/PushWorker/Admin/admin.openapi.json": "../../mailboat/schemas/admin.openapi.json",
    **{f"deploy/schemas/{path.name}": f"../../mailboat/schemas/{path.name}" for path in (PROJECT / "deploy/schemas").glob("*.json")},
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
ABROAD = re.compile(r"[a-z]+:|#")


def shipped():
    """Where each file of the sources lies in the package."""
    places = {"README.md": "README.md", ".github/SECURITY.md": "SECURITY.md", "CHANGELOG.md": "release-notes.md", "deploy/mailboat.example.yaml": "deploy/mailboat.example.yaml",
              "deploy/schemas/README.md": "deploy/schemas/README.md", "deploy/state-backup.py": "deploy/state-backup.py"}
    for path in (PROJECT / DOCC).iterdir():
        places[f"{DOCC}/{path.name}"] = path.name
    for path in (PROJECT / "deploy").glob("*.md"):
        places[f"deploy/{path.name}"] = f"deploy/{path.name}"
    for path in (PROJECT / "Benchmarks").iterdir():
        if path.suffix in (".md", ".svg"):
            places[f"Benchmarks/{path.name}"] = f"Benchmarks/{path.name}"
    for path in (PROJECT / "deploy/quickstart").rglob("*"):
        # What somebody has built there is no part of it.
        if path.is_file() and not {".build", "target", "node_modules", "__pycache__"} & set(path.parts):
            places[str(path.relative_to(PROJECT))] = str(path.relative_to(PROJECT))
    return places


def outside_of_code(text, change):
    """The text with what is no code changed: blocks between fences, and what stands between backticks outside of a link's text, stay."""
    parts = re.split(r"(?ms)(^ *```.*?^ *```[^\n]*$)", text)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


class Page:
    def __init__(self, source, places):
        self.source, self.places = source, places
        self.folder = os.path.dirname(places[source])

    def rewritten(self):
        text = (PROJECT / self.source).read_text(encoding="utf-8")
        return outside_of_code(text, lambda part: LINK.sub(self.link, re.sub(r"<doc:([A-Za-z]+)(#[^>]*)?>", self.docc, part)))

    def docc(self, found):
        """DocC's own way to write a link."""
        name, anchor = f"{DOCC}/{found[1]}.md", (found[2] or "").lower()
        if name not in self.places:
            return found[1]
        title = (PROJECT / name).read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ").strip()
        return f"[{title}](/{name}{anchor})"

    def link(self, found):
        image, text, target = found.groups()
        if ABROAD.match(target):
            return found[0]
        path, _, anchor = target.partition("#")
        path = path.lstrip("/") if target.startswith("/") else os.path.normpath(os.path.join(os.path.dirname(self.source), path))
        place = self.places.get(path) or ELSEWHERE.get(path)
        if place is None:
            return text if text.strip("`").endswith(os.path.basename(path)) else f"{text} (`{path}` of the sources)"
        return f"{image}[{text}]({os.path.relpath(place, self.folder or '.')}{'#' + anchor if anchor else ''})"


def check(directory):
    """Each link of the pages below a directory that leads nowhere."""
    faults = []
    for page in sorted(directory.rglob("*.md")):
        def look(part, page=page):
            faults.extend(f"{page.relative_to(directory)}: {found[0]}" for found in re.finditer(r"<doc:[^>]*>", part))
            for found in LINK.finditer(part):
                target = found[3].partition("#")[0]
                if not ABROAD.match(found[3]) and not (page.parent / target).exists():
                    faults.append(f"{page.relative_to(directory)}: {found[3]}")
            return part
        outside_of_code(page.read_text(encoding="utf-8"), look)
    return faults


def main():
    parser = argparse.ArgumentParser(description="Write the pages of the package.")
    parser.add_argument("--output", type=pathlib.Path, metavar="DIRECTORY")
    parser.add_argument("--check", type=pathlib.Path, metavar="DIRECTORY")
    asked = parser.parse_args()
    if asked.output:
        places = shipped()
        for source, place in places.items():
            path = asked.output / place
            path.parent.mkdir(parents=True, exist_ok=True)
            if source.endswith(".md"):
                path.write_text(Page(source, places).rewritten(), encoding="utf-8")
            else:
                shutil.copyfile(PROJECT / source, path)
            path.chmod(0o644)
    if asked.check and (faults := check(asked.check)):
        sys.exit("pages: links that lead nowhere:\n  " + "\n  ".join(faults))


if __name__ == "__main__":
    main()
