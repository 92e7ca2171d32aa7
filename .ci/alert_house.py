"""What a drill of an alert happens in: an embedded Kafka, a simulated APNs, a worker and a Prometheus that goes by our rules, each a process of its own."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

# A window of the rules, and its own here: enough scrapes for a rate, and the order of them kept.
WINDOWS = {"5m": "6s", "10m": "14s", "15m": "8s", "30m": "60s", "1h": "10s", "6h": "14s", "1d": "15s", "3d": "16s"}
APP = "com.example.drill"
ACTIVITIES = 150
# So long whatever a house waits for besides alerts may take.
START_SECONDS = 90
PORTS = ("kafka", "apns", "control", "manage", "admin", "other", "prometheus", "broker")


class DrillFailure(Exception):
    """The house cannot go on."""


def drill_rules(text, broken=None):
    """Our rules with short windows and without waits; the expression of the alert `broken` never becomes true."""
    for window in sorted(set(re.findall(r"\[(\d+[mhd])\]", text))):
        if window not in WINDOWS:
            raise SystemExit(f"alert-drill: the rules have a window of {window}, and WINDOWS has no short one for it")
        text = text.replace(f"[{window}]", f"[{WINDOWS[window]}]")
    text = re.sub(r"^( +)for: .*$", r"\1for: 0s", text, flags=re.MULTILINE).replace("interval: 30s", "interval: 1s")
    if broken:
        text, count = re.subn(
            rf"(- alert: {broken}\n +expr: \|\n)(.*?)(\n +(?:for|labels):)", r"\1          vector(0) > 1\3", text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"alert-drill: no alert is called {broken}")
    return text


class House:
    """The processes, and what is asked of them."""

    def __init__(self, mailboat, scratch, ports, rules):
        self.mailboat, self.scratch, self.rules = mailboat, scratch, rules
        self.ports = dict(zip(PORTS, ports))
        self.running = {}
        self.stopping = threading.Event()

    # Processes

    def start(self, name, *words):
        with open(self.scratch / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                [*map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.scratch, start_new_session=True)

    def stop(self, name):
        process = self.running.pop(name, None)
        if not process:
            return
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

    def log(self, name):
        """The end of what a process has said."""
        return (self.scratch / f"{name}.log").read_text()[-1500:]

    def wait_for(self, what, question, seconds=START_SECONDS):
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                if question():
                    return
            if time.monotonic() > deadline:
                raise DrillFailure(f"{what} did not come within {seconds} s; the worker's log ends:\n{self.log('worker')}")
            time.sleep(0.2)

    def wait_for_port(self, name, process):
        def is_open():
            if self.running[process].poll() is not None:
                raise DrillFailure(f"{process} has ended: {self.log(process)}")
            socket.create_connection(("127.0.0.1", self.ports[name]), timeout=1).close()
            return True
        self.wait_for(f"somebody who listens on the port of {name}", is_open)

    def start_worker(self):
        self.start("worker", self.mailboat, "run", "--config", "worker.yaml")
        self.wait_for_port("admin", "worker")

    def close(self):
        self.stopping.set()
        for name in list(self.running):
            self.stop(name)

    # What is asked of them

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
            ["kcat", "-P", "-b", f"127.0.0.1:{self.ports['kafka']}", "-t", topic, "-K", "|", "-X", "partitioner=murmur2_random"],
            input="\n".join(lines) + "\n", text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def register(self):
        """Tokens for all activities: those they have, if they have them still."""
        self.publish(f'drill-{n}|{{"event": "register", "token": "{n:064x}"}}' for n in range(ACTIVITIES))

    def traffic(self):
        """An update of each activity a second, so that there is always something to accept, and to be late with."""
        count = 0
        while not self.stopping.wait(0.9):
            count += 1
            # One that Kafka does not take is made up for by the next; without any the drills fail.
            with contextlib.suppress(subprocess.CalledProcessError):
                self.publish(
                    f'drill-{n}|{{"event": "update", "content-state": {{"n": {count}}}, "priority": 10}}' for n in range(ACTIVITIES))

    # Prometheus

    def value(self, query):
        """What Prometheus answers to a question with one number; 0 if it knows none."""
        result = json.loads(self.ask("prometheus", f"/api/v1/query?{urllib.parse.urlencode({'query': query})}"))["data"]["result"]
        return float(result[0]["value"][1]) if result else 0

    def watch(self, *ports):
        """Whom Prometheus scrapes from here on."""
        fresh = self.scratch / "targets.fresh"
        fresh.write_text(json.dumps([{"targets": [f"127.0.0.1:{self.ports[port]}" for port in ports]}]))
        fresh.rename(self.scratch / "targets.json")

    def firing(self):
        alerts = json.loads(self.ask("prometheus", "/api/v1/alerts"))["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def wait_until(self, names, fires, seconds):
        """Until all of them fire, or none. - Returns how long it took; `None`: they do not within `seconds`."""
        begun = time.monotonic()
        while time.monotonic() - begun < seconds:
            firing = self.firing()
            if fires and set(names) <= firing or not fires and not set(names) & firing:
                return time.monotonic() - begun
            time.sleep(0.5)
        return None

    # The beginning

    def open(self):
        self.start("kafka", self.mailboat, "embedded-kafka", "--port", self.ports["kafka"], "--control", self.ports["broker"],
            "--brokers", 2, "--partitions", 4,
            *(f"--topic={name}.{topic}:4" for name in ("worker", "other") for topic in ("events", "routed", "state", "outcomes", "letters")))
        self.start(
            "apns", self.mailboat, "apns-simulator", "--port", self.ports["apns"], "--control", self.ports["control"],
            "--manage-port", self.ports["manage"], "--generate-credentials", "apns")
        self.wait_for_port("kafka", "kafka")
        self.wait_for_port("broker", "kafka")
        self.wait_for_port("control", "apns")
        # One broker leads the outcomes alone, so that what is written to them can be refused and nothing else.
        for name in ("worker", "other"):
            for topic in ("events", "routed", "state", "outcomes", "letters"):
                broker = 2 if topic == "outcomes" else 1
                self.ask("broker", f"/leader?topic={name}.{topic}&broker={broker}", "POST", {})
        self.write_settings()
        self.start_worker()
        (self.scratch / "rules.yaml").write_text(self.rules)
        (self.scratch / "prometheus.yaml").write_text("""
global: {scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: mailboat
    file_sd_configs: [{files: [targets.json], refresh_interval: 1s}]
""")
        self.watch("admin")
        self.start(
            "prometheus", "prometheus", "--config.file=prometheus.yaml", "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}")
        self.wait_for_port("prometheus", "prometheus")
        self.wait_for("a Prometheus that is ready", lambda: self.answers("prometheus", "/-/ready"))
        self.register()
        threading.Thread(target=self.traffic, daemon=True).start()
        # The group's first assignment takes some seconds.
        self.wait_for("a push", lambda: re.search(r'answered_total\{[^}]*result="accepted"\} [1-9]', self.ask("admin", "/metrics")))
        # Prometheus has to have seen the worker ready, and its counters, before anything goes wrong: what a counter says at its first scrape is no
        # increase. It looks for targets each five seconds.
        self.wait_for("a Prometheus that sees the worker ready", lambda: self.is_seen("admin"))

    def is_seen(self, port):
        """Whether Prometheus has looked at a worker twice since it was ready."""
        worker = f'{{instance="127.0.0.1:{self.ports[port]}"}}'
        return self.value(f"min_over_time(mailboat_ready{worker}[2s])") == 1 and self.value(f"count_over_time(mailboat_ready{worker}[4s])") >= 2

    def write_settings(self):
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
