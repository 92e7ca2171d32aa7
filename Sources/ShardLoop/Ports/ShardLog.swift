public import PushEngine

/// A shard's way to Kafka, as its loop uses it: the group, records in and out, `state`, commits. No method waits.
/// Methods are called on the shard's loop, a few times in each turn and for batches. So a protocol is fast enough. A
/// loop that is generic over the log, in another module, would silently run unspecialised.
public protocol ShardLog: AnyObject {
    /// The time until which the partitions certainly belong to this worker, on the steady clock; see `OwnershipLease`.
    /// The time may grow between any two calls. If it grows after the lease had run out, the log requests a turn.
    var leaseEndsMillis: Int64 { get }

    // MARK: Records of the input

    /// Calls `body` for each queue that has got records since its last call for that queue, and for each new queue. If
    /// a read ended with `mayHaveMore`, records that were already in the queue cause no further call.
    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void)

    /// Copies at most `max` waiting records of a queue into `batch`, in order. A queue holds the records of one topic
    /// and partition.
    /// - Parameters:
    ///   - partition: the number of the partition.
    ///   - topic: index into `EngineConfiguration.inputTopics`.
    ///   - max: maximum number of records to copy.
    ///   - batch: may already hold records of other queues.
    ///   - whenFull: empties the batch when it has no room for the next record.
    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead

    /// Begins to read a partition that has been restored. From now on `takeReadable` names its queues.
    func beginReading(partition: Int32)

    /// Drops the queues of a partition that no longer belongs to this worker.
    func endReading(partition: Int32)

    // MARK: State

    /// Begins to read a part of a partition's `state`.
    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection

    // MARK: Records to be written

    /// Takes the records with these indexes, in order, until there is no room. The method may stop after a record that
    /// fails. The caller then calls it again for the following records.
    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun

    /// Writes a record that was kept.
    func produce(_ record: KeptRecord) -> ProducedRun

    /// Appends Kafka's answers to records, in order for each partition. Answers arrive in runs, and each run is
    /// appended whole.
    /// - Parameter max: number of answers from which on no further run is appended.
    /// - Parameter withKeys: whether the keys of `state` records are wanted, too. After a failure in the same batch
    ///   they are always included.
    /// - Parameter batch: keeps the answers that it holds already.
    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch)

    /// Ends the client that writes records, because it has failed (`ProduceFailure.isFatal`,
    /// `DeliveryBatch.clientFailure`). Its remaining records are returned as failed deliveries.
    func endProducer()

    /// Makes another client, which writes everything that is handed over from now on. Call this method when the old
    /// client has returned all its records.
    /// - Throws: why no client can be made now.
    func renewProducer() throws(LogFailure)

    // MARK: Commits

    /// Queues offsets that may be committed. A newer offset of a log replaces an older one.
    func commit(_ positions: [CommitPosition])
}

/// A part of one partition's `state`, while it is read.
public protocol StateSection: AnyObject {
    /// Whether records, or the end of the part, may have arrived since the last call.
    func takeReadable() -> Bool

    /// Passes at most `max` waiting records to `body`, in the order of offsets.
    func read(max: Int, _ body: StateRecordBody) -> SectionRead

    /// Ends the reading of this part.
    func close()
}

/// Receives one record of `state`, borrowed. `value` is empty for a tombstone. `header` is `nil` for most records.
public typealias StateRecordBody = (
    _ key: Span<UInt8>, _ value: Span<UInt8>, _ isTombstone: Bool, _ header: StateHeader?, _ offset: Int64
) -> Void

/// The result of one read of a queue.
public struct QueueRead: Sendable {
    /// Number of records copied into the batch.
    public var recordCount: Int
    /// Whether the read stopped at its limit. If so, `takeReadable` does not name the queue again for records that are
    /// already in it.
    public var mayHaveMore: Bool
    /// What stopped the read; `nil` if nothing did.
    public var failure: LogFailure?

    public init(recordCount: Int, mayHaveMore: Bool, failure: LogFailure? = nil) {
        self.recordCount = recordCount
        self.mayHaveMore = mayHaveMore
        self.failure = failure
    }
}

/// The result of one read of a section.
public struct SectionRead: Sendable {
    /// Number of records passed.
    public var recordCount: Int
    /// Whether the read stopped at its limit, so that there is more to read at once.
    public var mayHaveMore: Bool
    /// Whether everything below the section's end has been passed.
    public var isFinished: Bool
    /// What stopped the read; `nil` if nothing did.
    public var failure: LogFailure?

    public init(recordCount: Int, mayHaveMore: Bool, isFinished: Bool, failure: LogFailure? = nil) {
        self.recordCount = recordCount
        self.mayHaveMore = mayHaveMore
        self.isFinished = isFinished
        self.failure = failure
    }
}

/// The result of handing over records.
public struct ProducedRun: Sendable {
    /// Number of records that were handled, counted from the first. They were taken, or are among the failures.
    public var doneCount: Int
    /// The records that were not taken, by index among the given records.
    public var failures: [(index: Int, failure: ProduceFailure)]
    /// Whether there is no room for the next record until something is delivered (back-pressure).
    public var isFull: Bool

    /// Makes a result. Without failures, the first `doneCount` records were taken.
    public init(doneCount: Int, failures: [(index: Int, failure: ProduceFailure)] = [], isFull: Bool = false) {
        self.doneCount = doneCount
        self.failures = failures
        self.isFull = isFull
    }
}

/// Why Kafka, or librdkafka, refused a read.
public struct LogFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What failed, why, and what to do, for a person.
    public var description: String
    /// Whether the failure is permanent, so that the partition must halt.
    public var isFinal: Bool

    public init(_ description: String, isFinal: Bool) {
        self.description = description
        self.isFinal = isFinal
    }
}
