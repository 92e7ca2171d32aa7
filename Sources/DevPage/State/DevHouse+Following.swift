import KafkaLog
import PushInspection

/// Chooses which records of the topics are read, and takes them.
extension DevHouse: TopicFollower.Reader {
    func partitionsToRead() -> (@Sendable (TopicPartition) -> Bool)? {
        let nowMillis = self.nowMillis
        guard let read = self.store.read({ $0.partitionsToRead(nowMillis: nowMillis) }) else { return nil }
        return { [eventsTopic = self.settings.eventsTopic] in
            ($0.topic == eventsTopic ? read.events : read.outcomes).contains($0.partition)
        }
    }

    func passOver(_ count: Int, in partition: TopicPartition) {
        let nowMillis = self.nowMillis
        self.store.change { timeline in
            if partition.topic == self.settings.eventsTopic {
                timeline.passOver(events: count, nowMillis: nowMillis)
            } else {
                timeline.passOver(outcomesIn: partition.partition)
            }
        }
    }

    func wants(_ record: borrowing KafkaRecord, of topic: String) -> Bool {
        topic == self.settings.eventsTopic
            ? self.store.wantsEvent(key: record.key, nowMillis: self.nowMillis)
            : self.store.wantsOutcome(key: record.key)
    }

    func take(_ record: OwnedRecord, of topic: String) {
        if topic == self.settings.eventsTopic {
            self.takeEvent(record)
        } else if let value = record.value,
            let found = EventOutcome.read(value, topic: self.settings.eventsTopic)
        {
            let nowMillis = self.nowMillis
            self.store.change {
                $0.found(outcomeIn: record.partition, of: found.position, nowMillis: nowMillis)
                $0.takeOutcome(found.outcome, of: found.position)
            }
        }
    }
}
