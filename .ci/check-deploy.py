#!/usr/bin/env python3
"""Checks what lies in deploy/ with the tools of others: rules and their tests (promtool), manifests (kubernetes-validate,
jsonschema), the chart (helm), YAML (yamllint), scripts (shellcheck), the Dockerfile (hadolint), the bill of materials (pyspdxtools), the unit of systemd
(systemd-analyze). And that all of it speaks of the same things: each alert has a test
and a heading in the runbook, each heading an alert, each metric that a rule or a panel names is one that a worker serves, and the topics and rights of the examples
are those that the program wants.

Tools that are missing are named and are an error. Nothing is installed here, and nothing is built.
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

import yaml

from deploy_chart import check_chart
from deploy_manifests import DEPLOY, KUBERNETES, PROJECT, check_references, documents, fail, failures, rendered, run, validate
from deploy_strimzi import check_strimzi

RULES = DEPLOY / "prometheus/mailboat-rules.yaml"
TESTS = [DEPLOY / "prometheus/mailboat-rules-test.yaml", DEPLOY / "prometheus/mailboat-slow-rules-test.yaml"]
# Lines of text are for people, who have editors that wrap them.
YAML_RULES = "{extends: default, rules: {line-length: {max: 250}, document-start: disable, braces: {max-spaces-inside: 0}, comments-indentation: disable}, ignore: [templates/]}"
# What `systemd-analyze security` may say of the unit, in tenths: 0 is the least exposed, 100 the most. What is left is the network and the host's root directory.
EXPOSURE_MAX = 12
# Of Prometheus itself.
FOREIGN = {"up"}


def check_rules():
    run("promtool", "check", "rules", RULES)
    run("promtool", "check", "config", DEPLOY / "prometheus/prometheus.yaml")
    run("promtool", "test", "rules", *TESTS)
    alerts = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule}
    runbook = (DEPLOY / "README.md").read_text()
    headings = set(re.findall(r"^### (Mailboat\w+)$", runbook, re.MULTILINE))
    for name in sorted(set(alerts) ^ headings):
        fail(f"{name} is {'an alert without a heading in' if name in alerts else 'no alert, and has a heading in'} deploy/README.md")
    for name, rule in alerts.items():
        if rule["annotations"]["runbook"] != f"deploy/README.md#{name.lower()}":
            fail(f"{name}: its runbook is {rule['annotations']['runbook']}")
        if rule["labels"].get("severity") not in ("page", "ticket"):
            fail(f"{name}: its severity is {rule['labels'].get('severity')}")
    check_links(runbook, alerts)
    check_namespaces()
    fired, cleared = set(), set()
    for test in (test for file in TESTS for test in yaml.safe_load(file.read_text())["tests"]):
        told = False
        for step in test["alert_rule_test"]:
            if step["exp_alerts"]:
                told = True
                fired.add(step["alertname"])
            elif told:
                cleared.add(step["alertname"])
    for name in sorted(set(alerts) - fired):
        fail(f"{name}: no test lets it fire")
    for name in sorted(set(alerts) - cleared):
        fail(f"{name}: no test sees it clear")
    return len(alerts)


def in_namespaces(test):
    """The test with all its series in one namespace, beside their like in another where all goes on as it began: well."""
    series = []
    for each in test["input_series"]:
        name, labels = re.fullmatch(r"(\w+)\{(.*)\}", each["series"]).groups()
        values = each["values"]
        begin = re.match(r"(-?[\d.]+(?:[+-][\d.]+)?)(?:x\d+)?", values)[1]
        series += [
            {"series": f'{name}{{{labels}, namespace="prod"}}', "values": values},
            {"series": f'{name}{{{labels}, namespace="staging"}}', "values": f"{begin}x1200"},
        ]
    steps = []
    for step in test["alert_rule_test"]:
        told = [{**alert, "exp_labels": {**alert["exp_labels"], "namespace": "prod"}} for alert in step["exp_alerts"]]
        steps.append({**step, "exp_alerts": told})
    return {**test, "input_series": series, "alert_rule_test": steps}


def check_namespaces():
    """No alert of one namespace is hidden by another that is well, and none of the other fires."""
    for file in TESTS:
        content = yaml.safe_load(file.read_text())
        tests = [in_namespaces(test) for test in content["tests"]]
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / "namespaces-test.yaml"
            made.write_text(yaml.safe_dump({**content, "rule_files": [str(RULES)], "tests": tests}))
            run("promtool", "test", "rules", made)


def check_links(runbook, alerts):
    """What the runbook says to do gives every alert a link, and rules that Prometheus takes."""
    found = re.search(r"<!-- check-deploy: runbook -->\n```sh\n(.*?)```", runbook, re.DOTALL)
    if not found:
        return fail("deploy/README.md does not say how runbooks become links")
    base = re.search(r"^RUNBOOKS=(\S+)$", found.group(1), re.MULTILINE).group(1)
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "mailboat-rules.yaml"
        run("bash", "-euc", found.group(1).replace("> mailboat-rules.yaml", f"> {made}"))
        run("promtool", "check", "rules", made)
        for group in yaml.safe_load(made.read_text())["groups"]:
            for rule in group["rules"]:
                if "alert" in rule:
                    expected = f"{base}/{alerts[rule['alert']]['annotations']['runbook']}"
                    if rule["annotations"].get("runbook_url") != expected or "runbook" in rule["annotations"]:
                        fail(f"{rule['alert']}: it is linked to {rule['annotations'].get('runbook_url')} and not to {expected}")


def check_scaling():
    """What the trigger of KEDA sees of this namespace's work, of another's, while APNs is away, and without series."""
    triggers = yaml.safe_load((KUBERNETES / "autoscaled/scaled-object.yaml").read_text())["spec"]["triggers"]
    query = next(trigger["metadata"]["query"] for trigger in triggers if trigger["type"] == "prometheus")

    def case(name, drain, accepted, expected):
        labels = 'job="mailboat", namespace="mailboat", instance="worker-1"'
        series = [{"series": 'mailboat_fanout_drain_seconds{job="mailboat", namespace="staging", instance="worker-9"}', "values": "900x20"}]
        if drain is not None:
            series += [
                {"series": f"mailboat_fanout_drain_seconds{{{labels}}}", "values": f"{drain}x20"},
                {"series": f'mailboat_pushes_answered_total{{{labels}, result="accepted"}}', "values": f"0+{accepted}x20"},
            ]
        samples = [] if expected is None else [{"labels": "{}", "value": expected}]
        return {"name": name, "interval": "30s", "input_series": series, "promql_expr_test": [{"expr": query, "eval_time": "5m", "exp_samples": samples}]}

    tests = [
        case("work to do", 40, 1_000, 40), case("little to do", 1, 10, 1), case("APNs is away", 3_600, 0, 0), case("no work", 0, 0, 0),
        case("no series", None, None, None),
    ]
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "scaling-test.yaml"
        made.write_text(yaml.safe_dump({"rule_files": [], "tests": tests}))
        run("promtool", "test", "rules", made)


def served():
    """Names of what a worker serves, by the page that a test of the project compares with the program."""
    names = set()
    for name, kind in re.findall(r"^\| `(\w+)(?:\{[\w,]*\})?` \| (\w+) \|", (DEPLOY / "Metrics.md").read_text(), re.MULTILINE):
        names |= {f"{name}_{end}" for end in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return names


def check_names():
    expressions = {}
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            expressions[rule.get("alert") or rule["record"]] = rule["expr"]
    records = {name for name in expressions if ":" in name}
    dashboards = sorted((DEPLOY / "grafana/dashboards").glob("*.json"))
    for dashboard in dashboards:
        for panel in json.loads(dashboard.read_text())["panels"]:
            for target in panel.get("targets", []):
                expressions[f"{dashboard.name}, {panel['title']}, {target['refId']}"] = target["expr"]
    for trigger in yaml.safe_load((KUBERNETES / "autoscaled/scaled-object.yaml").read_text())["spec"]["triggers"]:
        if trigger["type"] == "prometheus":
            expressions["scaled-object.yaml"] = trigger["metadata"]["query"]
    known = served() | records | FOREIGN
    for where, expression in expressions.items():
        # Without what is quoted and the names of labels, what is left of such words are names of metrics.
        bare = re.sub(r'"[^"]*"', "", expression)
        for name in re.findall(r"\b(?:mailboat|process)[_:][\w:]*|\bup\b", bare):
            if name not in known:
                fail(f"{where} names {name}, which no worker serves")
    # Each must be an expression to Prometheus, too. What Grafana puts in is put in here.
    filled = {
        "groups": [{
            "name": "expressions",
            "rules": [
                {"record": f"a:{index}".replace(":", "_"), "expr": text.replace("$__rate_interval", "1m").replace("$job", "mailboat").replace("$namespace", ".*")}
                for index, text in enumerate(expressions.values())
            ],
        }]
    }
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(filled, file)
        file.flush()
        run("promtool", "check", "rules", file.name)
    return len(expressions)


def check_pods():
    """Workers of both kinds are the same, but for what makes static members, and what tells a release's pods from those of the one before."""
    static, scaled = (yaml.safe_load((KUBERNETES / file).read_text())["spec"]["template"] for file in ("static/stateful-set.yaml", "autoscaled/deployment.yaml"))
    # What both have in it is the same.
    environment = scaled["spec"]["containers"][0]["env"]
    static["spec"]["containers"][0]["env"] = [entry for entry in static["spec"]["containers"][0]["env"] if entry in environment]
    for constraint in scaled["spec"]["topologySpreadConstraints"]:
        constraint.pop("matchLabelKeys")
    if static != scaled:
        fail("the pods of static/stateful-set.yaml and autoscaled/deployment.yaml differ in more than the static members' variables and matchLabelKeys")


