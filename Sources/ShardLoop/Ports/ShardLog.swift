public import PushEngine

/// A shard's way to Kafka, as its loop sees it: the group, records in and out, `state`, commits. Nothing here waits. It
/// is called on the shard's loop, a few times in each turn and for batches. It is therefore a protocol and not a
/// generic parameter: a generic loop in a module of its own would silently run unspecialised.
public protocol ShardLog: AnyObject {
    /// The time until which the partitions certainly belong to this worker, on the steady clock; see `OwnershipLease`.
    /// It may grow between any two calls. If the lease had run out, a turn is requested when it grows.
    var leaseEndsMillis: Int64 { get }

    // MARK: Records of the input

    /// Names the queues that have got something since they were last named, and queues that were never named. A queue
    /// that was left with `mayHaveMore` is not named again for what was in it then.
    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void)

    /// Copies at most `max` waiting records of a queue into `batch`, in order.
    /// - Parameters:
    ///   - partition: its number. The queue is that of a partition and a topic.
    ///   - topic: index into `EngineConfiguration.inputTopics`.
    ///   - max: most records to copy.
    ///   - batch: may hold records of other queues already.
    ///   - whenFull: empties the batch, which has no room for the next record.
    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead

    /// Begins to read a partition that has been restored. From now on `takeReadable` names its queues.
    func beginReading(partition: Int32)

    /// Drops the queues of a partition that no longer belongs to this worker.
    func endReading(partition: Int32)

    // MARK: State

    /// Begins to read a part of a partition of `state`.
    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection

    // MARK: Records to be written

    /// Takes the records of these indexes, in order, as far as there is room. It may stop behind a record that fails,
    /// and is then called again for those after it.
    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun

    /// Produces a record that was kept.
    func produce(_ record: KeptRecord) -> ProducedRun

    /// Appends results of records, in order by partition. Stops after the run in which `max` is reached.
    /// - Parameter max: most records to append.
    /// - Parameter withKeys: whether the keys of `state` are wanted, too. They are always included behind a failure in
    ///   the same batch.
    /// - Parameter batch: keeps what it holds already.
    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch)

    /// Ends the client that writes records, which has failed (`ProduceFailure.isFatal`, `DeliveryBatch.clientFailure`).
    /// Its remaining records are returned as deliveries, all of them failures.
    func endProducer()

    /// Makes another client, for everything that is handed over from now on. Call it when the old client has returned
    /// everything.
    /// - Throws: why none can be made now.
    func renewProducer() throws(LogFailure)

    // MARK: Commits

    /// Queues offsets that may be committed. Only the newest of a partition counts.
    func commit(_ positions: [CommitPosition])
}

/// A part of one partition's `state` that is being read.
public protocol StateSection: AnyObject {
    /// Whether something arrived since the last call.
    func takeReadable() -> Bool

    /// Passes at most `max` waiting records to `body`, in the order of offsets.
    func read(max: Int, _ body: StateRecordBody) -> SectionRead

    /// Ends the reading of this part.
    func close()
}

/// One record of `state`, borrowed. `value` is empty for a tombstone. `headerNumber` is the value of the header
/// `RecordHeader.epoch` of a tombstone, or of `RecordHeader.takeovers` of any other record.
public typealias StateRecordBody = (
    _ key: Span<UInt8>, _ value: Span<UInt8>, _ isTombstone: Bool, _ headerNumber: Int64?, _ offset: Int64
) -> Void

/// The result of one read of a queue.
public struct QueueRead: Sendable {
    /// Number of records copied into the batch.
    public var recordCount: Int
    /// Whether the read stopped at its limit. `takeReadable` does not name the queue again for records that wait
    /// already.
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
    /// Whether the read stopped at its limit: there is more to read at once.
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
    /// Number of records, from the first on, that are dealt with: taken, or among the failures.
    public var doneCount: Int
    /// The records that were not taken, by index among the given ones.
    public var failures: [(index: Int, failure: ProduceFailure)]
    /// Whether there is no room for the next record until something is delivered (back-pressure).
    public var isFull: Bool

    /// A result. Without failures and with `isFull` false, the first `doneCount` records were taken.
    public init(doneCount: Int, failures: [(index: Int, failure: ProduceFailure)] = [], isFull: Bool = false) {
        self.doneCount = doneCount
        self.failures = failures
        self.isFull = isFull
    }
}

/// A read that Kafka, or the library before it, refused.
public struct LogFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// What failed, why, and what to do, for a person.
    public var description: String
    /// Whether the failure is permanent: the partition stops.
    public var isFinal: Bool

    public init(_ description: String, isFinal: Bool) {
        self.description = description
        self.isFinal = isFinal
    }
}
