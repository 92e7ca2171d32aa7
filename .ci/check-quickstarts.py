#!/usr/bin/env python3
"""Runs the programs of deploy/quickstart against a worker, an embedded Kafka and a simulated APNs: each has to print the outcome of its event, which
carries its trace, and no record may lie on another partition than murmur2 of its key says. Programs whose client library cannot be had here are
checked for their syntax; which ones, the page says.

  .ci/check-quickstarts.py [--mailboat PROGRAM] [--only LANGUAGE]

Needs swift, go, node and java, the Go client in Debian's version (golang-github-confluentinc-confluent-kafka-go-dev), and confluent-kafka from PyPI.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib

from local_house import LocalHouse

PROJECT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = PROJECT / "deploy/quickstart"
# Of the embedded Kafka's topics.
PARTITIONS = 8
# Where Debian's Go libraries lie, and the client's path there: version 2 is not in Debian, and has the same calls.
GO_PATH = "/usr/share/gocode"
GO_CLIENT, GO_CLIENT_OF_DEBIAN = "github.com/confluentinc/confluent-kafka-go/v2/kafka", "github.com/confluentinc/confluent-kafka-go/kafka"
# Reads a source file as a compiler does, and asks nothing of the classes that it names.
JAVA_PARSER = """
import com.sun.source.util.JavacTask;
import java.nio.file.Path;
import java.util.List;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaFileObject;
import javax.tools.ToolProvider;

class Parse {
    public static void main(String[] files) throws Exception {
        var compiler = ToolProvider.getSystemJavaCompiler();
        var faults = new DiagnosticCollector<JavaFileObject>();
        var sources = compiler.getStandardFileManager(faults, null, null).getJavaFileObjects(Path.of(files[0]));
        for (var unit : ((JavacTask) compiler.getTask(null, null, faults, List.of("--release", "17"), null, sources)).parse()) {
            if (unit.getTypeDecls().isEmpty()) throw new IllegalStateException("declares nothing");
        }
        faults.getDiagnostics().forEach(System.err::println);
        System.exit(faults.getDiagnostics().stream().anyMatch(one -> one.getKind() == Diagnostic.Kind.ERROR) ? 1 : 0);
    }
}
"""


def run(*words, directory=None, environment=None):
    done = subprocess.run(
        list(map(str, words)), cwd=directory, env=dict(os.environ, **(environment or {})), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"check-quickstarts: {words[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


class House(LocalHouse):
    def forwarded(self):
        """Records that lay on the wrong partition."""
        return float(re.search(r"^mailboat_events_forwarded_total(?:\{[^}]*\})? (\S+)$", self.ask("/metrics", port="admin"), re.MULTILINE)[1])


def murmur2(key):
    """As Java's clients place keys."""
    mix, mask = 0x5BD1E995, 0xFFFFFFFF
    value = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for index in range(0, whole, 4):
        word = int.from_bytes(key[index:index + 4], "little") * mix & mask
        word = (word ^ word >> 24) * mix & mask
        value = (value * mix & mask) ^ word
    if key[whole:]:
        value = (value ^ int.from_bytes(key[whole:], "little")) * mix & mask
    value = (value ^ value >> 13) * mix & mask
    return ((value ^ value >> 15) & 0x7FFFFFFF) % PARTITIONS


def telling_keys(language, count=2):
    """Keys that librdkafka's default, CRC32, puts on another partition than murmur2 does."""
    keys = (f"order-{number}-{language}" for number in range(100))
    return [key for key in keys if murmur2(key.encode()) != zlib.crc32(key.encode()) % PARTITIONS][:count]


# Each answers with the words that start the program; with nothing, when it could only be looked at.

def python(scratch):
    return [sys.executable, PROGRAMS / "python/publish.py"]


def go(scratch):
    source = (PROGRAMS / "go/publish.go").read_text()
    (scratch / "publish.go").write_text(source.replace(GO_CLIENT, GO_CLIENT_OF_DEBIAN))
    run("go", "build", "-o", scratch / "publish-go", scratch / "publish.go",
        environment={"GO111MODULE": "off", "GOPATH": GO_PATH, "GOCACHE": scratch / "go-cache", "GOFLAGS": ""})
    return [scratch / "publish-go"]


def swift(scratch):
    directory = PROGRAMS / "swift"
    run("swift", "build", "--package-path", directory, "--scratch-path", scratch / "swift")
    return [scratch / "swift/debug/publish"]


def node(scratch):
    run("node", "--check", PROGRAMS / "node/publish.js")


def java(scratch):
    (scratch / "Parse.java").write_text(JAVA_PARSER)
    run("java", scratch / "Parse.java", PROGRAMS / "java/src/main/java/Publish.java")


LANGUAGES = {"python": python, "go": go, "swift": swift, "node": node, "java": java}


def check(language, house, scratch):
    begun = time.monotonic()
    program = LANGUAGES[language](scratch)
    if not program:
        return print(f"check-quickstarts: {language}: its syntax is good; it was not run ({time.monotonic() - begun:.0f} s)", flush=True)
    before = house.forwarded()
    for number, key in enumerate(telling_keys(language)):
        token = f"{len(language):02x}{number:02x}" * 16
        printed = run(*program, f"127.0.0.1:{house.ports['kafka']}", key, token)
        outcome = json.loads(printed.strip().splitlines()[-1])
        device = json.loads(house.ask(f"/devices/{token}"))
        if outcome["outcome"] != "delivered" or not re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", outcome.get("traceparent", "")):
            raise SystemExit(f"check-quickstarts: {language}: the outcome is {outcome}")
        if "Anne" not in json.dumps(device):
            raise SystemExit(f"check-quickstarts: {language}: the phone shows {device}")
    # Its outcome names it, although it was refused.
    outcome = json.loads(run(*program, f"127.0.0.1:{house.ports['kafka']}", key, "no-hex").strip().splitlines()[-1])
    if outcome["outcome"] != "dead-lettered" or not outcome.get("event-id"):
        raise SystemExit(f"check-quickstarts: {language}: the outcome of a refused event is {outcome}")
    if house.forwarded() > before:
        raise SystemExit(f"check-quickstarts: {language}: its record lay on the wrong partition")
    print(f"check-quickstarts: {language}: ran ({time.monotonic() - begun:.0f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mailboat", default=PROJECT / ".build/release/mailboat", help="the program to run")
    parser.add_argument("--only", choices=LANGUAGES, help="one language")
    options = parser.parse_args()
    missing = [tool for tool in ("swift", "go", "node", "java") if not shutil.which(tool)]
    if missing and not options.only:
        raise SystemExit(f"check-quickstarts: not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory() as scratch:
        house = House("check-quickstarts", pathlib.Path(options.mailboat).resolve(), pathlib.Path(scratch))
        try:
            house.open("apps: [com.example.pizza]\n")
            for language in [options.only] if options.only else LANGUAGES:
                check(language, house, pathlib.Path(scratch))
        except BaseException:
            for log in sorted(pathlib.Path(scratch).glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-2000:]}")
            raise
        finally:
            house.close()


if __name__ == "__main__":
    main()
