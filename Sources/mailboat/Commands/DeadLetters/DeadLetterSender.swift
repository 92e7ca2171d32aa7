import CommandSupport
import KafkaLog
import PushModel

/// Republishes dead letters, and waits until Kafka confirms them. Confined to one thread, which it blocks.
struct DeadLetterSender {
    private let kafka: KafkaOptions
    private let producer: KafkaProducer
    private var topics: [String: (topic: KafkaTopic, partitionCount: Int32)] = [:]
    /// Letters sent so far. The opaque number of a letter's delivery is its index here.
    private var sent: [(letter: (partition: Int32, offset: Int64), topic: String, partition: Int32)] = []
    /// Receives the result of each letter.
    private let report: (RepublishLine) -> Void
    private var failedCount = 0

    /// Maximum number of records on their way at a time.
    private static let outstandingMax = 1_000
    private static let queueWait = Duration.milliseconds(50)

    /// Creates the sender's producer.
    /// - Parameter report: called on the thread that sends and finishes.
    init(_ kafka: KafkaOptions, report: @escaping (RepublishLine) -> Void) throws {
        self.kafka = kafka
        self.report = report
        self.producer = try kafka.producer()
    }

    /// Sends a letter.
    /// - Returns: `true`, also for a letter that the producer refuses at once. `finish` counts that letter as not
    ///   taken.
    mutating func send(_ letter: DeadLetter, to name: String) throws -> Bool {
        let target = try self.target(name)
        while self.producer.outstandingCount >= Self.outstandingMax { self.drain(within: Self.queueWait) }
        var headers = KafkaHeaders()
        for header in letter.republishedHeaders {
            let (name, value) = (Array(header.name.utf8), header.value ?? [])
            headers.append(name: name.span, value: value.span)
        }
        let partition =
            letter.record.key.map { Murmur2.partition(key: $0.span, count: target.partitionCount) }
            ?? letter.source.map { min($0.partition, target.partitionCount - 1) } ?? 0
        self.sent.append(((letter.partition, letter.offset), name, partition))
        let result = self.producer.produce(
            target.topic, partition: partition, key: letter.record.key?.span, value: letter.record.value?.span,
            headers: headers, opaque: UInt64(self.sent.count - 1))
        if case .queued = result { return true }
        var line = RepublishLine(.notSent, letter)
        (line.topic, line.toPartition, line.because) = (name, partition, "\(result)")
        self.report(line)
        self.failedCount += 1
        return true
    }

    /// Waits for Kafka's answers to the letters.
    /// - Returns: number of letters that Kafka did not take.
    mutating func finish() throws -> Int {
        let deadline = ContinuousClock.now + self.kafka.limit + .seconds(1)
        while self.producer.outstandingCount > 0, ContinuousClock.now < deadline { self.drain(within: Self.queueWait) }
        // `message.timeout.ms` ends the wait for each letter. Records that the producer has not reported by then are
        // outstanding, and count as not taken.
        return self.failedCount + self.producer.outstandingCount
    }

    private mutating func drain(within limit: Duration) {
        var failedCount = 0
        let (sent, report) = (self.sent, self.report)
        _ = self.producer.flush(within: limit) { delivery in
            let one = sent[Int(delivery.opaque)]
            var line = RepublishLine(
                delivery.error == nil ? .sent : .notSent, partition: one.letter.partition, offset: one.letter.offset)
            (line.topic, line.toPartition) = (one.topic, one.partition)
            if let error = delivery.error {
                failedCount += 1
                line.because = "\(error)"
            } else {
                line.toOffset = delivery.offset
            }
            report(line)
        }
        self.failedCount += failedCount
    }

    private mutating func target(_ name: String) throws -> (topic: KafkaTopic, partitionCount: Int32) {
        if let known = self.topics[name] { return known }
        let count = try self.kafka.partitionCount(of: name)
        let target = (topic: try self.producer.topic(name), partitionCount: count)
        self.topics[name] = target
        return target
    }
}
