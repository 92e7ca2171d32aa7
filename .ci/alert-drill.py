#!/usr/bin/env python3
"""Makes the faults that the alerts of deploy/prometheus are about, and watches a real Prometheus: each alert has to fire, and to be quiet again when the
fault is gone. For this several houses stand side by side, each with an embedded Kafka, a simulated APNs, a worker and a Prometheus of its own; a house makes one
fault after another. All are stopped at the end; nothing is left.

Windows and waits of the rules are shortened, so that a drill takes seconds; what the rules ask stays as it is. What is not drilled is listed below
with the reason: a test of promtool covers it alone.

  .ci/alert-drill.py [--mailboat PROGRAM] [--only ALERT] [--broken ALERT] [--wait SECONDS] [--houses COUNT] [--keep DIRECTORY]

With --broken the expression of an alert never becomes true. Its drill has to fail, and nothing else may: that is a success then, and shows that a drill can fail.

Needs prometheus, kcat, faketime and prlimit.
"""

import argparse
import base64
import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from alert_house import APP, DrillFailure, House, PORTS, drill_rules
from free_ports import free_ports

PROJECT = pathlib.Path(__file__).resolve().parents[1]
RULES = PROJECT / "deploy/prometheus/mailboat-rules.yaml"
# So long an alert may take to fire, or to clear. An app whose topic is refused is probed again after half a minute to a minute.
WAIT_SECONDS = 100
# So many are done within a minute and a half on two processors.
HOUSE_COUNT = 5
NOT_DRILLED = {
    "MailboatNothingLeaves": "the worker itself looks at ten minutes, and a test of it by table does as the rule would",
    "MailboatPushesDowngraded": "what a house sends is over its budget all the time",
    "MailboatUnaccounted": "it says that Mailboat has a defect, and none is known that would make it",
    "MailboatPartitionWaits": "the embedded Kafka has no command that leaves a partition without a leader; KafkaOutageTests does it",
    "MailboatPartitionAdded": "the embedded Kafka adds no partitions; AddedPartitionTests and a real Kafka show what a worker does",
    "MailboatKafkaTokenFails": "the embedded Kafka knows no login by tokens; the tests of KafkaLogin let sources fail, and promtool tests its expression",
    "MailboatKafkaRefuses": "the embedded Kafka refuses so many requests, and not for so long; promtool tests its expression",
}

# Which alerts are to fire, what makes them, and how long all of it takes, as measured with five houses on two processors. `fault` makes the fault, yields
# while it lasts, and undoes it.
Drill = collections.namedtuple("Drill", "alerts fault seconds")
DRILLS = []


def drill(*alerts, seconds):
    def note(fault):
        DRILLS.append(Drill(alerts, fault, seconds))
        return fault
    return note


@drill("MailboatNoWorkerReady", "MailboatWorkerDown", seconds=5)
def stopped(house):
    house.running["worker"].send_signal(signal.SIGSTOP)
    yield
    house.running["worker"].send_signal(signal.SIGCONT)


@drill("MailboatCredentialsRefused", "MailboatWorkerNotReady", "MailboatPartitionsNotServed", seconds=25)
def credentials(house):
    house.fault(kind="answer", status=403, reason="InvalidProviderToken")
    yield
    house.no_faults()


@drill("MailboatAcceptanceBurnsFast", "MailboatAcceptanceBurnsSlowly", seconds=20)
def refusals(house):
    house.fault(kind="answer", status=429, reason="TooManyRequests", rate=0.3)
    yield
    house.no_faults()


@drill("MailboatFreshnessBurnsFast", "MailboatFreshnessBurnsSlowly", seconds=35)
def latency(house):
    house.fault(kind="latency", millis=9_000)
    yield
    house.no_faults()


def join_members(house, count=300):
    house.publish(f'{"ab" * 30}{n:04x}|{{"event": "register", "audience": "drill"}}' for n in range(count))
    house.wait_for("the members", lambda: house.value("mailboat_members") >= count)


@drill("MailboatBreakerOpen", "MailboatWorkerDegraded", "MailboatFanoutBehind", seconds=10)
def server_errors(house):
    # So many that those of each shard are more than may wait each for its own attempt.
    join_members(house, 3_000)
    house.fault(kind="answer", status=503, reason="ServiceUnavailable")
    house.publish(['drill|{"event": "update", "to": {"audience": "drill"}, "content-state": {"n": 1}}'])
    yield
    house.no_faults()


