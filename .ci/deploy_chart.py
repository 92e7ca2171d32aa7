"""The Helm chart of deploy/: with the least that has to be said it makes what kustomize makes, each value has the effect that values.yaml promises, and
wrong ones are refused. Rendered by Helm itself."""

import copy
import json
import pathlib
import re
import shlex
import subprocess
import tarfile
import tempfile

import yaml

from deploy_manifests import DEPLOY, KUBERNETES, PROJECT, check_references, documents, fail, run, validate

SETTINGS = KUBERNETES / "settings/mailboat.yaml"
IMAGE = "registry.example.com/mailboat:1.0"
LEAST = {"image": {"repository": "registry.example.com/mailboat", "tag": "1.0"}, "settings": SETTINGS.read_text()}
DIGEST = "sha256:" + "0123456789abcdef" * 4
# What belongs to the chart; everything else in deploy/ stays out of its package.
PACKAGED = re.compile(
    r"Chart\.yaml|values\.yaml|values\.schema\.json|\.helmignore|templates/[\w-]+\.(tpl|yaml|txt)|kubernetes/(base|static|autoscaled|topics|monitoring)/[\w-]+\.yaml"
    r"|prometheus/mailboat-rules\.yaml|grafana/dashboards/mailboat\.json", re.IGNORECASE)
# Where Helm's objects differ from kustomize's.
HELM_LABELS = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}
HELM_ANNOTATIONS = {"checksum/settings", "helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"}


