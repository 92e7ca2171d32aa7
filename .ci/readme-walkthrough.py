#!/usr/bin/env python3
"""Runs the commands of the README's section "First push", and those of the pages that go on from there, so that they stay true.

A fenced block takes part when a comment stands above it:
  <!-- walkthrough: run -->              runs in the shell of the walkthrough; must succeed
  <!-- walkthrough: background PORT -->  is left running; the next block waits until PORT takes connections
  <!-- walkthrough: until TEXT -->       is repeated until its output has TEXT ("A|B": either)
  <!-- walkthrough: check -->            is an event in JSON: `mailboat check` has to take it
Of these pages every block of JSON takes part.

  .ci/readme-walkthrough.py [--mailboat PROGRAM]

Everything happens in a scratch directory; commands that need the sources are run in the project's, and left out where a PROGRAM is given. At the end the control ports that the walkthrough has
opened are asked as a page of another site would: they have to refuse.
"""

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import foreign_pages

PROJECT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WAIT_SECONDS = 60
# One walkthrough, in this order.
PAGES = [
    "README.md", "Sources/mailboat/Mailboat.docc/Events.md", "deploy/Channels.md", "Sources/mailboat/Mailboat.docc/Audiences.md", "deploy/Audiences.md"]
# What an event alone is asked of.
CHECK = "mailboat check --app com.example.pizza"
# What the walkthrough opens that takes no password: the address, what is read there, and what is ordered.
CONTROL_PORTS = [
    ("http://localhost:9093", ["/status"], [("POST", "/broker/up"), ("POST", "/latency?ms=0")]),
    ("http://localhost:2198", ["/devices", "/faults", "/keys"], [("POST", "/faults"), ("DELETE", "/faults")]),
    ("http://localhost:9464", ["/status"], [("POST", "/drain")]),
]


def blocks(page):
    text = open(os.path.join(PROJECT, page), encoding="utf-8").read()
    found = []
    for kind, argument, language, script in re.findall(
            r"<!-- walkthrough: (\w+) ?([^\n]*?) ?-->\n```(sh|json)\n(.*?)```", text, re.DOTALL):
        if (kind == "check") != (language == "json"):
            sys.exit(f"walkthrough: {page}: a block of {language} is marked {kind}")
        found.append((kind, argument, f"{CHECK} <<'END'\n{script}END" if kind == "check" else script))
    unmarked = re.findall(r"^(?!<!-- walkthrough: check -->).*\n```json\n(.*)", text, re.MULTILINE)
    if unmarked:
        sys.exit(f"walkthrough: {page}: a block of JSON that nobody checks: {unmarked}")
    return found


def wait_for_port(port, process):
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"walkthrough: the process that should listen on {port} has ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"walkthrough: nothing listens on port {port} after {WAIT_SECONDS} s")


def run(script, directory, environment):
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    options = argparse.ArgumentParser(usage="%(prog)s [--mailboat PROGRAM]")
    options.add_argument("--mailboat", help="the program; without it the release build of this tree")
    program = options.parse_args().mailboat
    running = []
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as programs:
        if program:
            os.symlink(os.path.abspath(program), os.path.join(programs, "mailboat"))
        else:
            programs = subprocess.check_output(
                ["swift", "build", "-c", "release", "--show-bin-path"], cwd=PROJECT, text=True).strip()
        environment = dict(os.environ, PATH=programs + os.pathsep + os.environ["PATH"])
        try:
            for kind, argument, script in (block for page in PAGES for block in blocks(page)):
                needs_sources = "make " in script
                if needs_sources and program:
                    continue
                print("$ " + script.strip().replace("\n", "\n  "), flush=True)
                if kind == "background":
                    process = subprocess.Popen(
                        ["bash", "-c", "exec " + script.replace("\\\n", " ").strip()], cwd=scratch, env=environment,
                        stdin=subprocess.DEVNULL)
                    running.append(process)
                    wait_for_port(int(argument), process)
                    continue
                deadline = time.monotonic() + (WAIT_SECONDS if kind == "until" else 0)
                while True:
                    result = run(script, PROJECT if needs_sources else scratch, environment)
                    wanted = argument.split("|") if kind == "until" else []
                    done = result.returncode == 0 and (not wanted or any(text in result.stdout for text in wanted))
                    if done or time.monotonic() >= deadline:
                        break
                    time.sleep(0.2)
                print(result.stdout, end="", flush=True)
                if not done:
                    sys.exit(f"walkthrough: failed (status {result.returncode}, expected {argument or 'success'})")
            faults = [fault for port in CONTROL_PORTS for fault in foreign_pages.check(*port)]
            if faults:
                sys.exit("walkthrough: " + "; ".join(faults))
        finally:
            # The worker, started last, stops first: it wants to take its leave of Kafka.
            for process in reversed(running):
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    for process in running:
        if process.returncode not in (0, -signal.SIGTERM):
            sys.exit(f"walkthrough: {process.args[-1]}: ended with {process.returncode}")
    print("walkthrough: the commands of the README and its pages work")


if __name__ == "__main__":
    main()
