#!/usr/bin/env python3
"""Lets a real worker write outcomes of every kind and dead letters, and checks each against the schemas in deploy/schemas. What a schema does not name
counts as a fault here, so that the schemas tell of every field. An embedded Kafka and a simulated APNs are started for it, and stopped at the end.

  .ci/check-outcomes.py [--mailboat PROGRAM]

Needs kcat, and check-jsonschema (and so jsonschema) from PyPI.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

import jsonschema

from local_house import LocalHouse

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SCHEMAS = PROJECT / "deploy/schemas"
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
PIZZA, MATCH, POOR = "com.example.pizza", "com.example.match", "com.example.poor"
ALERT = {"title": "Goal!", "body": "1:0"}


def load(name):
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def closed(schema):
    """The same schema; no object has a field that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"unevaluatedProperties": False} if schema.get("type") == "object" else {}
    return {keyword: closed(value) for keyword, value in schema.items()} | more


SETTINGS = f"""outcomes.publish: all
registration-wait: 1s
channel.linger: 1s
apps:
  {PIZZA}: {{}}
  {MATCH}: {{audience.channel: auto}}
  {POOR}: {{audience.channel: auto}}
"""


class House(LocalHouse):
    """And what is published there and read."""

    def publish(self, *events, headers=()):
        lines = [f"{key}|{value if isinstance(value, str) else json.dumps(value)}" for key, value in events]
        subprocess.run(
            ["kcat", "-P", "-b", f"127.0.0.1:{self.ports['kafka']}", "-t", "liveactivity.events", "-K", "|", "-X", "partitioner=murmur2_random",
             *(word for header in headers for word in ("-H", header))],
            input="\n".join(lines) + "\n", text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def records(self, topic):
        done = subprocess.run(
            ["kcat", "-C", "-b", f"127.0.0.1:{self.ports['kafka']}", "-t", f"liveactivity.{topic}", "-o", "beginning", "-e", "-q", "-J",
             "-X", "fetch.wait.max.ms=10"],
            capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def outcomes(self):
        return [json.loads(record["payload"]) for record in self.records("outcomes")]

    def wait_for(self, what, **fields):
        """An outcome with these fields; `_` stands for a hyphen."""
        wanted = {name.replace("_", "-"): value for name, value in fields.items()}
        return self.wait(
            what, lambda: next((one for one in self.outcomes() if all(one.get(name) == value for name, value in wanted.items())), None))


def update(**fields):
    return {"event": "update", "app": PIZZA, "content-state": {"n": 1}} | {name.replace("_", "-"): value for name, value in fields.items()}


def start(to, **fields):
    return {
        "event": "start", "app": PIZZA, "to": to, "attributes-type": "PizzaAttributes", "attributes": {}, "content-state": {"n": 0}, "alert": ALERT,
    } | fields


def play(house):
    """Every kind of outcome."""
    register = lambda token, **more: {"event": "register", "app": PIZZA, "token": token} | more
    house.publish(("order-1", register("a1" * 32)))
    house.publish(("order-1", update(priority=10, id="u-1")), headers=[f"traceparent={TRACE}"])
    house.publish(("order-2", register("a2" * 32)), ("order-2", update(alert=ALERT, priority=5)), ("order-2", update()))
    house.publish(("order-3", register("a3" * 32)), ("order-3", {"event": "end", "app": PIZZA}), ("order-3", update()))
    house.publish(("order-4", start({"start-token": "a4" * 32})), ("order-4", start({"start-token": "a4" * 32})))
    house.publish(("order-5", register("a5" * 32)), ("order-5", update(expires=1_700_000_000)))
    house.ask(f"/tokens/{'a6' * 32}", "POST", {"state": "dead"})
    house.publish(("order-6", start({"start-token": "a6" * 32})))
    house.publish(("order-7", update()))
    house.ask("/faults", "POST", {"kind": "cut", "token": "a8", "count": 1})
    house.publish(("order-8", start({"start-token": "a8" * 32})))
    house.ask("/faults", "POST", {"kind": "answer", "status": 400, "reason": "BadExpirationDate", "token": "a9"})
    house.publish(("order-9", register("a9" * 32)), ("order-9", update(priority=10, id="u-9")))
    house.publish(("order-10", '{"event": "update", "contentState": {}}'), ("order-11", "no JSON"))
    house.publish(("order-12", {"event": "unregister", "app": PIZZA}))
    # The next token is dead on arrival, and the one before lives.
    house.ask(f"/tokens/{'ae' * 32}", "POST", {"state": "dead"})
    house.publish(("order-13", register("ad" * 32)), ("order-13", update(priority=10, id="u-13")))
    lives = house.wait_for("the first outcome of order-13", outcome="delivered", activity="order-13", event_id="u-13")["token-hash"]
    house.publish(("order-13", register("ae" * 32)), ("order-13", update(priority=10, id="v-13")))
    house.wait_for("a registration in the place of a living token", activity="order-13", replaced_token_hash=lives)
    house.wait_for("a push to the token before", outcome="delivered", activity="order-13", token="former", token_hash=lives)
    for order, outcome in (
        (1, "applied"), (1, "delivered"), (2, "superseded"), (3, "late"), (4, "duplicate"), (5, "expired"), (6, "rejected"), (7, "unregistered"),
        (8, "unknown"), (9, "dead-lettered"),
    ):
        house.wait_for(f"the outcome {outcome} of order-{order}", outcome=outcome, activity=f"order-{order}")
    house.wait("a dead letter of each kind", lambda: len(house.records("dead-letters")) >= 3)

    channel = json.loads(house.ask("/channels", "POST", {"app": PIZZA}))["id"]
    house.publish((channel, update(to={"channel": channel})))
    house.wait_for("the outcome of a broadcast", outcome="delivered", channel=channel)

    # One member is served, one is dead, one is refused, and one is started.
    dead, odd = "b2" * 32, "b3" * 32
    house.ask(f"/tokens/{dead}", "POST", {"state": "dead"})
    house.ask("/faults", "POST", {"kind": "answer", "status": 413, "reason": "PayloadTooLarge", "token": "b3"})
    join = {"event": "register", "app": PIZZA, "audience": "match-7"}
    house.publish(*((token, join) for token in ("b1" * 32, dead, odd)), ("b4" * 32, join | {"token-type": "start", "channel-capable": True}))
    house.wait(
        "the joins", lambda: sum(one.get("audience") == "match-7" and one["outcome"] == "applied" for one in house.outcomes()) >= 4)
    house.publish(("match-7", start({"audience": "match-7"}, id="s-7")))
    for outcome in ("fanned-out", "pass", "start-pass", "audience", "rejected", "dead-lettered"):
        house.wait_for(f"the outcome {outcome} of match-7", outcome=outcome, audience="match-7")

    house.publish(("derby", {"event": "open", "app": MATCH, "to": {"audience": "derby"}}))
    kept = house.wait_for("an opened channel", outcome="channel-opened", audience="derby")["channel"]
    house.publish(("c1" * 32, {"event": "register", "app": MATCH, "audience": "derby", "channel": kept}))
    house.wait_for("the join of a listener", outcome="applied", audience="derby")
    house.publish(("derby", {"event": "update", "app": MATCH, "to": {"audience": "derby"}, "content-state": {"n": 1}}))
    house.wait("an audience record with a broadcast", lambda: any("broadcasts" in one for one in house.outcomes()))
    house.publish(("derby", {"event": "end", "app": MATCH, "to": {"audience": "derby"}}))
    house.ask(f"/apps/{POOR}", "POST", {"channels-max": 0})
    house.publish(("friendly", {"event": "open", "app": POOR, "to": {"audience": "friendly"}}))
    house.wait_for("a refused channel", outcome="channel-refused", audience="friendly")
    house.wait_for("a closed channel", outcome="channel-closed", audience="derby")


def judge(house):
    outcome = jsonschema.Draft202012Validator(closed(load("outcome.schema.json")))
    letter = jsonschema.Draft202012Validator(closed(load("dead-letter-headers.schema.json")))
    event = jsonschema.Draft202012Validator(load("event.schema.json"))
    faults = []
    outcomes, letters = house.outcomes(), house.records("dead-letters")
    for record in outcomes:
        faults += [f"{json.dumps(record)}: {error.message}" for error in outcome.iter_errors(record)]
    for record in letters:
        headers = dict(zip(record["headers"][::2], record["headers"][1::2]))
        faults += [f"{json.dumps(headers)}: {error.message}" for error in letter.iter_errors(headers)]
        # What APNs refused is put together again: an event, of which a start lacks what it cannot be sent without.
        if "mailboat-field" not in headers:
            value = json.loads(record["payload"])
            faults += [] if value["event"] == "start" else [f"{record['payload']}: {error.message}" for error in event.iter_errors(value)]
    kinds = sorted({record["outcome"] for record in outcomes})
    missing = set(load("outcome.schema.json")["properties"]["outcome"]["enum"]) - set(kinds)
    faults += [f"no outcome is {kind}" for kind in sorted(missing)]
    if faults:
        raise SystemExit("check-outcomes: " + "\ncheck-outcomes: ".join(faults))
    print(f"check-outcomes: {len(outcomes)} outcomes of {len(kinds)} kinds and {len(letters)} dead letters are as the schemas say")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mailboat", default=PROJECT / ".build/release/mailboat", help="the program to ask")
    options = parser.parse_args()
    if not shutil.which("kcat"):
        raise SystemExit("check-outcomes: kcat is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        house = House("check-outcomes", pathlib.Path(options.mailboat).resolve(), pathlib.Path(scratch))
        try:
            house.open(SETTINGS)
            play(house)
            judge(house)
        except BaseException:
            for log in sorted(pathlib.Path(scratch).glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-3000:]}")
            raise
        finally:
            house.close()


if __name__ == "__main__":
    main()
