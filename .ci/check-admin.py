#!/usr/bin/env python3
"""Holds the admin port of a real worker against Sources/PushWorker/Admin/admin.openapi.json: the worker serves that document, each of its routes answers as it says
there, with no field that it does not name, and what the worker knows is shown to nobody who may not ask. An embedded Kafka and a simulated APNs are
started for it, and stopped at the end.

  .ci/check-admin.py [--mailboat PROGRAM]

Needs kcat, and check-jsonschema (and so jsonschema) from PyPI.
"""

import argparse
import json
import pathlib
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import jsonschema

from free_ports import free_ports
from local_house import LocalHouse

PROJECT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = PROJECT / "Sources/PushWorker/Admin/admin.openapi.json"
TOKEN, CHANNELS_TOKEN = "0123456789abcdef" * 2, "fedcba9876543210" * 2
PIZZA, MATCH = "com.example.pizza", "com.example.match"
asked = set()


def fail(text):
    raise SystemExit(f"check-admin: {text}")


def closed(schema):
    """The same schema; no object has a field that it does not name, where it names any."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"unevaluatedProperties": False} if "properties" in schema and schema.get("type") == "object" else {}
    return {keyword: closed(value) for keyword, value in schema.items()} | more


class Port:
    """The admin port of a worker, and what its document promises."""

    def __init__(self, base, document, context=None):
        self.base, self.document, self.context = base, document, context

    def ask(self, path, method="GET", body=None, token=None, host=None, origin=None, site=None):
        request = urllib.request.Request(self.base + path, method=method, data=json.dumps(body).encode() if body is not None else None)
        if token:
            request.add_header("authorization", f"Bearer {token}")
        for name, value in (("host", host), ("origin", origin), ("sec-fetch-site", site)):
            if value:
                request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60, context=self.context) as answer:
                return answer.status, answer.headers.get_content_type(), answer.read()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers.get_content_type(), answer.read()

    def check(self, route, expected, path=None, method="GET", **more):
        """Asks for a route; the answer has to have that status, and to be what the document says of it. `path`: where it differs from the route."""
        operation = self.document["paths"][route][method.lower()]
        status, kind, body = self.ask(path or route, method, **more)
        name = f"{method} {path or route}"
        if status != expected:
            fail(f"{name} answers {status} and not {expected}: {body.decode()[:300]}")
        told = operation["responses"].get(str(status))
        if told is None:
            fail(f"{name} answers {status}, of which the document knows nothing")
        told = resolve(self.document, told)
        if kind not in told["content"]:
            fail(f"{name} answers with {kind}, the document says {', '.join(told['content'])}")
        asked.add((route, method.lower()))
        if kind != "application/json":
            return body.decode()
        value = json.loads(body)
        schema = closed(told["content"][kind]["schema"] | {"components": self.document["components"]})
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            best = jsonschema.exceptions.best_match([error])
            fail(f"{name}: {'/'.join(map(str, best.absolute_path))}: {best.message[:300]}")
        return value


def resolve(document, value):
    """What a response or a parameter is: itself, or what it refers to."""
    if "$ref" not in value:
        return value
    _, _, kind, name = value["$ref"].split("/")
    return document["components"][kind][name]


def check_document(document):
    """Its schemas are valid, and what it refers to is there and referred to."""
    if not document["openapi"].startswith("3.1."):
        fail("the document is not OpenAPI 3.1")
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
    referred = set()

    def walk(value):
        if isinstance(value, dict):
            if "$ref" in value:
                referred.add(value["$ref"])
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(document)
    defined = {f"#/components/{kind}/{name}" for kind in ("parameters", "schemas", "responses") for name in document["components"][kind]}
    if referred != defined:
        fail(f"what is defined and what is referred to differ: {referred ^ defined}")
    # What several routes answer alike is said once.
    seen = set()
    for path, routes in document["paths"].items():
        for method, operation in routes.items():
            for status, response in operation["responses"].items():
                text = json.dumps(response, sort_keys=True)
                if "$ref" not in response and int(status) >= 400 and text in seen:
                    fail(f"{method.upper()} {path} repeats the response {status} of another route: it belongs into components/responses")
                seen.add(text)
    identifiers = [operation["operationId"] for routes in document["paths"].values() for operation in routes.values()]
    if len(set(identifiers)) != len(identifiers):
        fail("two operations have one id")


def publish(house, *events):
    lines = "".join(f"{key}|{json.dumps(value)}\n" for key, value in events)
    subprocess.run(
        ["kcat", "-P", "-b", f"127.0.0.1:{house.ports['kafka']}", "-t", "liveactivity.events", "-K", "|", "-X", "partitioner=murmur2_random"],
        input=lines, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def play(house):
    """Activities and an audience in several states."""
    events = []
    for number in range(3):
        events.append((f"order-{number}", {"event": "register", "app": PIZZA, "token": f"{number:02x}" * 32}))
        events.append((f"order-{number}", {"event": "update", "app": PIZZA, "priority": 10, "content-state": {"n": 1}}))
    events.append(("order/4 ü", {"event": "update", "app": PIZZA, "content-state": {"n": 1}}))
    events.append(("both", {"event": "update", "app": PIZZA, "content-state": {"n": 1}}))
    events.append(("both", {"event": "update", "app": MATCH, "content-state": {"n": 1}}))
    for number in range(8):
        token = f"{0xa0 + number:02x}" * 32
        events.append((token, {"event": "register", "app": MATCH, "audience": "cup"}))
    events.append(("cup", {"event": "update", "app": MATCH, "to": {"audience": "cup"}, "priority": 10, "content-state": {"goals": 1}}))
    publish(house, *events)


def check_local(house, port):
    """A port that only this machine reaches, without a token."""
    page = port.check("/", 200)
    for path in port.document["paths"]:
        # What a browser loads for its page is of no interest to people.
        if not path.startswith("/page/") and (path.split("{")[0].rstrip("/") or "/") not in page:
            fail(f"the page for people does not know {path}")
    port.check("/healthz", 200)
    port.check("/readyz", 200)
    port.check("/metrics", 200)
    if port.check("/openapi.json", 200) != port.document:
        fail("the worker serves another document than Sources/PushWorker/Admin/admin.openapi.json")
    page = port.check("/page", 200)
    for name in ("style.css", "elements.js", "worker.js"):
        if f"/page/{name}" not in page + port.check("/page/worker.js", 200):
            fail(f"the page does not load {name}")
        port.check(f"/page/{name}", 200)
    port.check("/page", 403, host="evil.example")
    play(house)

    def ask(path):
        status, _, body = port.ask(path)
        return json.loads(body) if status == 200 else None

    # A record of `state` makes another round trip after the answer.
    house.wait("an update that was accepted", lambda: (ask("/activities/order-1") or {}).get("last-accepted-seconds"))
    activity = port.check("/activities/{key}", 200, "/activities/order-1")
    if (activity["life"], activity["token"], activity["budget"]["out"]) != ("alive", "usable", 1):
        fail(f"an activity that was pushed to once says {activity}")
    waiting = port.check("/activities/{key}", 200, f"/activities/{urllib.parse.quote('order/4 ü', safe='')}")
    if (waiting["life"], waiting["token"], waiting["pending"]["event"]) != ("awaiting", "none", "update"):
        fail(f"an activity without a token says {waiting}")
    if waiting["waits-for"]["cause"] != "token" or not waiting["waits-for"]["given-up-then"] or "waits-for" in activity:
        fail(f"it is not said that a token is waited for: {waiting}, {activity}")
    house.wait("two activities of one id", lambda: ask(f"/activities/both?app={MATCH}"))
    port.check("/activities/{key}", 400, "/activities/both")
    port.check("/activities/{key}", 200, f"/activities/both?app={PIZZA}")
    port.check("/activities/{key}", 404, "/activities/nobody")
    port.check("/activities/{key}", 404, "/activities/order-1?app=com.example.none")
    port.check("/activities/{key}", 400, f"/activities/{'x' * 257}")
    port.check("/activities/{key}", 400, "/activities/order-1?application=x")
    house.wait(
        "all members", lambda: (audience := ask("/audiences/cup")) and audience["owner"]["roll-ups"]
        and audience["owner"]["roll-ups"][-1]["accepted"] == 8)
    audience = port.check("/audiences/{id}", 200, "/audiences/cup")
    if sum(partition["members"] for partition in audience["partitions"]) != 8:
        fail(f"an audience of 8 members says {audience}")
    port.check("/audiences/{id}", 404, "/audiences/nobody")

    def paused():
        return all(partition["paused"] for partition in ask("/audiences/cup")["partitions"])

    port.check("/audiences/{id}/pause", 400, "/audiences/cup/pause", method="POST")
    port.check("/audiences/{id}/pause", 404, "/audiences/cup/pause?app=com.example.none", method="POST")
    port.check("/audiences/{id}/pause", 403, f"/audiences/cup/pause?app={MATCH}", method="POST", origin="http://localhost")
    port.check("/audiences/{id}/pause", 200, f"/audiences/cup/pause?app={MATCH}", method="POST")
    house.wait("an audience that is paused", paused)
    port.check("/audiences/{id}/resume", 200, f"/audiences/cup/resume?app={MATCH}", method="POST")
    house.wait("an audience that goes on", lambda: not paused())
    status = port.check("/status", 200)
    if len(status["partitions"]) != status["partition-count"] or not status["ready"]:
        fail(f"a worker that has all partitions says {status}")
    pages = json.dumps([activity, waiting, audience, status])
    if any(f"{number:02x}" * 32 in pages for number in [*range(3), *range(0xa0, 0xa8)]):
        fail("a token is shown")
    # A page in a browser on this machine.
    port.check("/status", 403, host="evil.example")
    port.check("/status", 403, site="cross-site")
    port.check("/status", 403, site="same-site")
    port.check("/status", 200, site="same-origin")


def check_channels(port):
    home = f"?app={PIZZA}"
    port.check("/channels", 401)
    made = port.check("/channels", 201, method="POST", body={"app": PIZZA, "storage": "none"}, token=CHANNELS_TOKEN)
    port.check("/channels", 400, method="POST", body={"app": PIZZA}, token=CHANNELS_TOKEN)
    port.check("/channels", 200, "/channels" + home, token=CHANNELS_TOKEN)
    one = f"/channels/{urllib.parse.quote(made['channel'], safe='')}{home}"
    port.check("/channels/{id}", 200, one, token=CHANNELS_TOKEN)
    port.check("/channels/{id}", 200, one, method="DELETE", token=CHANNELS_TOKEN)
    port.check("/channels/{id}", 404, one, token=CHANNELS_TOKEN)


def more_worker(house, name, settings, scheme="http", context=None, document=None):
    """One more worker of another group, ready or not."""
    [number] = free_ports(1)
    text = (house.scratch / "mailboat.yaml").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("admin.")]
    lines += [f"admin.port: {number}", f"kafka.group: {name}", *settings]
    (house.scratch / f"{name}.yaml").write_text("\n".join(lines) + "\n")
    house.start(name, house.mailboat, "run", "--config", f"{name}.yaml")
    port = Port(f"{scheme}://localhost:{number}", document, context)
    house.wait(f"the worker {name}", lambda: port.ask("/healthz")[0] == 200)
    return port


def check_others(house, document):
    """Ports that others reach."""
    open_port = more_worker(house, "no-token", ["admin.host: 0.0.0.0"], document=document)
    open_port.check("/healthz", 200)
    open_port.check("/metrics", 200)
    for route, path in (("/status", None), ("/activities/{key}", "/activities/order-1"), ("/audiences/{id}", "/audiences/cup")):
        told = open_port.check(route, 403, path)
        if "admin.token-file" not in told["error"]["remedy"]:
            fail(f"who may not ask is not told what to set: {told}")
    open_port.check("/page", 403)
    plain = more_worker(house, "plain", ["admin.host: 0.0.0.0", "admin.token-file: token"], document=document)
    if "admin.tls" not in plain.check("/status", 403, token=TOKEN)["error"]["remedy"]:
        fail("a token is taken in plain text from others")
    files = ["admin.tls.certificate-file: server.pem", "admin.tls.key-file: server-key.pem"]
    context = ssl.create_default_context(cafile=str(house.scratch / "server.pem"))
    safe = more_worker(
        house, "safe", ["admin.host: 0.0.0.0", "admin.token-file: token", *files], scheme="https", context=context, document=document)
    safe.check("/healthz", 200)
    safe.check("/metrics", 200)
    # It asks for the token, and shows nothing without.
    safe.check("/page", 200)
    safe.check("/status", 401)
    safe.check("/status", 401, token=TOKEN[:-1] + "!")
    safe.check("/status", 200, token=TOKEN)


def check_drain(house, port):
    """The first worker takes its leave."""
    port.check("/drain", 403, method="POST", host="evil.example")
    port.check("/drain", 403, method="POST", site="cross-site")
    status, _, _ = port.ask("/drain", method="POST", origin="http://localhost:8080")
    if status != 403:
        fail(f"a page in a browser stops the worker: {status}")
    port.check("/drain", 202, method="POST")
    if house.running[2].wait(30) != 0:
        fail("a worker that was told to drain did not end in good order")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mailboat", type=pathlib.Path, default=PROJECT / ".build/release/mailboat")
    mailboat = parser.parse_args().mailboat.resolve()
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    check_document(document)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name, token in (("token", TOKEN), ("channels-token", CHANNELS_TOKEN)):
            (scratch / name).write_text(token + "\n")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-keyout", scratch / "server-key.pem", "-out", scratch / "server.pem"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        house = LocalHouse("check-admin", mailboat, scratch)
        try:
            house.open(f"admin.channels-token-file: channels-token\napps: [{PIZZA}, {MATCH}]\n")
            port = Port(f"http://localhost:{house.ports['admin']}", document)
            check_local(house, port)
            check_channels(port)
            check_others(house, document)
            check_drain(house, port)
        finally:
            house.close()
    routes = {(route, method) for route, operations in document["paths"].items() for method in operations}
    if routes != asked:
        fail(f"nobody asked for {sorted(routes - asked)}")
    print(f"check-admin: {len(routes)} routes answer as Sources/PushWorker/Admin/admin.openapi.json says")


if __name__ == "__main__":
    main()
