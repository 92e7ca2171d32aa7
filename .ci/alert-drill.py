#!/usr/bin/env python3
"""Makes the faults that the alerts of deploy/prometheus are about, and watches a real Prometheus: each alert has to fire, and to be quiet again when the
fault is gone. An embedded Kafka, a simulated APNs and a worker are started for it, and stopped at the end; nothing is left.

Windows and waits of the rules are shortened, so that a drill takes seconds; what the rules ask stays as it is. What is not drilled is listed below
with the reason: a test of promtool covers it alone.

  .ci/alert-drill.py [--mailboat PROGRAM] [--only ALERT]

Needs prometheus, kcat, faketime and prlimit.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

PROJECT = pathlib.Path(__file__).resolve().parents[1]
RULES = PROJECT / "deploy/prometheus/mailboat-rules.yaml"
# So long an alert may take to fire, or to clear. An app whose topic is refused is probed again after half a minute to a minute.
WAIT_SECONDS = 100
# A window of the rules, and its own here: enough scrapes for a rate, and the order of them kept.
WINDOWS = {"5m": "6s", "10m": "14s", "15m": "8s", "30m": "60s", "1h": "10s", "6h": "14s", "3d": "16s"}
APP = "com.example.drill"
ACTIVITIES = 150
NOT_DRILLED = {
    "MailboatUnaccounted": "it says that Mailboat has a defect, and none is known that would make it",
}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class House:
    """The processes, and what is asked of them."""

    def __init__(self, mailboat, scratch):
        self.mailboat, self.scratch = mailboat, scratch
        self.ports = {name: free_port() for name in ("kafka", "apns", "control", "manage", "admin", "other", "prometheus")}
        self.running = {}
        self.stopping = threading.Event()

    def start(self, name, *words):
        log = open(self.scratch / f"{name}.log", "ab")
        self.running[name] = subprocess.Popen(
            [*map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.scratch, start_new_session=True)

    def stop(self, name):
        process = self.running.pop(name)
        # The whole group: `faketime` has the worker as its child.
        for one in (signal.SIGCONT, signal.SIGTERM):
            # One that has ended by itself is stopped.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, one)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def wait_for_port(self, name, process):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.running[process].poll() is not None:
                raise SystemExit(f"alert-drill: {process} has ended: {(self.scratch / (process + '.log')).read_text()[-1500:]}")
            try:
                socket.create_connection(("127.0.0.1", self.ports[name]), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"alert-drill: nothing listens on the port of {name}")

    def ask(self, port, path, method="GET", body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[port]}{path}", method=method, data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()

    def answers(self, port, path):
        try:
            self.ask(port, path)
            return True
        except OSError:
            return False

    def fault(self, **fault):
        self.ask("control", "/faults", "POST", fault)

    def no_faults(self):
        self.ask("control", "/faults", "DELETE")

    def publish(self, lines, topic="worker.events"):
        subprocess.run(
            ["kcat", "-P", "-b", f"127.0.0.1:{self.ports['kafka']}", "-t", topic, "-K", "|"],
            input="\n".join(lines) + "\n", text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def open(self):
        self.start("kafka", self.mailboat, "embedded-kafka", "--port", self.ports["kafka"], "--control", 0, "--partitions", 4,
            *(f"--topic={name}.{topic}:4" for name in ("worker", "other") for topic in ("events", "routed", "state", "outcomes", "letters")))
        self.start(
            "apns", self.mailboat, "apns-simulator", "--port", self.ports["apns"], "--control", self.ports["control"],
            "--manage-port", self.ports["manage"], "--generate-credentials", "apns")
        self.wait_for_port("kafka", "kafka")
        self.wait_for_port("control", "apns")
        # The second stands beside the first, in a group and with topics of its own: a worker that only has to be scraped. The third is the same one as a keeper of channels.
        for file, name, port, app in (
                ("worker", "worker", "admin", "{}"), ("other", "other", "other", "{}"), ("keeper", "other", "other", "{audience.channel: auto}")):
            (self.scratch / f"{file}.yaml").write_text(f"""
kafka.bootstrap: 127.0.0.1:{self.ports['kafka']}
kafka.group: {name}
kafka.consumer: {{fetch.wait.max.ms: 10, session.timeout.ms: 6000}}
apns:
  team-id: SIMULATEAM
  key-id: SIMULATOR1
  key-file: apns/AuthKey_SIMULATOR1.p8
  production: {{host: localhost, port: {self.ports['apns']}, ca-file: apns/ca.pem, manage-host: localhost, manage-port: {self.ports['manage']}}}
