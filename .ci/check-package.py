#!/usr/bin/env python3
"""Installs what `make dist` has made into a clean Debian 12, as somebody without Swift would, and uses it there. Needs root (or sudo), debootstrap, lintian
and Debian's mirror.

  .ci/check-package.py [--dist DIRECTORY] [--mirror URL] [--root DIRECTORY]

- From `apt install` until `/api/state` of `mailboat dev` says that a phone shows a card: 60 s at most. `mailboat demo` ends well.
- Every library that the program loads comes from Debian.
- README, its pages and the small publishers are there, and each link among them leads somewhere.
- The unit verifies, manual pages render, bash completes, the example is a conffile and good but for its key, the files have the owners and modes that they should.
- Removing leaves settings, purging leaves the user and nothing else.
- lintian finds no error.
- The Dockerfile's steps, run one after the other in another such root, give an image whose program works as the user of the image.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SECONDS_MAX = 60
# What belongs to the package manager and to programs that run, and not to a package.
OTHERS = re.compile(r"^/(proc|sys|dev|tmp|run|var/lib/(dpkg|apt)|var/cache|var/log)(/|$)")
failures = []


def fail(message):
    failures.append(message)
    print(f"check-package: {message}", file=sys.stderr)


def become_root():
    if os.geteuid() == 0:
        return
    if not shutil.which("sudo"):
        sys.exit("check-package: a new root needs root, and there is no sudo. Nothing was checked")
    os.execvp("sudo", ["sudo", "--preserve-env=PATH", sys.executable, *sys.argv])


class Root:
    """A directory with a Debian of its own."""

    def __init__(self, path):
        self.path = path

    @classmethod
    def bootstrapped(cls, path, mirror):
        done = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", path, mirror], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"check-package: debootstrap made no Debian here, so that nothing was checked: {(done.stdout + done.stderr)[-2000:]}")
        # No daemon is to be started for the sake of a package.
        policy = path / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        return cls(path)

    @contextlib.contextmanager
    def mounted(self):
        """With what programs look into for processes. This machine's network and name server are used."""
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        try:
            yield self
        finally:
            subprocess.run(["umount", "--lazy", self.path / "proc"], check=True)

    def command(self, words, user=None):
        # Nothing of this machine's variables: neither a toolchain's path nor settings.
        user_words = [f"--userspec={user}"] if user else []
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return ["chroot", *user_words, self.path, "env", "-i", path, "HOME=/tmp", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *words]

    def run(self, *words, user=None, expected=0, seconds=600):
        done = subprocess.run(list(map(str, self.command(words, user))), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
        if done.returncode != expected:
            fail(f"{' '.join(map(str, words))} ended with {done.returncode}, expected {expected}: {(done.stdout + done.stderr).strip()[-2000:]}")
        return done.stdout

    def install(self, *words):
        return self.run("apt-get", "install", "--yes", "--no-install-recommends", *words)

    def paths(self):
        """All files and folders that packages may leave."""
        found = set()
        for folder, folders, names in os.walk(self.path):
            inside = "/" + os.path.relpath(folder, self.path).removeprefix(".")
            folders[:] = [name for name in folders if not OTHERS.match(os.path.join(inside, name))]
            found.update(os.path.join(inside, name) for name in [*folders, *names])
        return found


def ask(address, body=None):
    request = urllib.request.Request(address, data=json.dumps(body).encode() if body is not None else None)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def shown_card(root, deadline):
    """Starts `mailboat dev` as an ordinary user, publishes, and waits until a phone shows it."""
    words = list(map(str, root.command(["mailboat", "dev", "--port", "0", "--kafka-port", "0"], user="nobody:nogroup")))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as dev:
        try:
            address = next((found[1] for line in dev.stdout if (found := re.search(r"page +(http://\S+)", line))), None)
            if address is None:
                return fail("mailboat dev printed no address")
            address = address.rstrip("/")
            ask(f"{address}/events?activity=order-7", {"event": "update", "content-state": {"minutes": 12}})
            while time.monotonic() < deadline:
                for phone in ask(f"{address}/api/state")["phones"]:
                    if phone["activity"] == "order-7" and phone["card"] == "active" and phone["contentState"] == {"minutes": 12}:
                        return None
                time.sleep(0.1)
            return fail("no phone shows what was published")
        except (OSError, urllib.error.URLError, KeyError) as error:
            return fail(f"mailboat dev: {error!r}")
        finally:
            dev.terminate()
            if dev.wait(timeout=30) != 0:
                fail(f"mailboat dev ended with {dev.returncode}")


def check_first_minute(root, package):
    begun = time.monotonic()
    root.install(f"./tmp/{package.name}")
    installed = time.monotonic() - begun
    shown_card(root, begun + SECONDS_MAX)
    seconds = time.monotonic() - begun
    if seconds > SECONDS_MAX:
        fail(f"from apt until a phone showed the card it took {seconds:.0f} s, expected {SECONDS_MAX} at most")
    root.run("mailboat", "demo", user="nobody:nogroup", seconds=180)
    return f"{installed:.1f} s to install and {seconds:.1f} s until a phone showed the card"


def check_libraries(root):
    """Whatever is loaded belongs to a package of Debian, and nothing is of Swift."""
    libraries = root.run("ldd", "/usr/bin/mailboat")
    if "not found" in libraries or re.search(r"swift|Foundation|dispatch", libraries):
        fail(f"mailboat loads what Debian does not bring: {libraries}")
    paths = set(re.findall(r"(/\S+) \(0x", libraries))
    for path in paths:
        root.run("dpkg", "--search", f"*{os.path.basename(path)}")
    return len(paths)


def check_files(root, version):
    said = root.run("mailboat", "--version").strip()
    if said != version:
        fail(f"the program says that it is {said}, and the package {version}")
    # It ends with 0, whatever it finds.
    if changed := root.run("dpkg", "--verify", "mailboat").strip():
        fail(f"dpkg --verify: {changed}")
    if "/etc/mailboat/mailboat.yaml" not in root.run("dpkg-query", "--show", "--showformat=${Conffiles}", "mailboat"):
        fail("/etc/mailboat/mailboat.yaml is no conffile")
    expected = {
        "/etc/mailboat": "root:mailboat:750", "/etc/mailboat/keys": "root:mailboat:750", "/etc/mailboat/mailboat.yaml": "root:mailboat:640",
        "/usr/bin/mailboat": "root:root:755", "/lib/systemd/system/mailboat.service": "root:root:644",
    }
    for path, wanted in expected.items():
        found = root.run("stat", "--format=%U:%G:%a", path).strip()
        if found != wanted:
            fail(f"{path} is {found}, expected {wanted}")
    user = root.run("getent", "passwd", "mailboat").strip().split(":")
    if user[5:] != ["/nonexistent", "/usr/sbin/nologin"]:
        fail(f"the user mailboat has home and shell {user[5:]}")
    # As the worker's user, who may read them: all is good but the key, which nobody has yet.
    faults = subprocess.run(
        list(map(str, root.command(["mailboat", "run", "--check", "--config", "/etc/mailboat/mailboat.yaml"], "mailboat:mailboat"))), capture_output=True, text=True)
    told = (faults.stdout + faults.stderr).strip()
    if faults.returncode != 1 or "key-file" not in told or "AuthKey_KEY1234567.p8" not in told:
        fail(f"the example's settings: {told}")
    pages = root.path / "usr/share/doc/mailboat"
    for page in ("README.md", "Events.md", "Outcomes.md", "Audiences.md", "Upgrading.md", "deploy/Configuration.md", "deploy/Operations.md", "deploy/quickstart/python/publish.py"):
        if not (pages / page).is_file():
            fail(f"/usr/share/doc/mailboat has no {page}")
    links = subprocess.run([PROJECT / "deploy/package/pages.py", "--check", pages], capture_output=True, text=True)
    if links.returncode != 0:
        fail(links.stderr.strip())
    schema = re.search(r"\$schema=(\S+)", (root.path / "etc/mailboat/mailboat.yaml").read_text())
    if not schema or not (root.path / schema[1].lstrip("/")).exists():
        fail(f"the example names the schema {schema and schema[1]}, which is not there")


def check_comforts(root):
    """With what a server of Debian has beside a minimal one: systemd, procps, man-db, bash-completion."""
    root.install("systemd", "procps", "man-db", "bash-completion")
    complaints = subprocess.run(
        list(map(str, root.command(["systemd-analyze", "verify", "--man=no", "/lib/systemd/system/mailboat.service"]))), capture_output=True, text=True)
    if complaints.returncode != 0 or "mailboat" in complaints.stderr:
        fail(f"systemd-analyze verify: {complaints.stderr.strip()}")
    if "disabled" not in root.run("systemctl", "is-enabled", "mailboat", expected=1):
        fail("the unit is enabled, though there are no settings yet")
    pages = sorted(path.name for path in (root.path / "usr/share/man/man1").glob("mailboat*"))
    for page in pages:
        done = subprocess.run(
            list(map(str, root.command(["man", "--warnings=all", "--pager=cat", f"/usr/share/man/man1/{page}"]))), capture_output=True, text=True)
        if done.returncode != 0 or done.stderr.strip() or "SYNOPSIS" not in done.stdout:
            fail(f"man {page}: {done.stderr.strip()[-500:]}")
    for page, words in {
        "mailboat": ["apns-simulator", "FILES", "/etc/mailboat/keys", "mailboat-run(1)"], "mailboat-tail": ["--follow, --no-follow"],
        "mailboat-check": ["/usr/share/doc/mailboat", "mailboat-publish(1)"],
    }.items():
        text = re.sub(r"\s+", " ", root.run("man", "--pager=cat", page))
        for word in words:
            if word not in text:
                fail(f"man {page} has no {word}")
    completed = root.run(
        "bash", "-c",
        "source /usr/share/bash-completion/bash_completion; _completion_loader mailboat; complete -p mailboat >/dev/null; "
        "COMP_WORDS=(mailboat expl) COMP_CWORD=1 COMP_LINE='mailboat expl' COMP_POINT=13; "
        "\"$(complete -p mailboat | sed 's/.*-F \\([^ ]*\\).*/\\1/')\" mailboat expl mailboat; printf '%s\\n' \"${COMPREPLY[@]}\"")
    if completed.strip() != "explain":
        fail(f"bash completes 'mailboat expl' to {completed.strip()!r}")
    return len(pages)


def check_upgrade_and_removal(root, package, before):
    settings = root.path / "etc/mailboat/mailboat.yaml"
    with settings.open("a") as file:
        file.write("# An administrator was here.\n")
    root.run("apt-get", "install", "--yes", "--reinstall", f"./tmp/{package.name}")
    if not settings.read_text().endswith("was here.\n"):
        fail("installing again overwrote the settings")
    root.run("apt-get", "remove", "--yes", "mailboat")
    if not settings.exists() or (root.path / "usr/bin/mailboat").exists():
        fail("removing took the settings, or left the program")
    root.install(f"./tmp/{package.name}")
    for path, wanted in (("/etc/mailboat/keys", "root:mailboat:750"), ("/etc/mailboat/mailboat.yaml", "root:mailboat:640")):
        if (found := root.run("stat", "--format=%U:%G:%a", path).strip()) != wanted:
            fail(f"removed and installed again, {path} is {found}, expected {wanted}")
    root.run("apt-get", "purge", "--yes", "mailboat")
    left = sorted(path for path in root.paths() - before if "mailboat" in path)
    if left:
        fail(f"purging left {', '.join(left)}")
    # As Debian does it: the number of a user that is gone could be another's one day.
    root.run("getent", "passwd", "mailboat")


def docker_steps():
    """The instructions of the Dockerfile's stages, by name; the last has none."""
    text = re.sub(r"\\\n\s*", "", "\n".join(line for line in (PROJECT / "deploy/Dockerfile").read_text().splitlines() if not line.startswith("#")))
    stages, name = {}, None
    for line in filter(None, text.splitlines()):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            name = rest.split(" AS ")[1] if " AS " in rest else "image"
            stages[name] = []
        if name:
            stages[name].append((word, rest))
    return stages


def check_image(root, dist, version):
    """Runs the steps of what becomes the image, with what `make dist` made here in place of the build's."""
    stages = docker_steps()
    if not any(word == "RUN" and "make dist" in rest for word, rest in stages["build"]):
        fail("the Dockerfile's build does not run make dist")
    shutil.copytree(dist, root.path / "dist")
    for word, rest in [*stages["runtime"], *stages["image"]]:
        if word == "RUN":
            mounted = re.match(r"--mount=type=bind,from=build,source=\S+,target=(\S+) ", rest)
            if mounted and mounted[1] != "/dist":
                fail(f"the Dockerfile mounts {mounted[1]}, which this check does not follow")
            root.run("sh", "-c", rest[mounted.end():] if mounted else rest)
        elif word == "COPY" and "mailboat.spdx.json" not in rest:
            fail(f"the Dockerfile copies {rest}, which this check does not follow")
    shutil.rmtree(root.path / "dist")
    user = next(rest for word, rest in stages["image"] if word == "USER")
    entry = json.loads(next(rest for word, rest in stages["image"] if word == "ENTRYPOINT"))
    if root.run(*entry, "--version", user=user).strip() != version:
        fail("the image's program has another version")
    root.run(*entry, "demo", user=user, seconds=180)
    if root.run("id", "-u", "mailboat").strip() != user.split(":")[0]:
        fail(f"the image's user is not {user}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=pathlib.Path, default=PROJECT / "dist", metavar="DIRECTORY", help="what make dist has filled (default: dist)")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="of Debian (default: %(default)s)")
    parser.add_argument("--root", type=pathlib.Path, metavar="DIRECTORY", help="a minimal Debian 12 that is there already; it is copied")
    asked = parser.parse_args()
    become_root()
    packages = sorted(asked.dist.glob("mailboat_*.deb"))
    if len(packages) != 1:
        sys.exit(f"check-package: {asked.dist} has {len(packages)} packages, expected one: run make dist")
    package, version = packages[0], packages[0].name.split("_")[1].replace("~", "-")
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=asked.dist, check=True)
    judged = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", package], capture_output=True, text=True)
    if judged.returncode != 0:
        fail(f"lintian: {(judged.stdout + judged.stderr).strip()}")
    with tempfile.TemporaryDirectory() as scratch:
        # Ordinary users go in and out there.
        os.chmod(scratch, 0o755)
        first, second = (pathlib.Path(scratch) / name for name in ("first", "second"))
        if asked.root:
            subprocess.run(["cp", "--archive", asked.root, first], check=True)
            clean = Root(first)
        else:
            clean = Root.bootstrapped(first, asked.mirror)
        subprocess.run(["cp", "--archive", first, second], check=True)
        with clean.mounted() as root:
            shutil.copy(package, root.path / "tmp")
            root.run("apt-get", "update")
            before = root.paths()
            times = check_first_minute(root, package)
            libraries = check_libraries(root)
            check_files(root, version)
            pages = check_comforts(root)
            check_upgrade_and_removal(root, package, before)
        with Root(second).mounted() as root:
            check_image(root, asked.dist, version)
    if failures:
        sys.exit(f"check-package: {len(failures)} faults")
    print(f"check-package: {package.name}: {times}; {libraries} libraries, all of Debian; {pages} manual pages; the unit, completions, removal and the image's steps are good")


if __name__ == "__main__":
    main()
