public import PushEngine

/// A shard's way to Kafka, as its loop sees it: what the group says, records in and out, `state`, commits. Nothing here waits. Called on the
/// shard's loop, within a turn, a few times each and by batches, so it is a protocol and not a generic parameter: a generic loop in a
/// module of its own would run unspecialised, and say so nowhere.
public protocol ShardLog: AnyObject {
    /// Until when the partitions are certainly this worker's, steady; see `OwnershipLease`. May grow between any two calls, told by a turn
    /// when it had run out.
    var leaseEndsMillis: Int64 { get }

    // MARK: Records of the input

    /// Names the queues that got something since they were last named, and those that nobody knows about. A queue that was left with
    /// `mayHaveMore` is not named again for what was in it then.
    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void)

    /// Copies at most `max` waiting records of a queue into `batch`, in order.
    /// - Parameters:
    ///   - partition: its number; a queue of a partition and a topic is meant.
    ///   - topic: index into `EngineConfiguration.inputTopics`.
    ///   - max: how many records at most.
    ///   - batch: may hold records of other queues already.
    ///   - whenFull: empties the batch, which has no room for the next record.
    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead

    /// The partition has been restored: from here on `takeReadable` names its queues.
    func beginReading(partition: Int32)

    /// The partition is no longer this worker's: its queues are let go of.
    func endReading(partition: Int32)

    // MARK: State

    /// Begins to read a part of a partition of `state`.
    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection

    // MARK: Records to be written

    /// Takes over the records of these indexes, in order, as far as there is room. It may stop behind a record that fails, and is asked again
    /// for those after it.
    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun

    /// Produces a record that was kept.
    func produce(_ record: KeptRecord) -> ProducedRun

    /// Appends what became of records, in order by partition; stops after the run in which `max` is reached.
    /// - Parameter max: how many records at most.
    /// - Parameter withKeys: the keys of `state` are wanted, too. They come in any case behind a failure in the same batch.
    /// - Parameter batch: keeps what it holds already.
    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch)

    /// The client that writes records has ended: a failure said so (`ProduceFailure.isFatal`, `DeliveryBatch.clientFailure`). What it still has comes back as deliveries, all of
    /// them failures.
    func endProducer()

    /// Another client takes its place, for everything that is handed over from here on. Called once all that the one before had has come back.
    /// - Throws: why none can be made at this moment.
    func renewProducer() throws(LogFailure)

    // MARK: Commits

    /// These offsets may be committed; the newest of a partition counts.
    func commit(_ positions: [CommitPosition])
}

/// A part of one partition's `state` being read.
public protocol StateSection: AnyObject {
    /// Whether something came since this was last asked.
    func takeReadable() -> Bool

    /// Hands at most `max` waiting records to `body`, in the order of offsets.
    func read(max: Int, _ body: StateRecordBody) -> SectionRead

    /// Nothing more of it is wanted.
    func close()
}

/// One record of `state`, lent. `value` is empty for a tombstone; `headerNumber` is what the header `RecordHeader.epoch` of a tombstone, or
/// `RecordHeader.takeovers` of any other record, says.
public typealias StateRecordBody = (
    _ key: Span<UInt8>, _ value: Span<UInt8>, _ isTombstone: Bool, _ headerNumber: Int64?, _ offset: Int64
) -> Void

/// What one read of a queue found.
public struct QueueRead: Sendable {
    /// Records copied into the batch.
    public var recordCount: Int
    /// It stopped at its limit: no word comes of what waits already.
    public var mayHaveMore: Bool
    /// What stopped it.
    public var failure: LogFailure?

    public init(recordCount: Int, mayHaveMore: Bool, failure: LogFailure? = nil) {
        self.recordCount = recordCount
        self.mayHaveMore = mayHaveMore
        self.failure = failure
    }
}

/// What one read of a section found.
public struct SectionRead: Sendable {
    /// Records handed over.
    public var recordCount: Int
    /// It stopped at its limit: there is more to read at once.
    public var mayHaveMore: Bool
    /// Everything below its end has been handed over.
    public var isFinished: Bool
    /// What stopped it; `nil`: nothing.
    public var failure: LogFailure?

    public init(recordCount: Int, mayHaveMore: Bool, isFinished: Bool, failure: LogFailure? = nil) {
        self.recordCount = recordCount
        self.mayHaveMore = mayHaveMore
        self.isFinished = isFinished
        self.failure = failure
    }
}

/// What became of records that were to be written.
public struct ProducedRun: Sendable {
    /// How many of the first are dealt with: taken over, or among the failures.
    public var doneCount: Int
    /// Those that were not taken and are not on their way, by index among the given.
    public var failures: [(index: Int, failure: ProduceFailure)]
    /// There is no room for the next: back-pressure, until something was delivered.
    public var isFull: Bool

    /// Without failures and with `isFull` false, all is well with the first `doneCount` records.
    public init(doneCount: Int, failures: [(index: Int, failure: ProduceFailure)] = [], isFull: Bool = false) {
        self.doneCount = doneCount
        self.failures = failures
        self.isFull = isFull
    }
}

/// A read that Kafka, or the library before it, said no to.
public struct LogFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// For a person: what failed, why, and what to do.
    public var description: String
    /// It does not pass by itself: the partition stops.
    public var isFinal: Bool

    public init(_ description: String, isFinal: Bool) {
        self.description = description
        self.isFinal = isFinal
    }
}
