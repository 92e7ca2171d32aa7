public import PushModel

/// The position of a record and the time when it was written. Its bytes are passed separately, borrowed.
public struct InputRecord: Sendable {
    /// Index into `EngineConfiguration.inputTopics`.
    public var topic: UInt16
    /// The number of the record's partition, from 0.
    public var partition: Int32
    /// The record's offset in the partition's log.
    public var offset: Int64
    /// The record's own time, milliseconds since 1970. A forwarded record has the time of the original record.
    public var timestampMillis: Int64
    /// Whether the record has a key; `false`: it is null.
    public var hasKey: Bool
    /// Whether the record has a value; `false`: it is null.
    public var hasValue: Bool
    /// First position of a forwarded record; `nil`: the record was not forwarded.
    public var origin: SourcePosition?
    /// The kind of a record of the topic `routed`. Records of every other topic are events.
    public var kind: RoutedKind
    /// Whether the event is traced. If so, what happens to it is reported (`ShardEngine.takeTraceNotices`).
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