@drill("MailboatReloadFailed", seconds=5)
def bad_settings(house):
    settings = house.scratch / "worker.yaml"
    before = settings.read_text()
    settings.write_text(before + "budget.per-hour: many\n")
    house.running["worker"].send_signal(signal.SIGHUP)
    yield
    settings.write_text(before)
    house.running["worker"].send_signal(signal.SIGHUP)


@drill("MailboatUnreachable", seconds=5)
def unreachable(house):
    house.fault(kind="refuse", on=True)
    house.fault(kind="now", action="cut")
    yield
    house.fault(kind="refuse", on=False)


@drill("MailboatPausedLong", seconds=10)
def pause(house):
    def audience(verb):
        subprocess.run(
            [house.mailboat, "audience", verb, "drill", "--app", APP, "--config", house.scratch / "worker.yaml"],
            check=True, stdout=subprocess.DEVNULL, cwd=house.scratch)
    join_members(house)
    audience("pause")
    house.publish(['drill|{"event": "update", "to": {"audience": "drill"}, "content-state": {"n": 2}}'])
    yield
    audience("resume")


@drill("MailboatDeadLetters", seconds=10)
def dead_letters(house):
    house.publish(f'bad-{n}|{{"event": "updat"}}' for n in range(400))
    yield


@drill("MailboatRecordsGivenUp", seconds=15)
def refused_outcomes(house):
    house.ask("broker", "/errors?api=Produce&code=10&count=30&broker=2", "POST", {})
    yield


@drill("MailboatExpired", seconds=10)
def late_events(house):
    house.publish(f'late-{n}|{{"event": "update", "content-state": {{}}, "expires": 1000000000}}' for n in range(2_000))
    yield


@drill("MailboatUnregistered", seconds=15)
def nobody_registered(house):
    house.publish(f'nobody-{n}|{{"event": "update", "content-state": {{}}}}' for n in range(800))
    yield


@drill("MailboatRejected", seconds=10)
def unknown_channels(house):
    channels = (base64.b64encode(n.to_bytes(16, "big")).decode() for n in range(400))
    house.publish(f'{channel}|{{"event": "update", "to": {{"channel": "{channel}"}}, "content-state": {{}}}}' for channel in channels)
    yield


@drill("MailboatTokensDie", "MailboatFleetDies", seconds=10)
def dead_tokens(house):
    house.fault(kind="answer", status=410, reason="Unregistered")
    over = threading.Event()
    def register():
        # A dead token gets nothing more: registered again, it is called dead again.
        while not over.wait(1):
            house.register()
    app = threading.Thread(target=register, daemon=True)
    app.start()
    yield
    over.set()
    app.join()
    house.no_faults()
    house.register()


@drill("MailboatBacklogGrows", seconds=45)
def backlog(house):
    def publish():
        # They wait for a token, and no more than `limits.pending` may. Lag is looked at every five seconds.
        for piece in range(12):
            house.publish(f'nobody-{piece}-{n}|{{"event": "update", "content-state": {{}}}}' for n in range(2_500))
            time.sleep(2)
    # Beside the watching: the backlog is over soon after the last of it was published.
    publisher = threading.Thread(target=publish, daemon=True)
    publisher.start()
    yield
    publisher.join()


@drill("MailboatTokensKept", seconds=10)
def bad_tokens(house):
    house.fault(kind="answer", status=400, reason="BadDeviceToken", rate=0.8)
    yield
    house.no_faults()
    house.register()


@drill("MailboatTopicRefused", seconds=60)
def refused_topic(house):
    house.fault(kind="answer", status=400, reason="TopicDisallowed")
    yield
    house.no_faults()


