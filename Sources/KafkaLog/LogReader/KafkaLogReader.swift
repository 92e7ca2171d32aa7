/// Reads partitions without a group: restore, tests, tools. One client for any number of sections, each of another partition.
public final class KafkaLogReader: Sendable {
    /// Checks the settings and makes the client. Group settings are ignored.
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) { fatalError("not yet") }

    /// Begins reading one partition, up to but not including `endOffset`.
    ///
    /// A partition can be open once at a time. Close the section, or let go of it, to stop.
    /// - Parameter endOffset: the offset after the last one wanted; `Int64.max`: never finished. When the log ends before it, the section
    ///   waits for more.
    public func open(_ partition: TopicPartition, from start: LogStart, upTo endOffset: Int64 = .max) throws(KafkaError) -> LogSection {
        fatalError("not yet")
    }

    /// First offset in the log and next offset to be written. Blocks, at most about `limit`.
    public func positions(of partitions: [TopicPartition], within limit: Duration) throws(KafkaError) -> [PartitionPositions] { fatalError("not yet") }

    /// Reads a section whole, for tools and tests. Blocks, at most `limit`; throws `timedOut` when the end was not reached.
    public func readAll(
        _ partition: TopicPartition, from start: LogStart = .beginning, upTo endOffset: Int64? = nil, within limit: Duration
    ) throws(KafkaError) -> [OwnedRecord] { fatalError("not yet") }
}

/// A part of one partition being read: like a `PartitionReader`, with an end.
public final class LogSection: Sendable {
    public let topicPartition: TopicPartition
    public let endOffset: Int64
    init(topicPartition: TopicPartition, endOffset: Int64) {
        self.topicPartition = topicPartition
        self.endOffset = endOffset
    }

    /// Hands at most `max` waiting records to `body`, in order, and never waits. `isFinished` once everything below `endOffset` was handed
    /// over (offsets that compaction removed or control records took count as handed over). One thread at a time.
    public func read(max: Int, _ body: (borrowing KafkaRecord) -> Void) -> ReadResult { fatalError("not yet") }

    /// As `PartitionReader.onReadable`.
    public func onReadable(_ wakeUp: @escaping @Sendable () -> Void) { fatalError("not yet") }

    /// Stops fetching. Idempotent.
    public func close() { fatalError("not yet") }
}

/// A record copied out of Kafka, for tools and tests.
public struct OwnedRecord: Sendable, Hashable {
    public var partition: Int32
    public var offset: Int64
    public var timestampMillis: Int64
    public var key: [UInt8]?
    public var value: [UInt8]?
    public var headers: [Header]
    public struct Header: Sendable, Hashable {
        public var name: String
        public var value: [UInt8]?
    }
}
