import CommandSupport
import KafkaLog
import PushModel
import PushWorker

/// Finds the newest events of a key, in the key's partition of an input topic and in the routed topic. Workers forward
/// misplaced events to the routed topic. Blocks: use a thread of its own.
struct ReplayReading {
    /// An event and its first position.
    struct Found {
        var record: OwnedRecord
        var source: TopicPartitionOffset

        init(_ record: OwnedRecord, topic: String) {
            self.record = record
            self.source = TopicPartitionOffset(topic: topic, partition: record.partition, offset: record.offset)
        }

        /// Reads a record of the routed topic; `nil`: it is a message of a worker.
        init?(forwarded record: OwnedRecord) {
            guard let origin = ExplainRecords.origin(of: record) else { return nil }
            self.record = record
            self.source = TopicPartitionOffset(
                topic: origin.topic, partition: origin.partition, offset: origin.offset)
        }
    }

    let kafka: KafkaOptions
    let key: [UInt8]
    /// An input topic.
    let topic: String
    let wantedCount: Int
    /// Whether a record may belong to the app.
    let isMeant: (OwnedRecord) -> Bool
    /// Whether registrations are included. Otherwise they are skipped, because a rotated token changes nothing that a
    /// phone shows.
    let includesRegistrations: Bool

    /// What was found.
    struct Newest {
        /// The records, oldest first.
        var records: [Found]
        /// Number of skipped registrations that are newer than the newest of the records.
        var newerRegistrationCount: Int
    }

    /// Finds the newest events.
    /// - Throws: if there is none; the error says what was read.
    func newest() throws -> Newest {
        let tail = try TailReader(self.kafka)
        let events = try self.newest(tail, self.topic) { Found($0, topic: self.topic) }
        var read = [events.said]
        var streams = [events.found]
        var registrations = events.registrationMillis
        let routed = try self.kafka.cluster.configuration().topics.routed
        // The routed topic may be missing if no worker has run. The events of the input topic are replayed all the
        // same.
        do {
            let forwarded = try self.newest(tail, routed) { record in
                Found(forwarded: record).flatMap { $0.source.topic == self.topic ? $0 : nil }
            }
            streams.append(forwarded.found)
            registrations += forwarded.registrationMillis
            read.append(forwarded.said)
        } catch {
            read.append("\(routed) not (\(error))")
        }
        let found = NewestFirst.merge(streams) { $0.record.timestampMillis }
        guard !found.isEmpty else {
            let passedOver =
                registrations.isEmpty
                ? "" : " \(NumberText.count(registrations.count, "registration")) passed over (--with-registrations)."
            throw CommandFailure(
                "no event found with the key “\(TokenText.shortened(String(decoding: self.key, as: UTF8.self)))”: nothing was published.\(passedOver) "
                    + "These partitions of the key were read: \(read.joined(separator: ", ")). A record may be on another, "
                    + "as clients without partitioner=murmur2_random place it: --from topic[partition]@offset reads any"
            )
        }
        let newestMillis = found[0].record.timestampMillis
        return Newest(
            records: found.prefix(self.wantedCount).reversed(),
            newerRegistrationCount: registrations.count(where: { $0 >= newestMillis }))
    }

    /// Finds the newest events in one partition.
    /// - Returns: events, the newest first; when skipped registrations were written; and what was read, for a person.
    private func newest(
        _ tail: TailReader, _ topic: String, _ pick: (OwnedRecord) -> Found?
    ) throws -> (found: [Found], registrationMillis: [Int64], said: String) {
        let count = try self.kafka.partitionCount(of: topic)
        let partition = TopicPartition(topic: topic, partition: Murmur2.partition(key: self.key.span, count: count))
        var foundCount = 0
        var registrationMillis: [Int64] = []
        do throws(KafkaError) {
            // The last window may bring more records than wanted.
            let (found, reach) = try tail.pick(
                partition, recordCountMax: Replay.recordCountMax, isEnough: { foundCount >= self.wantedCount }
            ) { record -> Found? in
                guard record.key == self.key, self.isMeant(record), let found = pick(record) else { return nil }
                guard self.includesRegistrations || !ReplayJudge.isRegistration(record) else {
                    registrationMillis.append(record.timestampMillis)
                    return nil
                }
                foundCount += 1
                return found
            }
            let extent =
                reach.isWhole ? "whole" : "from \(reach.fromOffset) to before \(reach.endOffset)"
            return (found, registrationMillis, "\(partition) (\(extent))")
        } catch { throw CommandFailure("\(partition) cannot be read: \(error)") }
    }
}