def helm(*words, values):
    """What `helm` does with the chart and these values: its status, what it prints, what it complains about."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(values, file)
        file.flush()
        done = subprocess.run(["helm", *map(str, words), "--values", file.name], capture_output=True, text=True, cwd=PROJECT)
        return done.returncode, done.stdout, done.stderr


def made(values, release="mailboat", namespace="mailboat"):
    """The objects that the chart makes of these values."""
    status, output, complaint = helm("template", release, DEPLOY, "--namespace", namespace, values={**LEAST, **values})
    if status != 0:
        fail(f"the chart with {json.dumps(values)}: {complaint.strip()}")
        return []
    return [each for each in yaml.load_all(output, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if each]


def plain(part):
    """Without what is Helm's own: its labels, wherever they stand, and its annotations."""
    if isinstance(part, list):
        return [plain(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: plain(value) for name, value in part.items() if name not in HELM_LABELS | HELM_ANNOTATIONS}
    return {name: value for name, value in kept.items() if not (name == "annotations" and value == {})}


def expected(way):
    """What kustomize makes of it, with the image that an installation names."""
    objects = copy.deepcopy(list(documents(KUBERNETES / way)))
    for each in objects:
        # Objects without labels get that of the name, too, as Helm's guide asks of all.
        labels = each["metadata"].setdefault("labels", {})
        labels.setdefault("app.kubernetes.io/name", "mailboat")
        for container in each.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            container["image"] = IMAGE
    return by_name(objects)


def by_name(objects):
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def compare(name, wanted, found):
    for key in sorted(set(wanted) ^ set(found)):
        fail(f"the chart, {name}: {' '.join(key)} is made {'by kustomize' if key in wanted else 'by Helm'} alone")
    for key in sorted(set(wanted) & set(found)):
        for where, ours, helms in differences(wanted[key], found[key]):
            fail(f"the chart, {name}: {' '.join(key)}, {where}: kustomize says {ours}, Helm {helms}")


def differences(ours, helms, where=""):
    if isinstance(ours, dict) and isinstance(helms, dict):
        for name in sorted(set(ours) | set(helms)):
            yield from differences(ours.get(name), helms.get(name), f"{where}.{name}")
    elif ours != helms:
        yield where, ours, helms


def check_same():
    """Every object of both ways to run workers, and of the Job that makes the topics, is the one that kustomize makes."""
    triggers = yaml.safe_load((KUBERNETES / "autoscaled/scaled-object.yaml").read_text())["spec"]["triggers"]
    schedule = [each["metadata"] for each in triggers if each["type"] == "cron"]
    for way, values in (("static", {}), ("autoscaled", {"autoscaling": {"enabled": True, "schedule": schedule}})):
        compare(way, expected(way), by_name(map(plain, made(values))))
    # The topics are made before anything else is there, so their Job has a copy of the settings.
    wanted = expected("topics")
    settings = wanted.pop(("ConfigMap", "mailboat"))
    settings["metadata"] = {"name": "mailboat-topics", "labels": {"app.kubernetes.io/name": "mailboat-topics"}}
    job = wanted["Job", "mailboat-topics"]
    job["spec"]["template"]["spec"]["volumes"] = [{"name": "configuration", "configMap": {"name": "mailboat-topics"}}]
    more = by_name(made({"topics": {"create": True}}))
    hooks = {key: each for key, each in more.items() if "helm.sh/hook" in each["metadata"].get("annotations", {})}
    compare("topics", {**wanted, ("ConfigMap", "mailboat-topics"): settings}, {key: plain(each) for key, each in hooks.items()})
    monitors = [each for each in made({"podMonitor": {"enabled": True}}) if each["kind"] == "PodMonitor"]
    compare("monitoring", by_name([yaml.safe_load((KUBERNETES / "monitoring/pod-monitor.yaml").read_text())]), by_name(map(plain, monitors)))


WORKERS, CONTAINER = "StatefulSet mailboat spec", "StatefulSet mailboat spec template spec containers 0"
POD, SCALED = "StatefulSet mailboat spec template spec", "ScaledObject mailboat spec"
PASSWORD = {"name": "MAILBOAT_KAFKA_PROPERTIES_SASL_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "kafka-password", "key": "password"}}}
TIMEOUT = {"name": "MAILBOAT_KAFKA_CONSUMER_SESSION_TIMEOUT_MS", "value": "90000"}
AUTHORITY = {"name": "kafka-ca", "secret": {"secretName": "my-cluster-cluster-ca-cert"}}
MOUNT = {"name": "kafka-ca", "mountPath": "/etc/kafka-ca", "readOnly": True}
PEERS, PORTS = [{"ipBlock": {"cidr": "10.0.0.0/16"}}], [{"protocol": "TCP", "port": 9098}]
NODES = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]}}}
SPREAD = {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
OWN = {"matchLabels": {"app.kubernetes.io/name": "mailboat", "app.kubernetes.io/instance": "mailboat"}}
MATCH = {"timezone": "Europe/Berlin", "start": "0 20 * * 3", "end": "30 23 * * 3", "desiredReplicas": "16"}
# Values, and where their effect is seen: a path of names and numbers through an object, and what lies there. `None`: nothing.
EFFECTS = [
    ({"image": {"repository": "a.example.com:5000/b/mailboat", "tag": "2"}}, {f"{CONTAINER} image": "a.example.com:5000/b/mailboat:2"}),
    ({"image": {**LEAST["image"], "digest": DIGEST, "pullPolicy": "Always"}},
     {f"{CONTAINER} image": f"registry.example.com/mailboat@{DIGEST}", f"{CONTAINER} imagePullPolicy": "Always"}),
    ({"imagePullSecrets": [{"name": "registry"}]}, {f"{POD} imagePullSecrets 0 name": "registry"}),
    ({"settings": {"apps": ["a.b"], "admin": {"host": "0.0.0.0"}}}, {"ConfigMap mailboat data mailboat.yaml": "admin:\n  host: 0.0.0.0\napps:\n- a.b"}),
    ({"settings": {"admin.host": "::"}}, {"ConfigMap mailboat data mailboat.yaml": "admin.host: '::'"}),
    ({"settings": {"apps": []}, "env": [{"name": "MAILBOAT_ADMIN_HOST", "value": "::"}]}, {"ConfigMap mailboat data mailboat.yaml": "apps: []"}),
    ({"restartOnSettings": False}, {"StatefulSet mailboat spec template metadata annotations": None}),
    ({"keysSecret": "apple"}, {f"{POD} volumes 1 secret secretName": "apple"}),
    ({"replicas": 8}, {f"{WORKERS} replicas": 8}), ({"replicas": 0}, {f"{WORKERS} replicas": 0}),
    ({"autoscaling": {"enabled": True}},
     {WORKERS: None, "Deployment mailboat spec replicas": None, f"{SCALED} minReplicaCount": 4, f"{SCALED} maxReplicaCount": 32, f"{SCALED} triggers 2": None}),
    ({"autoscaling": {"enabled": True, "replicasMin": 2, "replicasMax": 16, "replicasFallback": 6, "prometheus": "https://prometheus.example.com", "schedule": [MATCH]}},
     {f"{SCALED} minReplicaCount": 2, f"{SCALED} maxReplicaCount": 16, f"{SCALED} fallback replicas": 6,
      f"{SCALED} triggers 0 metadata serverAddress": "https://prometheus.example.com", f"{SCALED} triggers 2": {"type": "cron", "metadata": MATCH}}),
    ({"env": [PASSWORD, TIMEOUT], "topics": {"create": True}},
     {f"{CONTAINER} env 0": PASSWORD, f"{CONTAINER} env 1": TIMEOUT, f"{CONTAINER} env 2 name": "MAILBOAT_KAFKA_GROUP_INSTANCE_ID", f"{CONTAINER} env 3 name": "POD_NAME",
      "Job mailboat-topics spec template spec containers 0 env": [PASSWORD, TIMEOUT]}),
    ({"volumes": [AUTHORITY], "volumeMounts": [MOUNT], "topics": {"create": True, "arguments": ["--partitions", "128"]}},
     {f"{POD} volumes 2": AUTHORITY, f"{CONTAINER} volumeMounts 2": MOUNT, "Job mailboat-topics spec template spec volumes 1": AUTHORITY,
      "Job mailboat-topics spec template spec containers 0 volumeMounts 1": MOUNT,
      "Job mailboat-topics spec template spec containers 0 args": ["topics", "create", "--config", "/etc/mailboat/mailboat.yaml", "--partitions", "128"]}),
    ({"resources": {"requests": {"cpu": "4", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}}, {f"{CONTAINER} resources limits": {"memory": "4Gi"}}),
    ({"terminationGracePeriodSeconds": 60}, {f"{POD} terminationGracePeriodSeconds": 60}),
    ({"priorityClassName": "mailboat", "topics": {"create": True}},
     {f"{POD} priorityClassName": "mailboat", "Job mailboat-topics spec template spec priorityClassName": None}),
    ({"topologySpreadConstraints": [SPREAD]}, {f"{POD} topologySpreadConstraints": [{**SPREAD, "labelSelector": OWN}]}),
    ({"nodeSelector": {"pool": "push"}, "tolerations": [{"key": "push", "operator": "Exists"}], "affinity": NODES},
     {f"{POD} nodeSelector": {"pool": "push"}, f"{POD} tolerations 0 key": "push", f"{POD} affinity": NODES}),
    ({"podSecurityContext": {"runAsNonRoot": True}, "topics": {"create": True}},
     {f"{POD} securityContext": {"runAsNonRoot": True}, "Job mailboat-topics spec template spec securityContext": {"runAsNonRoot": True}}),
    ({"podAnnotations": {"a": "b"}, "podLabels": {"team": "live", "app.kubernetes.io/name": "other"}},
     {"StatefulSet mailboat spec template metadata annotations a": "b", "StatefulSet mailboat spec template metadata labels": {**OWN["matchLabels"], "team": "live"}}),
    ({"serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/mailboat"}}},
     {"ServiceAccount mailboat metadata annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/mailboat"}}),
    ({"networkPolicy": {"enabled": False}}, {"NetworkPolicy mailboat": None}),
    ({"networkPolicy": {"prometheus": PEERS, "kafka": {"to": PEERS, "ports": PORTS}, "egress": [{"to": PEERS}]}},
     {"NetworkPolicy mailboat spec ingress 0 from": PEERS, "NetworkPolicy mailboat spec egress 1": {"to": PEERS, "ports": PORTS},
      "NetworkPolicy mailboat spec egress 3": {"to": PEERS}}),
    ({"podMonitor": {"enabled": True, "labels": {"release": "kps"}}}, {"PodMonitor mailboat metadata labels release": "kps"}),
    ({"podMonitor": {"enabled": False}}, {"PodMonitor mailboat": None, "PrometheusRule mailboat": None, "ConfigMap mailboat-dashboard": None}),
    ({"rules": {"enabled": True, "labels": {"release": "kps"}}},
     {"PrometheusRule mailboat spec": yaml.safe_load((DEPLOY / "prometheus/mailboat-rules.yaml").read_text()), "PrometheusRule mailboat metadata labels release": "kps"}),
    ({"dashboard": {"enabled": True, "labels": {"grafana": "yes"}}},
     {"ConfigMap mailboat-dashboard data mailboat.json": (DEPLOY / "grafana/dashboards/mailboat.json").read_text(),
      "ConfigMap mailboat-dashboard metadata labels grafana": "yes"}),
    ({"fullnameOverride": "push"}, {"StatefulSet push spec serviceName": "push", WORKERS: None}),
]


