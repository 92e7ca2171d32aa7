#!/usr/bin/env python3
"""Checks that the JSON of `make bench` is complete: every group of rows is there, or those named behind the file, and every row says everything.
Whether targets hold is for the reader: a shared machine is no judge of speed."""
import json
import math
import sys

KEYS = {"name", "value", "unit", "baseline", "ratio", "atLeast", "aim", "holds"}
# One row of each kind that has to be there, by the name that `make bench ROWS=` has for its group.
ROWS = {
    "transport": [
        "transport, 1 connection: CPU per push", "transport, 2 connections: CPU per push", "transport, 8 connections: CPU per push",
        "transport, 8 x 1,000 in flight: peak memory", "transport: allocations per push, Swift and wrappers",
    ],
    "worker": [
        "worker, uncoalesced: CPU per push", "worker, uncoalesced: peak memory", "worker, uncoalesced: allocations per push, Swift and wrappers",
    ],
    "paced": ["paced, 1,000 a second: CPU per push", "paced, 10,000 a second: CPU per push", "paced, 50,000 a second: CPU per push"],
    "ingest": ["ingest: events per second of one core"],
    "latency": ["latency at 50 % load, taken -> accepted, p99", "latency at 50 % load, intended send -> accepted, p99"],
    "memory": [
        "memory per activity, UUID ids and 80-byte tokens: idle", "memory per activity, UUID ids and 80-byte tokens: after 3 high-priority pushes",
    ],
    "instructions": ["instructions per push, loop", "instructions per push, transport"],
    "restore": ["restore, 200,000 activities: start until ready"],
    "fanout": ["fan-out, 100,000 members: CPU per member push, beside the transport's"],
    "freshness": ["freshness, an event a second to 100,000 members: age at acceptance, worst, beside a pass and a second"],
    "members-memory": ["memory per member beyond its token of 80 bytes"],
    "members-dead": ["first event to 50,000 members, 1 % of them dead: time to the last, beside none dead"],
    "brown-out": ["brown-out of 8 s in mid-pass, 50,000 members: growth of memory"],
}


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    faults = []
    if set(results) != {"machine", "rows"} or not results["machine"].get("cores"):
        faults.append("expected the keys machine and rows")
    for row in results["rows"]:
        if set(row) != KEYS:
            faults.append(f"{row.get('name')}: has the keys {sorted(row)}")
        elif not math.isfinite(row["value"]) or (row["holds"] is None) != (row["atLeast"] is None):
            faults.append(f"{row['name']}: {row}")
    names = {row["name"] for row in results["rows"]}
    groups = sys.argv[2:] or ROWS
    faults += [f"{group} is no group of rows: expected some of {', '.join(ROWS)}" for group in groups if group not in ROWS]
    faults += [f"missing: {name}" for group in groups for name in ROWS.get(group, []) if name not in names]
    if len(names) != len(results["rows"]):
        faults.append("a name is there twice")
    for fault in faults:
        print(f"check-benchmark: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
