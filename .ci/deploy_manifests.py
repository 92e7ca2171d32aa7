"""The manifests of deploy/ as objects, whether they are ones that Kubernetes takes, and the faults found so far."""

import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

PROJECT = pathlib.Path(__file__).resolve().parents[1]
DEPLOY = PROJECT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
# Kinds that others than Kubernetes bring, and our schema of each.
FOREIGN_KINDS = {"ScaledObject": "scaled-object", "PodMonitor": "pod-monitor", "KafkaTopic": "kafka-topic", "KafkaUser": "kafka-user"}
failures = []
# The renderings of a chart have most objects in common.
validated = set()


def fail(message):
    failures.append(message)
    print(f"check-deploy: {message}", file=sys.stderr)


def run(*words, standard_input=None):
    if not shutil.which(words[0]):
        return fail(f"{words[0]} is not installed")
    done = subprocess.run(list(map(str, words)), input=standard_input, capture_output=True, text=True, cwd=PROJECT)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))}: {(done.stdout + done.stderr).strip()[-2000:]}")
    return done.stdout


def documents(folder):
    """What a kustomization brings together: its resources, and a config map for each generator. Names without kustomize's hash."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    unknown = set(kustomization) - {"apiVersion", "kind", "resources", "configMapGenerator"}
    if unknown:
        fail(f"{folder.relative_to(PROJECT)}/kustomization.yaml has {', '.join(sorted(unknown))}, which this check does not follow")
    for resource in kustomization.get("resources", []):
        path = (folder / resource).resolve()
        if path.is_dir():
            yield from documents(path)
        else:
            yield from yaml.safe_load_all(path.read_text())
    for generator in kustomization.get("configMapGenerator", []):
        data = {name: (folder / name).read_text() for name in generator["files"]}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": generator["name"]}, "data": data}


def rendered(folder):
    """As kubectl renders it, where there is one that is new enough (Debian 12's is not); otherwise as `documents` does."""
    if shutil.which("kubectl"):
        version = subprocess.run(["kubectl", "version", "--client", "--output", "json"], capture_output=True, text=True)
        found = re.search(r'"minor": "(\d+)', version.stdout)
        if found and int(found[1]) >= 21:
            return list(yaml.safe_load_all(run("kubectl", "kustomize", folder) or ""))
    return list(documents(folder))


@functools.cache
def foreign_schema(kind):
    return json.loads((KUBERNETES / f"schemas/{FOREIGN_KINDS[kind]}.json").read_text())


def validate(document, where):
    """By the schemas of Kubernetes' newest version that the validator has, or by ours."""
    kind, text = document["kind"], json.dumps(document, sort_keys=True)
    if text in validated:
        return
    validated.add(text)
    try:
        if kind in FOREIGN_KINDS:
            jsonschema.validate(document, foreign_schema(kind), format_checker=jsonschema.FormatChecker())
        else:
            kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
        fail(f"{where}, {kind}: {'.'.join(map(str, error.path))}: {error.message[:500]}")


def pod_templates(objects):
    return [(each, each["spec"]["template"]) for each in objects if "template" in each.get("spec", {})]


def check_references(objects, where):
    """Each object that another one names is there, and each selector finds the workers' pods and no others."""
    there = {(each["kind"], each["metadata"]["name"]) for each in objects}
    wanted = []
    for owner, template in pod_templates(objects):
        pod = template["spec"]
        wanted += [("ConfigMap", volume["configMap"]["name"]) for volume in pod["volumes"] if "configMap" in volume]
        wanted += [("ServiceAccount", pod["serviceAccountName"])] if "serviceAccountName" in pod else []
        wanted += [("Service", owner["spec"]["serviceName"])] if owner["kind"] == "StatefulSet" else []
    wanted += [("Deployment", each["spec"]["scaleTargetRef"]["name"]) for each in objects if each["kind"] == "ScaledObject"]
    for kind, name in wanted:
        if (kind, name) not in there:
            fail(f"{where}: no {kind} is called {name}")
    for each in objects:
        spec = each.get("spec", {})
        selector = spec.get("podSelector") or spec.get("selector")
        if not selector:
            continue
        labels = (selector if each["kind"] == "Service" else selector["matchLabels"]).items()
        for owner, template in pod_templates(objects):
            if (labels <= template["metadata"]["labels"].items()) != (owner["kind"] != "Job"):
                fail(f"{where}: the selector of {each['kind']} {each['metadata']['name']} is wrong about the pods of {owner['kind']} {owner['metadata']['name']}")