def found_at(objects, path):
    kind, name, *steps = path.split()
    part = by_name(objects).get((kind, name))
    for step in steps:
        if isinstance(part, list):
            part = part[int(step)] if int(step) < len(part) else None
        elif part is not None:
            part = part.get(step)
    return part


def leaves(values, where=""):
    """The names of all values; of maps, those that are not for a user to fill."""
    for name, value in values.items():
        if isinstance(value, dict) and value and name not in ("labels", "settings"):
            yield from leaves(value, f"{where}{name}.")
        else:
            yield f"{where}{name}"


def check_values():
    """Each value does what it says, and everything that is made is what Kubernetes takes."""
    documented = yaml.safe_load((DEPLOY / "values.yaml").read_text())
    tried = set()
    for values, effects in EFFECTS:
        objects = made(values)
        tried |= set(leaves(values))
        for path, wanted in effects.items():
            found = found_at(objects, path)
            if found != wanted:
                fail(f"the chart with {json.dumps(values)}: {path} is {json.dumps(found)[:500]} and not {json.dumps(wanted)[:500]}")
        check_objects(objects, f"the chart with {json.dumps(values)[:200]}")
    for name in leaves(documented):
        if not any(each == name or each.startswith(f"{name}.") for each in tried | {"rules.runbooks"}):
            fail(f"values.yaml has {name}, which no case of this check tries")
    schema = json.loads((DEPLOY / "values.schema.json").read_text())["properties"]
    for name, value in documented.items():
        if name not in schema or isinstance(value, dict) and set(value) - set(schema[name].get("properties", value)):
            fail(f"values.schema.json does not know all of {name}")


