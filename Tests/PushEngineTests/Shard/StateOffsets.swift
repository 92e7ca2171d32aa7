import PushEngine

/// Where Kafka puts the records of an engine that owns one partition alone: one behind the other, the first marker at 0.
struct StateOffsets {
    private var next: Int64 = 1

    /// Records of other topics lie anywhere.
    mutating func offset(of record: EngineRecord) -> Int64 {
        guard record.topic == .state else { return 0 }
        defer { self.next += 1 }
        return self.next
    }
}
