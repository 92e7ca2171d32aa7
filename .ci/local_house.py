"""A Kafka, a simulated APNs and a worker, each a process of its own on a free port: what a check of this directory tries things on."""

import contextlib
import json
import signal
import socket
import subprocess
import time
import urllib.request

from free_ports import free_ports

WAIT_SECONDS = 90


class LocalHouse:
    """`check` is the name that begins what it says, `scratch` the directory of logs and keys."""

    def __init__(self, check, mailboat, scratch):
        self.check, self.mailboat, self.scratch = check, mailboat, scratch
        names = ("kafka", "brokers", "apns", "control", "manage", "admin")
        self.ports = dict(zip(names, free_ports(len(names))))
        self.running = []

    def start(self, name, *words):
        log = open(self.scratch / f"{name}.log", "ab")
        self.running.append(subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.scratch))

    def open(self, settings):
        """Starts all three; `settings` are more lines of the worker's configuration."""
        ports = self.ports
        self.start("kafka", self.mailboat, "embedded-kafka", "--port", ports["kafka"], "--control", ports["brokers"])
        self.start(
            "apns", self.mailboat, "apns-simulator", "--port", ports["apns"], "--control", ports["control"], "--manage-port", ports["manage"],
            "--generate-credentials", "apns")
        (self.scratch / "mailboat.yaml").write_text(f"""
kafka.bootstrap: 127.0.0.1:{ports['kafka']}
kafka.consumer: {{fetch.wait.max.ms: 10}}
apns:
  team-id: SIMULATEAM
  key-id: SIMULATOR1
  key-file: apns/AuthKey_SIMULATOR1.p8
  production: {{host: localhost, port: {ports['apns']}, ca-file: apns/ca.pem, manage-host: localhost, manage-port: {ports['manage']}}}
admin.port: {ports['admin']}
{settings}""")
        self.wait("the simulated APNs", lambda: self.ask("/stats"))
        self.wait("Kafka", lambda: socket.create_connection(("127.0.0.1", ports["kafka"]), timeout=1).close() or True)
        self.start("worker", self.mailboat, "run", "--config", "mailboat.yaml")
        self.wait("a worker that is ready", lambda: self.ask("/readyz", port="admin"))

    def close(self):
        # The worker, started last, stops first: it wants to take its leave of Kafka.
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def wait(self, what, question):
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                if answer := question():
                    return answer
            time.sleep(0.2)
        raise SystemExit(f"{self.check}: {what} did not come within {WAIT_SECONDS} s")

    def ask(self, path, method="GET", body=None, port="control"):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.ports[port]}{path}", method=method, data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read().decode()
