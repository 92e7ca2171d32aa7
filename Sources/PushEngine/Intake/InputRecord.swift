public import PushModel

/// Where a record lies and when it was written; its bytes are passed beside it, borrowed.
public struct InputRecord: Sendable {
    /// Index into `EngineConfiguration.inputTopics`.
    public var topic: UInt16
    /// The number of its partition, from 0.
    public var partition: Int32
    /// Where it lies in the partition's log.
    public var offset: Int64
    /// The record's own time, milliseconds since 1970; for a forwarded one, that of the original.
    public var timestampMillis: Int64
    /// `false`: a null key.
    public var hasKey: Bool
    /// `false`: a null value.
    public var hasValue: Bool
    /// For a forwarded record: where it first lay.
    public var origin: SourcePosition?
    /// What it is, of the routed topic; an event in every other.
    public var kind: RoutedKind
    /// Somebody keeps a trace of the event: what happens to it is told (`ShardEngine.takeTraceNotes`).
    public var isTraced = false

    public init(
        topic: UInt16, partition: Int32, offset: Int64, timestampMillis: Int64, hasKey: Bool, hasValue: Bool,
        origin: SourcePosition?, kind: RoutedKind = .event
    ) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestampMillis = timestampMillis
        self.hasKey = hasKey
        self.hasValue = hasValue
        self.origin = origin
        self.kind = kind
    }
}
