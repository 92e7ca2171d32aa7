#!/usr/bin/env python3
"""Saves what Mailboat's workers remember into a file, and puts it back into an empty topic. Recovery.md says when.

The file has the group's commits and every record of 'state', with partition, time, key, value and headers. It holds device tokens: keep it as you
keep those. Workers may run while it is saved; none may run while it is put back.
"""

import argparse
import base64
import gzip
import json
import os
import sys

try:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
except ImportError:
    sys.exit("state-backup.py: Python's confluent-kafka is missing: pip install confluent-kafka")

FORMAT = "mailboat-state-1"
SILENCE_SECONDS = 30


def text(content):
    return None if content is None else base64.b64encode(content).decode()


def content(encoded):
    return None if encoded is None else base64.b64decode(encoded)


def partitions_of(client, topic):
    found = client.list_topics(topic, timeout=SILENCE_SECONDS).topics[topic]
    if found.error or not found.partitions:
        sys.exit(f"state-backup.py: there is no topic {topic}: {found.error}")
    return sorted(found.partitions)


def save(options, properties):
    reader = Consumer({**properties, "group.id": options.group, "enable.auto.commit": False, "enable.partition.eof": True})
    partitions = partitions_of(reader, options.state)
    # Commits first: what happens until 'state' has been read is read twice after a restore, and not never.
    places = reader.committed([TopicPartition(topic, p) for topic in options.input for p in partitions], timeout=SILENCE_SECONDS)
    unfinished, count = options.file + ".part", 0
    with gzip.open(unfinished, "wt", compresslevel=1) as lines:
        commits = [[place.topic, place.partition, place.offset] for place in places]
        print(json.dumps({"format": FORMAT, "state": options.state, "partitions": len(partitions), "commits": commits}), file=lines)
        reader.assign([TopicPartition(options.state, p, 0) for p in partitions])
        open_partitions = set(partitions)
        while open_partitions:
            message = reader.poll(SILENCE_SECONDS)
            if message is None:
                sys.exit(f"state-backup.py: nothing came for {SILENCE_SECONDS} s, and partitions {sorted(open_partitions)} are not read")
            if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
            elif message.error():
                sys.exit(f"state-backup.py: {message.error()}")
            elif message.partition() in open_partitions:
                headers = [[name, text(value)] for name, value in message.headers() or []]
                print(json.dumps([message.partition(), message.timestamp()[1], text(message.key()), text(message.value()), headers]), file=lines)
                count += 1
        print(json.dumps({"records": count}), file=lines)
    reader.close()
    os.replace(unfinished, options.file)
    print(f"{count} records of {len(partitions)} partitions of {options.state} are in {options.file}")


def load(options, properties):
    with gzip.open(options.file, "rt") as lines:
        head, last = json.loads(next(lines)), None
        for last in lines:
            pass
    if head.get("format") != FORMAT or "records" not in (json.loads(last) if last else {}):
        sys.exit(f"state-backup.py: {options.file} is no whole file of this program: its last line has to say how many records there are")
    if partitions_of(Producer(properties), options.state) != list(range(head["partitions"])):
        sys.exit(f"state-backup.py: {options.state} has another number of partitions than the {head['partitions']} that were saved")
    reader = Consumer({**properties, "group.id": options.group})
    for p in range(head["partitions"]):
        low, end = reader.get_watermark_offsets(TopicPartition(options.state, p), timeout=SILENCE_SECONDS)
        if low != end and not options.onto:
            sys.exit(f"state-backup.py: {options.state}[{p}] goes from {low} to {end}, and is expected to be empty; --onto writes behind what is there")
    reader.close()
    failures, count = [], 0
    writer = Producer({**properties, "acks": "all", "enable.idempotence": True, "linger.ms": 20})
    with gzip.open(options.file, "rt") as lines:
        next(lines)
        for line in lines:
            record = json.loads(line)
            if isinstance(record, dict):
                break
            partition, time, key, value, headers = record
            while True:
                try:
                    writer.produce(
                        options.state, content(value), content(key), partition, timestamp=time,
                        headers=[(name, content(value)) for name, value in headers],
                        on_delivery=lambda error, _: failures.append(error) if error else None)
                    break
                except BufferError:
                    writer.poll(0.1)
            writer.poll(0)
            count += 1
    if writer.flush(120) or failures:
        sys.exit(f"state-backup.py: not everything was written: {failures[0] if failures else 'no answer within 120 s'}")
    print(f"# {count} records are in {options.state}. Now accept it, and move the group to where it stood:")
    print("mailboat state accept-empty --config mailboat.yaml --all --execute")
    for topic, partition, offset in head["commits"]:
        move = f"mailboat offsets reset --config mailboat.yaml --topic {topic} --partition {partition} --all --execute --to"
        # Retention may have cut that place off since.
        print(f"{move} {offset} || {move} earliest" if offset >= 0 else f"{move} earliest")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["save", "load"])
    parser.add_argument("file", help="where it goes or lies; gzip")
    parser.add_argument("--bootstrap", required=True, metavar="HOST:PORT,…")
    parser.add_argument("--group", default="mailboat")
    parser.add_argument("--state", default="liveactivity.state")
    parser.add_argument("--input", action="append", metavar="TOPIC", help="the topics that are read: those of events, and 'routed'; may be repeated")
    parser.add_argument("-X", "--property", action="append", default=[], metavar="NAME=VALUE", help="a librdkafka property, such as security.protocol=SASL_SSL")
    parser.add_argument("--properties", metavar="FILE", help="a file of them, one a line: a password belongs there")
    parser.add_argument("--onto", action="store_true", help="load: write behind what the topic holds")
    options = parser.parse_args()
    options.input = options.input or ["liveactivity.events", "liveactivity.routed"]
    words = list(options.property)
    if options.properties:
        with open(options.properties) as lines:
            words = [line.strip() for line in lines if line.strip() and not line.startswith("#")] + words
    properties = {"bootstrap.servers": options.bootstrap}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator:
            sys.exit("state-backup.py: one of the properties has no '=': NAME=VALUE is expected")
        properties[name] = value
    try:
        save(options, properties) if options.what == "save" else load(options, properties)
    except (OSError, EOFError, KafkaException, ValueError) as error:
        sys.exit(f"state-backup.py: {error}")


if __name__ == "__main__":
    main()