def check_objects(objects, where):
    check_references(objects, where)
    for each in objects:
        # Its spec is a file of rules, which promtool judges.
        if each["kind"] != "PrometheusRule":
            validate(each, where)


def check_other_release():
    """Under another name and in another namespace nothing is left of the first one, and alerts lead to runbooks."""
    base = "https://git.example.com/mailboat/blob/v1"
    everything = {
        "topics": {"create": True}, "podMonitor": {"enabled": True}, "rules": {"enabled": True, "runbooks": f"{base}/"}, "dashboard": {"enabled": True},
    }
    for values in (everything, {**everything, "autoscaling": {"enabled": True}}):
        objects = made(values, release="live", namespace="prod")
        check_objects(objects, "the chart as the release live")
        for each in objects:
            if each["metadata"]["name"].split("-")[0] != "live" or each["metadata"]["labels"]["app.kubernetes.io/instance"] != "live":
                fail(f"the chart as the release live: {each['kind']} is called {each['metadata']['name']}")
    query = found_at(objects, "ScaledObject live spec triggers 0 metadata query") or ""
    if query.count('namespace="prod"') != 3 or "mailboat\"}" in query:
        fail(f"the chart in the namespace prod scales by {query}")
    rules = found_at(objects, "PrometheusRule live spec") or {"groups": []}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(rules, file)
        file.flush()
        run("promtool", "check", "rules", file.name)
    for rule in (rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule):
        if rule["annotations"].get("runbook_url") != f"{base}/deploy/README.md#{rule['alert'].lower()}" or "runbook" in rule["annotations"]:
            fail(f"the chart links {rule['alert']} to {rule['annotations'].get('runbook_url')}")