apps: {{{APP}: {app}}}
shards: 1
registration-wait: 3s
limits.pending: 1000
admin.port: {self.ports[port]}
topics: {{events: {name}.events, routed: {name}.routed, state: {name}.state, outcomes: {name}.outcomes, dead-letters: {name}.letters}}
""")
        self.start_worker()
        text = RULES.read_text()
        text = re.sub(r"\[(\d+[mhd])\]", lambda window: f"[{WINDOWS[window[1]]}]", text)
        text = re.sub(r"^( +)for: .*$", r"\1for: 0s", text, flags=re.MULTILINE).replace("interval: 30s", "interval: 1s")
        (self.scratch / "rules.yaml").write_text(text)
        (self.scratch / "prometheus.yaml").write_text(f"""
global: {{scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: mailboat
    file_sd_configs: [{{files: [targets.json], refresh_interval: 1s}}]
""")
        self.watch("admin")
        self.start(
            "prometheus", "prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}")
        self.wait_for_port("prometheus", "prometheus")
        while not self.answers("prometheus", "/-/ready"):
            time.sleep(0.2)
        self.publish(f'drill-{n}|{{"event": "register", "token": "{n:064x}"}}' for n in range(ACTIVITIES))
        threading.Thread(target=self.traffic, daemon=True).start()
        # The group's first assignment takes some seconds.
        deadline = time.monotonic() + 60
        while not re.search(r'answered_total\{result="accepted"\} [1-9]', self.ask("admin", "/metrics")):
            if time.monotonic() > deadline:
                raise SystemExit("alert-drill: the worker pushes nothing")
            time.sleep(0.5)
        # Prometheus has to have seen the worker ready, and its counters, before anything goes wrong: what a counter says at its first scrape is no increase.
        # It looks for targets each five seconds.
        while self.value('min(count_over_time(mailboat_state_foreign_records_total[1m]))') < 2 or self.value("min(mailboat_ready)") != 1:
            if time.monotonic() > deadline:
                raise SystemExit("alert-drill: Prometheus does not see the worker ready")
            time.sleep(0.5)

    def value(self, query):
        """What Prometheus answers to a question with one number; 0 if it knows none."""
        result = json.loads(self.ask("prometheus", f"/api/v1/query?{urllib.parse.urlencode({'query': query})}"))["data"]["result"]
        return float(result[0]["value"][1]) if result else 0

    def watch(self, *ports):
        """Whom Prometheus scrapes from here on."""
        fresh = self.scratch / "targets.fresh"
        fresh.write_text(json.dumps([{"targets": [f"127.0.0.1:{self.ports[port]}" for port in ports]}]))
        fresh.rename(self.scratch / "targets.json")

    def start_worker(self):
        self.start("worker", self.mailboat, "run", "--config", "worker.yaml")
        self.wait_for_port("admin", "worker")

    def traffic(self):
        """An update of each activity a second, so that there is always something to accept, and to be late with."""
        count = 0
        while not self.stopping.wait(0.9):
            count += 1
            self.publish(
                f'drill-{n}|{{"event": "update", "content-state": {{"n": {count}}}, "priority": 10}}' for n in range(ACTIVITIES))

    def close(self):
        self.stopping.set()
        for name in list(self.running):
            self.stop(name)

    def firing(self):
        alerts = json.loads(self.ask("prometheus", "/api/v1/alerts"))["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def wait_until(self, names, fires):
        begun = time.monotonic()
        while time.monotonic() - begun < WAIT_SECONDS:
            firing = self.firing()
            if fires and set(names) <= firing or not fires and not set(names) & firing:
                return time.monotonic() - begun
            time.sleep(0.5)
        return None


def drills(house):
    """What is to fire, how it is made, how it is undone."""
    yield ["MailboatNoWorkerReady", "MailboatWorkerDown"], lambda: house.running["worker"].send_signal(signal.SIGSTOP), \
        lambda: house.running["worker"].send_signal(signal.SIGCONT)
    yield ["MailboatCredentialsRefused", "MailboatWorkerNotReady"], \
        lambda: house.fault(kind="answer", status=403, reason="InvalidProviderToken"), house.no_faults
    yield ["MailboatAcceptanceBurnsFast", "MailboatAcceptanceBurnsSlowly"], \
        lambda: house.fault(kind="answer", status=429, reason="TooManyRequests", rate=0.3), house.no_faults
    yield ["MailboatFreshnessBurnsFast", "MailboatFreshnessBurnsSlowly"], \
        lambda: house.fault(kind="latency", millis=9_000), house.no_faults

    def members():
        house.publish(f'{"ab" * 30}{n:04x}|{{"event": "register", "audience": "drill"}}' for n in range(300))
        time.sleep(2)
        house.fault(kind="answer", status=503, reason="ServiceUnavailable")
        house.publish(['drill|{"event": "update", "to": {"audience": "drill"}, "content-state": {"n": 1}}'])
    yield ["MailboatBreakerOpen", "MailboatWorkerDegraded", "MailboatFanoutBehind"], members, house.no_faults

    def reload(change):
        settings = house.scratch / "worker.yaml"
        settings.write_text(change(settings.read_text()))
        house.running["worker"].send_signal(signal.SIGHUP)
    yield ["MailboatReloadFailed"], lambda: reload(lambda text: text + "budget.per-hour: many\n"), \
        lambda: reload(lambda text: text.removesuffix("budget.per-hour: many\n"))

    def unreachable():
        house.fault(kind="refuse", on=True)
        house.fault(kind="now", action="cut")
    yield ["MailboatUnreachable"], unreachable, lambda: house.fault(kind="refuse", on=False)

    audience = lambda verb: subprocess.run(
        [house.mailboat, "audience", verb, "drill", "--app", APP, "--config", house.scratch / "worker.yaml"],
        check=True, stdout=subprocess.DEVNULL, cwd=house.scratch)

    def pause():
        audience("pause")
        house.publish(['drill|{"event": "update", "to": {"audience": "drill"}, "content-state": {"n": 2}}'])
    yield ["MailboatPausedLong"], pause, lambda: audience("resume")
    yield ["MailboatDeadLetters"], lambda: house.publish(f'bad-{n}|{{"event": "updat"}}' for n in range(400)), lambda: None

    def backlog():
        # They wait for a token, and no more than `limits.pending` may. Lag is looked at every five seconds.
        for piece in range(12):
            house.publish(f'nobody-{piece}-{n}|{{"event": "update", "content-state": {{}}}}' for n in range(2_500))
            time.sleep(2)
    # Beside the watching: the backlog is over soon after the last of it was published.
    yield ["MailboatBacklogGrows"], lambda: threading.Thread(target=backlog, daemon=True).start(), lambda: None
    yield ["MailboatTokensKept"], lambda: house.fault(kind="answer", status=400, reason="BadDeviceToken", rate=0.8), house.no_faults
    yield ["MailboatTopicRefused"], lambda: house.fault(kind="answer", status=400, reason="TopicDisallowed"), house.no_faults

    limit = lambda count: subprocess.run(["prlimit", "--pid", str(house.running["worker"].pid), f"--nofile={count}:"], check=True)

    def few_files():
        opened = len(os.listdir(f"/proc/{house.running['worker'].pid}/fd"))
        limit(opened + opened // 10 + 1)
    yield ["MailboatFilesRunOut"], few_files, lambda: limit(1_024)

    def wrong_clock():
        house.start("other", "faketime", "-f", "+50s", house.mailboat, "run", "--config", "other.yaml")
        house.wait_for_port("other", "other")
        house.watch("admin", "other")

    def right_clock():
        house.watch("admin")
        house.stop("other")
    yield ["MailboatClockWrong"], wrong_clock, right_clock

    def foreign():
        # What an activity's record in `state` is, deleted by somebody else. The owner writes it again.
        for partition in range(4):
            subprocess.run(
                ["kcat", "-P", "-b", f"127.0.0.1:{house.ports['kafka']}", "-t", "worker.state", "-p", str(partition), "-K", "|", "-Z"],
                input=f"a/{APP}/drill-1|\n", text=True, check=True)
    yield ["MailboatStateForeign"], foreign, lambda: None

    def restarts():
        for _ in range(5):
            house.stop("worker")
            house.start_worker()
            # Long enough to be scraped.
            time.sleep(2.5)
    yield ["MailboatRestartsOften"], restarts, lambda: None

    def many_channels():
        # As the app's team has made them, whom no worker knows. The keeper counts them when it begins.
        control = http.client.HTTPConnection("127.0.0.1", house.ports["control"], timeout=10)
        for _ in range(8_001):
            control.request("POST", "/channels", json.dumps({"app": APP}))
            answer = control.getresponse()
            if answer.status >= 300:
                raise SystemExit(f"alert-drill: the simulated APNs makes no channel: {answer.status} {answer.read().decode()}")
            answer.read()
        control.close()
        house.start("other", house.mailboat, "run", "--config", "keeper.yaml")
        house.wait_for_port("other", "other")
        house.watch("admin", "other")

    def few_channels():
        # The capability goes, and all channels with it. A keeper counts them again before it makes one.
        house.ask("control", f"/apps/{APP}", "POST", {"broadcasts": False})
        house.ask("control", f"/apps/{APP}", "POST", {"broadcasts": True})
        house.publish(['drill|{"event": "open", "to": {"audience": "drill"}}'], topic="other.events")
    yield ["MailboatChannelQuota"], many_channels, few_channels

    def newer_release():
        # What a release to come might say to the others. The last drill: its partition stands still until somebody decides.
        subprocess.run(
            ["kcat", "-P", "-b", f"127.0.0.1:{house.ports['kafka']}", "-t", "worker.routed", "-p", "0", "-K", "|", "-H", "mailboat-kind=drill"],
            input="drill|what nobody understands\n", text=True, check=True)

    def skip():
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
        deadline = time.monotonic() + WAIT_SECONDS
        while not house.answers("admin", "/readyz"):
            if time.monotonic() > deadline:
                raise SystemExit(f"alert-drill: the worker is not ready with its offsets moved: {(house.scratch / 'worker.log').read_text()[-1500:]}")
            time.sleep(0.5)
    yield ["MailboatPartitionHalted"], newer_release, skip


def main():
    parser = argparse.ArgumentParser(description="Make faults; each alert must fire and clear.")
    parser.add_argument("--mailboat", help="the program (default: the release build)")
    parser.add_argument("--only", help="the drill of this alert alone")
    asked = parser.parse_args()
    for tool in ("prometheus", "kcat", "faketime", "prlimit"):
        if not shutil.which(tool):
            print(f"alert-drill: {tool} is not installed", file=sys.stderr)
            return 2
    mailboat = asked.mailboat or subprocess.check_output(
        ["swift", "build", "-c", "release", "--show-bin-path"], cwd=PROJECT, text=True).strip() + "/mailboat"
    failures, drilled = [], set()
    with tempfile.TemporaryDirectory() as scratch:
        house = House(str(pathlib.Path(mailboat).resolve()), pathlib.Path(scratch))
        try:
            house.open()
            for names, make, undo in drills(house):
                drilled |= set(names)
                if asked.only and asked.only not in names:
                    continue
                if house.wait_until(names, False) is None:
                    failures.append(f"{', '.join(names)}: fires before anything is wrong")
                    continue
                make()
                after = house.wait_until(names, True)
                missing = set(names) - house.firing() if after is None else set()
                undo()
                cleared = house.wait_until(names, False)
                if after is None:
                    failures.append(f"{', '.join(sorted(missing))}: does not fire within {WAIT_SECONDS} s")
                elif cleared is None:
                    failures.append(f"{', '.join(sorted(set(names) & house.firing()))}: does not clear within {WAIT_SECONDS} s")
                else:
                    print(f"{', '.join(names)}: fires after {after:.0f} s, clears after {cleared:.0f} s", flush=True)
                    continue
                print(f"alert-drill: {failures[-1]}", file=sys.stderr, flush=True)
        finally:
            house.close()
    alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    for name in sorted(alerts - drilled - set(NOT_DRILLED)):
        failures.append(f"{name}: has no drill, and no reason stands in NOT_DRILLED")
    for name in sorted((drilled | set(NOT_DRILLED)) - alerts):
        failures.append(f"{name}: is no alert")
    for failure in failures:
        print(f"alert-drill: {failure}", file=sys.stderr)
    print(f"alert-drill: {len(drilled)} alerts drilled, {len(NOT_DRILLED)} not: {', '.join(sorted(NOT_DRILLED))}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
