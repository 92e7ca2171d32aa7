"""The examples for Strimzi: its topics are those that `mailboat topics create` would make, and its users have the rights that Configuration lists, no more."""

import json
import pathlib
import re
import socket
import subprocess
import tempfile

import yaml

from deploy_manifests import DEPLOY, KUBERNETES, fail, validate
from local_house import LocalHouse

EXAMPLES = KUBERNETES / "strimzi"


def examples(name):
    objects = list(yaml.safe_load_all((EXAMPLES / name).read_text()))
    for each in objects:
        validate(each, f"strimzi/{name}")
    return objects


def wanted_topics(mailboat):
    """What the program would create: each topic with its partitions, copies and settings."""
    with tempfile.TemporaryDirectory() as scratch:
        house = LocalHouse("check-deploy", mailboat, pathlib.Path(scratch))
        port = house.ports["kafka"]
        try:
            house.start("kafka", mailboat, "embedded-kafka", "--port", port, "--control", 0, "--topic", "other:1")
            house.wait("Kafka", lambda: socket.create_connection(("127.0.0.1", port), timeout=1).close() or True)
            words = [mailboat, "topics", "create", "--bootstrap", f"127.0.0.1:{port}", "--dry-run", "--format", "json"]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        finally:
            house.close()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines:
        fail(f"mailboat topics create --dry-run says nothing: {done.stderr.strip()}")
    return {line["topic"]: (line["partitions"], line["replicas"], line["settings"]) for line in lines if "settings" in line}


def check_topics(mailboat):
    wanted = wanted_topics(mailboat)
    found = {
        each["metadata"]["name"]: (each["spec"]["partitions"], each["spec"]["replicas"], {name: str(value) for name, value in each["spec"]["config"].items()})
        for each in examples("topics.yaml")
    }
    for name in sorted(set(wanted) | set(found)):
        if wanted.get(name) != found.get(name):
            fail(f"strimzi/topics.yaml: {name} is {found.get(name)}, and mailboat topics create makes {wanted.get(name)}")


def documented_rights(who):
    """Of the table in Configuration: operations by kind and name, as `topic liveactivity.state`."""
    row = re.search(rf"^\| {re.escape(who)} \| (.*) \|$", (DEPLOY / "Configuration.md").read_text(), re.MULTILINE)
    settings = yaml.safe_load((DEPLOY / "mailboat.example.yaml").read_text())
    topics = {role: f"topic {name}" for role, name in settings["topics"].items()}
    rights = {}
    for operations, places in re.findall(r"((?:Read|Write|Describe|DescribeConfigs)(?: and \w+)?) on ([^;.|]*?)(?=[;.|]|$| it also)", row[1] if row else ""):
        names = re.findall(r"`([\w-]+)`", places)
        named = [topics[name] for name in names] + (list(topics.values()) if "the five topics" in places else [])
        named += [f"group {settings['kafka']['group']}"] if "the group" in places else []
        for name in named:
            rights.setdefault(name, set()).update(operations.split(" and "))
    return rights


def check_users():
    users = {each["metadata"]["name"]: each for each in examples("users.yaml")}
    for name, who in (("mailboat", "worker"), ("mailboat-publisher", "publisher, `mailboat publish`")):
        found = {}
        for rule in users.pop(name)["spec"]["authorization"]["acls"]:
            found.setdefault(f"{rule['resource']['type']} {rule['resource']['name']}", set()).update(rule["operations"])
        wanted = documented_rights(who)
        if found != wanted:
            fail(f"strimzi/users.yaml: {name} has {found}, and Configuration.md lists {wanted}")
    for name in users:
        fail(f"strimzi/users.yaml has {name}, whose rights this check does not know")


def check_strimzi(mailboat):
    if not mailboat.exists():
        fail(f"{mailboat} is not there: it says which topics Strimzi should make. `make build`, or --mailboat PROGRAM")
    else:
        check_topics(mailboat)
    check_users()