# Values, and what the refusal says.
REFUSED = [
    ({"image": {"repository": ""}}, "image.repository is missing"),
    ({"image": {"repository": "a.example.com/b"}}, "image.tag is missing"),
    ({"image": {"repository": "a.example.com/b:1", "tag": "1"}}, "image.repository: Does not match pattern"),
    ({"image": {"repository": "a.example.com/b", "tag": 1}}, "image.tag: Invalid type"),
    ({"image": {"repository": "a.example.com/b", "digest": "sha256:abc"}}, "image.digest: Does not match pattern"),
    ({"image": {"repository": "a.example.com/b", "tag": "1", "pullPolicy": "Sometimes"}}, "image.pullPolicy"),
    ({"settings": None}, "settings are missing"), ({"settings": ["a"]}, "settings: Invalid type"), ({"settings": "a: [b"}, "settings: expected YAML"),
    ({"settings": {"apps": []}}, "settings.admin.host is missing"), ({"settings": "admin: {port: 1}"}, "settings.admin.host is missing"),
    ({"replica": 8}, "Additional property replica is not allowed"), ({"autoscaling": {"min": 8}}, "Additional property min is not allowed"),
    ({"replicas": -1}, "replicas: Must be greater than or equal to 0"), ({"replicas": "4"}, "replicas: Invalid type"),
    ({"replicas": 4, "autoscaling": {"enabled": True}}, "replicas is 4: expected none"),
    ({"autoscaling": {"enabled": "yes"}}, "autoscaling.enabled: Invalid type"),
    ({"autoscaling": {"enabled": True, "replicasMin": 9, "replicasMax": 8}}, "autoscaling.replicasMin is 9: expected at most replicasMax, which is 8"),
    ({"autoscaling": {"enabled": True, "prometheus": "prometheus:9090"}}, "autoscaling.prometheus: Does not match pattern"),
    ({"autoscaling": {"enabled": True, "schedule": [{**MATCH, "desiredReplicas": 16}]}}, "autoscaling.schedule.0.desiredReplicas: Invalid type"),
    ({"autoscaling": {"enabled": True, "schedule": [{**MATCH, "start": "20:00"}]}}, "autoscaling.schedule.0.start: Does not match pattern"),
    ({"env": [{"name": "A", "value": 1}]}, "env.0.value: Invalid type"), ({"env": {"A": "1"}}, "env: Invalid type"),
    ({"volumeMounts": [{"name": "a"}]}, "volumeMounts.0: mountPath is required"), ({"resources": {"cpu": "2"}}, "Additional property cpu is not allowed"),
    ({"topologySpreadConstraints": [{"maxSkew": 1}]}, "topologySpreadConstraints.0: topologyKey is required"),
    ({"priorityClassName": "My Class"}, "priorityClassName: Does not match pattern"), ({"podLabels": {"a": 1}}, "podLabels.a: Invalid type"),
    ({"networkPolicy": {"kafka": {"namespace": "kafka"}}}, "Additional property namespace is not allowed"),
    ({"topics": {"arguments": ["--partitions", 128]}}, "topics.arguments.1: Invalid type"), ({"rules": {"runbooks": "wiki"}}, "rules.runbooks: Does not match pattern"),
    ({"keysSecret": ""}, "keysSecret: Does not match pattern"), ({"fullnameOverride": "a" * 53}, "fullnameOverride: String length"),
]


def check_refusals():
    for values, wanted in REFUSED:
        status, _, complaint = helm("template", "mailboat", DEPLOY, values={**LEAST, **values})
        if status == 0 or wanted not in complaint:
            fail(f"the chart with {json.dumps(values)} {'is taken' if status == 0 else f'says “{complaint.strip()}”'}, expected: {wanted}")


def check_runbook():
    """What the runbook tells to type, and its values, are taken."""
    runbook = (DEPLOY / "README.md").read_text()
    command = re.search(r"<!-- check-deploy: helm -->\n```sh\nhelm upgrade --install (.*?)```", runbook, re.DOTALL)
    values = re.search(r"<!-- check-deploy: values -->\n *```yaml\n(.*?)```", runbook, re.DOTALL)
    if not command or not values:
        return fail("deploy/README.md does not say how to install the chart, or with which values")
    typed = command[1].replace("REGISTRY", "registry.example.com").replace("TAG", "1.0").replace("settings=mailboat.yaml", f"settings={SETTINGS}")
    status, output, complaint = helm("template", *shlex.split(typed.replace("\\\n", " ")), values=yaml.safe_load(values[1]))
    if status != 0:
        return fail(f"what deploy/README.md says of Helm: {complaint.strip()}")
    objects = by_name(yaml.safe_load_all(output))
    check_objects(list(objects.values()), "what deploy/README.md says of Helm")
    if ("Job", "mailboat-topics") not in objects or objects["ConfigMap", "mailboat"]["data"]["mailboat.yaml"] != SETTINGS.read_text():
        fail("what deploy/README.md says of Helm makes no topics, or other settings")


def check_package():
    """Helm finds nothing to complain about, and nothing else of deploy/ is in it."""
    status, output, complaint = helm("lint", "--strict", DEPLOY, values=LEAST)
    if status != 0:
        fail(f"helm lint: {output}{complaint}")
    with tempfile.TemporaryDirectory() as scratch:
        run("helm", "package", DEPLOY, "--destination", scratch)
        for file in pathlib.Path(scratch).glob("*.tgz"):
            for name in tarfile.open(file).getnames():
                if not PACKAGED.fullmatch(name.removeprefix("mailboat/")):
                    fail(f"the chart's package has {name}: .helmignore should leave it out, or this check name it")


def check_chart():
    """How many renderings were looked at; 0 without Helm, and where the chart makes nothing at all."""
    if run("helm", "version", "--short") is None:
        return 0
    check_package()
    if not made({}):
        return 0
    check_same()
    check_values()
    check_other_release()
    check_refusals()
    check_runbook()
    return len(EFFECTS) + len(REFUSED) + 7
