"""Publishes an update and waits for what becomes of it.

  pip install confluent-kafka
  python3 publish.py localhost:9092 order-7 0a1b2c3d
"""

import json
import secrets
import sys
import time
import uuid

from confluent_kafka import Consumer, Producer

bootstrap, activity, token = sys.argv[1:]
event_id = str(uuid.uuid4())

# murmur2 of the key, as Java's clients. librdkafka's own default puts records on other partitions.
producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": True})
failures, places = [], []


def acknowledged(error, record):
    if error:
        failures.append(error)
    else:
        places.append((record.topic(), record.partition(), record.offset()))


producer.produce(
    "liveactivity.events",
    key=activity,
    value=json.dumps({
        "event": "update",
        "id": event_id,
        "to": {"token": token},
        "content-state": {"driverName": "Anne", "minutes": 12},
        "priority": 10,
    }, ensure_ascii=False),
    headers={"traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"},
    on_delivery=acknowledged,
)
if producer.flush(30) > 0 or failures:
    sys.exit(f"not published: {failures or 'Kafka did not answer'}")

# A service has one consumer that runs all the time, with a group id that stays.
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"quickstart-{event_id}", "auto.offset.reset": "earliest"})
consumer.subscribe(["liveactivity.outcomes"])
deadline = time.monotonic() + 60
outcome = None
while outcome is None and time.monotonic() < deadline:
    record = consumer.poll(1)
    if record is None or record.error():
        continue
    said = json.loads(record.value())
    # Where the event lies is its identity: an event that could not be read has an outcome without its id.
    if (said.get("topic"), said.get("partition"), said.get("offset")) in places:
        outcome = said
consumer.close()
if outcome is None:
    sys.exit("no outcome within 60 s")
print(json.dumps(outcome))
