#!/usr/bin/env bash
# A first, simple load run: three processes on this machine, one push for each of N activities, everything acknowledged.
#
#   Benchmarks/run.sh MAILBOAT [ACTIVITIES]
#
# It says how many pushes a second APNs (simulated, checking everything) accepted, and the CPU each process spent per push. Kafka, APNs,
# publisher and worker share the machine's cores, so the rate is that of all of them together; the worker's CPU per push is its own.
set -euo pipefail

mailboat=$1
activities=${2:-50000}
partitions=64
base_port=${BENCH_PORT:-19092}
kafka_port=$base_port apns_port=$((base_port + 1)) control_port=$((base_port + 2)) admin_port=$((base_port + 3))

scratch=$(mktemp -d)
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap finish EXIT

# await WHAT SECONDS COMMAND...: repeats the command until it succeeds.
await() {
    local what=$1 deadline=$((SECONDS + $2))
    shift 2
    until "$@" 2>/dev/null; do
        if [ "$SECONDS" -ge "$deadline" ]; then
            echo "bench: waited in vain for $what; the last lines of the logs:" >&2
            tail -n 5 "$scratch"/*.log >&2
            exit 1
        fi
        sleep 0.05
    done
}

# metric NAME: the sum of a metric of the worker over its labels, as a whole number.
metric() { curl -sf "http://127.0.0.1:$admin_port/metrics" | awk -v name="$1" 'index($1, name) == 1 { sum += $NF } END { printf "%d\n", sum }'; }
at_least() { [ "$(metric "$1")" -ge "$2" ]; }
is_ready() { curl -sf "http://127.0.0.1:$admin_port/readyz" >/dev/null; }
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# cpu PID: microseconds of CPU the process has used so far, user and system (proc(5): utime, stime in ticks).
ticks_per_second=$(getconf CLK_TCK)
cpu() { awk -v hz="$ticks_per_second" '{ sub(/^.*\) /, ""); print int(($12 + $13) * 1000000 / hz) }' "/proc/$1/stat"; }
now() { date +%s%N; }

echo "bench: $activities activities, $partitions partitions, $(nproc) cores, $(uname -m)"

"$mailboat" embedded-kafka --port "$kafka_port" --control $((base_port + 4)) --partitions "$partitions" >"$scratch/kafka.log" 2>&1 &
pids+=($!) kafka=$!
"$mailboat" apns-simulator --port "$apns_port" --control "$control_port" --generate-credentials "$scratch/apns" \
    >"$scratch/apns.log" 2>&1 &
pids+=($!) apns=$!
await "Kafka" 30 listens "$kafka_port"
await "APNs" 30 listens "$apns_port"

cat >"$scratch/mailboat.yaml" <<END
kafka.bootstrap: 127.0.0.1:$kafka_port
kafka.consumer: {fetch.wait.max.ms: 10}
apns:
  team-id: SIMULATEAM
  key-id: SIMULATOR1
  key-file: $scratch/apns/AuthKey_SIMULATOR1.p8
  production: {host: 127.0.0.1, port: $apns_port, ca-file: $scratch/apns/ca.pem}
apps: [com.example.pizza]
admin.port: $admin_port
END
"$mailboat" run --config "$scratch/mailboat.yaml" >"$scratch/worker.log" 2>&1 &
pids+=($!) worker=$!
await "the worker" 60 is_ready

# Registrations first; they are not part of the measurement.
awk -v n="$activities" 'BEGIN { for (i = 0; i < n; i++)
    printf "{\"key\":\"order-%d\",\"value\":{\"event\":\"register\",\"token\":\"%064x\"}}\n", i, i }' >"$scratch/register.ndjson"
awk -v n="$activities" 'BEGIN { for (i = 0; i < n; i++) printf "{\"key\":\"order-%d\",\"value\":{\"event\":\"update\",\"priority\":10," \
    "\"content-state\":{\"driverName\":\"Anne %d\",\"estimatedDeliveryTime\":1659416400}}}\n", i, i }' >"$scratch/update.ndjson"
"$mailboat" publish --bootstrap "127.0.0.1:$kafka_port" --timeout 120 "$scratch/register.ndjson" >/dev/null
await "the registrations" 120 at_least mailboat_events_consumed_total "$activities"

kafka_before=$(cpu "$kafka") apns_before=$(cpu "$apns") worker_before=$(cpu "$worker") before=$(now)
"$mailboat" publish --bootstrap "127.0.0.1:$kafka_port" --timeout 120 "$scratch/update.ndjson" >/dev/null &
publisher=$!
await "the pushes" 300 at_least 'mailboat_pushes_answered_total{result="accepted"}' "$activities"
after=$(now)
wait "$publisher"
kafka_after=$(cpu "$kafka") apns_after=$(cpu "$apns") worker_after=$(cpu "$worker")

awk -v n="$activities" -v ns=$((after - before)) -v k=$((kafka_after - kafka_before)) -v a=$((apns_after - apns_before)) \
    -v w=$((worker_after - worker_before)) 'BEGIN {
    printf "bench: %d pushes accepted in %.2f s: %d per second\n", n, ns / 1e9, n / (ns / 1e9)
    printf "bench: CPU per push: worker %.1f us, simulated APNs %.1f us, embedded Kafka %.1f us\n", w / n, a / n, k / n }'
