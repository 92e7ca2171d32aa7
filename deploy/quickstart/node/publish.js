// Publishes an update and waits for what becomes of it.
//
//   npm install && node publish.js localhost:9092 order-7 0a1b2c3d

import { randomBytes, randomUUID } from "node:crypto";
import { Kafka, Partitioners, logLevel } from "kafkajs";

const [bootstrap, activity, token] = process.argv.slice(2);
const eventID = randomUUID();
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.WARN });

// murmur2 of the key, as Java's clients. Until version 2 another one was the default, which is now `LegacyPartitioner`.
// One request at a time keeps the order, also when one has to be sent again.
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, maxInFlightRequests: 1 });
await producer.connect();
const [published] = await producer.send({
  topic: "liveactivity.events",
  messages: [{
    key: activity,
    value: JSON.stringify({
      event: "update",
      id: eventID,
      to: { token },
      "content-state": { driverName: "Anne", minutes: 12 },
      priority: 10,
    }),
    headers: { traceparent: `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01` },
  }],
});
await producer.disconnect();

// A service has one consumer that runs all the time, with a group id that stays.
const consumer = kafka.consumer({ groupId: `quickstart-${eventID}` });
await consumer.connect();
await consumer.subscribe({ topics: ["liveactivity.outcomes"], fromBeginning: true });
const outcome = await new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error("no outcome within 60 s")), 60_000).unref();
  consumer.run({
    eachMessage: async ({ message }) => {
      const said = JSON.parse(message.value.toString());
      // Where the event lies is its identity: an event that could not be read has an outcome without its id.
      if (said.topic === published.topicName && said.partition === published.partition && String(said.offset) === published.baseOffset) resolve(said);
    },
  });
});
console.log(JSON.stringify(outcome));
await consumer.disconnect();