@drill("MailboatFilesRunOut", seconds=5)
def few_files(house):
    worker = house.running["worker"].pid
    limit = lambda count: subprocess.run(["prlimit", "--pid", str(worker), f"--nofile={count}:"], check=True)
    opened = len(os.listdir(f"/proc/{worker}/fd"))
    limit(opened + opened // 10 + 1)
    yield
    limit(1_024)


@drill("MailboatClockWrong", seconds=10)
def wrong_clock(house):
    house.start("other", "faketime", "-f", "+50s", house.mailboat, "run", "--config", "other.yaml")
    house.wait_for_port("other", "other")
    house.watch("admin", "other")
    yield
    house.watch("admin")
    house.stop("other")


@drill("MailboatStateForeign", seconds=15)
def foreign_records(house):
    # What an activity's record in `state` is, deleted by somebody else. The owner writes it again.
    for partition in range(4):
        subprocess.run(
            ["kcat", "-P", "-b", f"127.0.0.1:{house.ports['kafka']}", "-t", "worker.state", "-p", str(partition), "-K", "|", "-Z"],
            input=f"a/{APP}/drill-1|\n", text=True, check=True)
    yield


@drill("MailboatRestartsOften", seconds=65)
def restarts(house):
    for _ in range(5):
        house.stop("worker")
        house.start_worker()
        # Long enough to be scraped.
        time.sleep(2.5)
    yield


@drill("MailboatChannelQuota", seconds=25)
def many_channels(house):
    # As the app's team has made them, whom no worker knows. The keeper counts them when it begins.
    control = http.client.HTTPConnection("127.0.0.1", house.ports["control"], timeout=10)
    for _ in range(8_001):
        control.request("POST", "/channels", json.dumps({"app": APP}))
        answer = control.getresponse()
        if answer.status >= 300:
            raise DrillFailure(f"the simulated APNs makes no channel: {answer.status} {answer.read().decode()}")
        answer.read()
    control.close()
    house.start("other", house.mailboat, "run", "--config", "keeper.yaml")
    house.wait_for_port("other", "other")
    house.watch("admin", "other")
    yield
    # The capability goes, and all channels with it. A keeper counts them again before it makes one.
    house.ask("control", f"/apps/{APP}", "POST", {"broadcasts": False})
    house.ask("control", f"/apps/{APP}", "POST", {"broadcasts": True})
    house.publish(['drill|{"event": "open", "to": {"audience": "drill"}}'], topic="other.events")


@drill("MailboatPartitionHalted", seconds=10)
def newer_release(house):
    # What a release to come might say to the others. The last drill of its house: its partition stands still until somebody decides.
    subprocess.run(
        ["kcat", "-P", "-b", f"127.0.0.1:{house.ports['kafka']}", "-t", "worker.routed", "-p", "0", "-K", "|", "-H", "mailboat-kind=drill"],
        input="drill|what nobody understands\n", text=True, check=True)
    yield
    # Offsets moved past it while workers are stopped, as the runbook says. An embedded Kafka takes no offsets for a group that has ever had members, so here
    # they are those of a new group, which goes on at the end of the log.
    house.stop("worker")
    settings = (house.scratch / "worker.yaml").read_text()
    (house.scratch / "worker.yaml").write_text(settings.replace("kafka.group: worker", "kafka.group: worker-afresh"))
    subprocess.run(
        [house.mailboat, "offsets", "reset", "--config", "worker.yaml", "--to", "latest", "--all", "--execute"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=house.scratch)
    house.start_worker()
    # A worker that has no partitions yet has none that is halted, either.
    house.wait_for("a worker that is ready with its offsets moved", lambda: house.answers("admin", "/readyz"))


def shares(drills, count):
    """What each house drills, so that all take about as long. In the order in which they stand above: some leave things behind."""
    houses = [[] for _ in range(min(count, len(drills)))]
    for one in sorted(drills, key=lambda one: -one.seconds):
        min(houses, key=lambda house: sum(other.seconds for other in house)).append(one)
    return [[one for one in drills if one in house] for house in houses]


def alert_drill(house, one, seconds):
    """Makes one fault. - Returns what went wrong; `None`: nothing."""
    names = ", ".join(one.alerts)
    if house.wait_until(one.alerts, False, seconds) is None:
        return f"{names}: fires before anything is wrong"
    begun = time.monotonic()
    fault = one.fault(house)
    next(fault)
    after = house.wait_until(one.alerts, True, seconds)
    missing = set() if after is not None else set(one.alerts) - house.firing()
    made = time.monotonic()
    next(fault, None)
    cleared = house.wait_until(one.alerts, False, seconds)
    if after is None:
        return f"{', '.join(sorted(missing))}: does not fire within {seconds} s"
    if cleared is None:
        return f"{', '.join(sorted(set(one.alerts) & house.firing()))}: does not clear within {seconds} s"
    print(f"{names}: fires {made - begun:.0f} s after the fault was begun, clears {time.monotonic() - made:.0f} s after it was undone", flush=True)
    return None


def drill_in(house, drills, seconds, failures):
    """All that one house drills. What goes wrong is added to `failures`."""
    def fail(text):
        failures.append(text)
        print(f"alert-drill: {text}", file=sys.stderr, flush=True)
    names = [name for one in drills for name in one.alerts]
    try:
        house.open()
        for one in drills:
            if failure := alert_drill(house, one, seconds):
                fail(failure)
            names = names[len(one.alerts):]
    except (DrillFailure, OSError, subprocess.SubprocessError) as failure:
        fail(f"{', '.join(names)}: not drilled to the end: {failure}")
    finally:
        house.close()


def main():
    parser = argparse.ArgumentParser(description="Make faults; each alert must fire and clear.")
    parser.add_argument("--mailboat", help="the program (default: the release build)")
    parser.add_argument("--only", action="append", metavar="ALERT", help="the drill of this alert alone; may be given several times")
    parser.add_argument("--broken", metavar="ALERT", help="the expression of this alert never becomes true: its drill has to fail, and nothing else")
    parser.add_argument("--wait", type=int, default=WAIT_SECONDS, metavar="SECONDS", help="so long an alert may take to fire, or to clear (default: %(default)s)")
    parser.add_argument("--houses", type=int, default=HOUSE_COUNT, metavar="COUNT", help="so many stand side by side (default: %(default)s)")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY", help="where logs, rules and Prometheus' data stay (default: nowhere)")
    asked = parser.parse_args()
    for tool in ("prometheus", "kcat", "faketime", "prlimit"):
        if not shutil.which(tool):
            print(f"alert-drill: {tool} is not installed", file=sys.stderr)
            return 2
    mailboat = asked.mailboat or subprocess.check_output(
        ["swift", "build", "-c", "release", "--show-bin-path"], cwd=PROJECT, text=True).strip() + "/mailboat"
    rules = RULES.read_text()
    alerts = set(re.findall(r"- alert: (\w+)", rules))
    drilled = {name for one in DRILLS for name in one.alerts}
    failures = [f"{name}: has no drill, and no reason stands in NOT_DRILLED" for name in sorted(alerts - drilled - set(NOT_DRILLED))]
    failures += [f"{name}: is no alert" for name in sorted((drilled | set(NOT_DRILLED) | set(asked.only or [])) - alerts)]
    drills = [one for one in DRILLS if not asked.only or set(asked.only) & set(one.alerts)]
    rules = drill_rules(rules, asked.broken)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        parts = shares(drills, asked.houses)
        ports = free_ports(len(PORTS) * len(parts))
        houses, threads = [], []
        for number, part in enumerate(parts):
            place = (asked.keep or pathlib.Path(scratch)) / f"house-{number + 1}"
            place.mkdir(parents=True)
            house = House(
                str(pathlib.Path(mailboat).resolve()), place.resolve(), ports[number * len(PORTS):(number + 1) * len(PORTS)], rules)
            houses.append(house)
            threads.append(threading.Thread(target=drill_in, args=(house, part, asked.wait, failures)))
        # Whoever ends this leaves nothing behind, either.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            for house in houses:
                house.close()
    for failure in failures:
        print(f"alert-drill: {failure}", file=sys.stderr)
    count = sum(len(one.alerts) for one in drills)
    verdict = f"{len(failures)} failures (above)" if failures else "each fired and cleared"
    print(f"alert-drill: {count} alert{'s' if count != 1 else ''} in {time.monotonic() - begun:.0f} s: {verdict}; {len(NOT_DRILLED)} have no drill: {', '.join(sorted(NOT_DRILLED))}")
    if asked.broken:
        return 0 if failures == [f"{asked.broken}: does not fire within {asked.wait} s"] else 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