def check_manifests():
    check_pods()
    count = 0
    for way in ("static", "autoscaled", "topics"):
        all_of_it = rendered(KUBERNETES / way)
        kinds = sorted(document["kind"] for document in all_of_it)
        expected = sorted(document["kind"] for document in documents(KUBERNETES / way))
        if kinds != expected:
            fail(f"{way}: kubectl makes {kinds} of it, expected {expected}")
        check_references(all_of_it, way)
        for document in all_of_it:
            validate(document, way)
            count += 1
    for file in ("monitoring/pod-monitor.yaml", "priority/priority-class.yaml"):
        validate(yaml.safe_load((KUBERNETES / file).read_text()), file)
        count += 1
    return count


def check_versions():
    """The chart and the image's label name the program's version."""
    version = re.search(r'"([^"]+)"', (PROJECT / "Sources/PushWorker/Service/MailboatVersion.swift").read_text())[1]
    chart = yaml.safe_load((DEPLOY / "Chart.yaml").read_text())
    label = re.search(r"^ARG VERSION=(.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    headings = re.findall(r"^## (\d\S*)", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)
    said = {"the newest release of CHANGELOG.md": headings[0] if headings else None, "version of Chart.yaml": chart["version"], "appVersion of Chart.yaml": chart["appVersion"], "VERSION of the Dockerfile": label and label[1]}
    for where, text in said.items():
        if text != version:
            fail(f"{where} is {text}, and the program's version {version}")


def check_exact_versions():
    """Each package that differs from the table of Package.swift is named: a newer one, one that is missing and one more."""
    table = dict(re.findall(r'"https://[^"]*/([^"/]+?)(?:\.git)?", "([^"]+)"\),$', (PROJECT / "Package.swift").read_text(), re.MULTILINE))
    pins = {name.lower(): {"version": version} for name, version in table.items()}
    changed = {**pins, "swift-nio": {"version": "99.0.0"}, "stranger": {"branch": "main", "revision": "0a1b"}}
    del changed["yams"]
    for state, named in ((pins, []), (changed, ["swift-nio is resolved to 99.0.0", "stranger is resolved to main", "yams is in the table"])):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "deploy/package/exact-versions.py"
            copy.parent.mkdir(parents=True)
            shutil.copy(DEPLOY / "package/exact-versions.py", copy)
            shutil.copy(PROJECT / "Package.swift", folder)
            (pathlib.Path(folder) / "Package.resolved").write_text(json.dumps({"pins": [{"identity": name, "state": one} for name, one in state.items()]}))
            done = subprocess.run([copy], capture_output=True, text=True)
        if (done.returncode != 0) != bool(named) or not all(text in done.stderr for text in named):
            fail(f"deploy/package/exact-versions.py ends with {done.returncode}: {done.stderr.strip()}")


def write_materials(scratch, file, **environment):
    """By the script, as the Dockerfile has it do, but for the program, which is not built here. Returns what it says if it fails."""
    words = [DEPLOY / "sbom.py", "--output", file, *(["--scratch-path", scratch] if scratch else [])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=PROJECT, env={**os.environ, "SOURCE_DATE_EPOCH": "1764000000", **environment})
    return done.stderr.strip() if done.returncode != 0 else None


def check_materials(scratch):
    """What mailboat is made of: written from this tree, judged by a validator of SPDX, and the same the second time."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{name}.spdx.json" for name in ("first", "second")]
        for file in files:
            trouble = write_materials(scratch, file)
            if trouble is not None:
                fail(f"deploy/sbom.py: {trouble[-2000:]}")
                return 0
        run("pyspdxtools", "--infile", files[0])
        if files[0].read_bytes() != files[1].read_bytes():
            fail("deploy/sbom.py: two documents of one tree and one SOURCE_DATE_EPOCH differ")
        if write_materials(scratch, pathlib.Path(folder) / "undated", SOURCE_DATE_EPOCH="yesterday") is None:
            fail("deploy/sbom.py takes “yesterday” for SOURCE_DATE_EPOCH")
        content = json.loads(files[0].read_text())
    names = {package["name"] for package in content["packages"]}
    # What Package.swift names, what only another package names, and each C library.
    for name in ("mailboat", "swift", "swift-nio", "swift-async-algorithms", "librdkafka1", "libssl3", "libnghttp2-14"):
        if name not in names:
            fail(f"deploy/sbom.py leaves out {name}")
    for name in ("swift-nio-ssl", "swift-crypto", "async-http-client"):
        if name in names:
            fail(f"deploy/sbom.py lists {name}, which is not linked: hummingbird's tests and TLS use it alone")
    return len(names)


def check_unit():
    """Where there is no systemd-analyze, as on a Mac, the unit stays unchecked; continuous integration has one."""
    if not shutil.which("systemd-analyze"):
        print("check-deploy: systemd-analyze is not installed: deploy/systemd is not checked (Debian: apt-get install systemd)", file=sys.stderr)
        return "a unit that was not checked"
    text = (DEPLOY / "systemd/mailboat.service").read_text()
    with tempfile.TemporaryDirectory() as folder:
        # It wants to see the program, which is not installed here.
        program, unit = pathlib.Path(folder) / "mailboat", pathlib.Path(folder) / "mailboat.service"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        unit.write_text(text.replace("ExecStart=mailboat ", f"ExecStart={program} "))
        complaints = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        # An unknown word is a warning there, and ignored by systemd: a guard that is misspelt would be none.
        if complaints.returncode != 0 or complaints.stderr.strip():
            fail(f"systemd-analyze verify: {complaints.stderr.strip()}")
        run("systemd-analyze", "security", "--no-pager", "--offline=true", f"--threshold={EXPOSURE_MAX}", unit)
    return "a unit of systemd"


def main():
    parser = argparse.ArgumentParser(description="Check what lies in deploy/.")
    parser.add_argument("--scratch-path", metavar="DIRECTORY", type=pathlib.Path, help="where SwiftPM has its checkouts (default: .build)")
    parser.add_argument("--mailboat", metavar="PROGRAM", type=pathlib.Path, default=PROJECT / ".build/release/mailboat", help="asked which topics it wants (default: %(default)s)")
    asked = parser.parse_args()
    materials, unit = check_materials(asked.scratch_path), check_unit()
    alerts, expressions, manifests = check_rules(), check_names(), check_manifests()
    check_versions()
    check_exact_versions()
    renderings = check_chart()
    check_strimzi(asked.mailboat.resolve())
    check_scaling()
    run("yamllint", "--strict", "--config-data", YAML_RULES, DEPLOY)
    run("shellcheck", *sorted(DEPLOY.glob("*.sh")), *sorted(DEPLOY.glob("package/*.sh")), *sorted(DEPLOY.glob("package/debian/*inst")), *sorted(DEPLOY.glob("package/debian/*rm")), *sorted((PROJECT / "Benchmarks").glob("*.sh")), PROJECT / ".ci/run")
    run("hadolint", "--ignore", "DL3008", DEPLOY / "Dockerfile")
    if failures:
        return 1
    print(
        f"check-deploy: {alerts} alerts with tests and headings, {expressions} expressions of metrics that are served, {manifests} manifests, "
        f"{renderings} renderings of the chart, "
        f"{materials} parts in the bill of materials, {unit}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
