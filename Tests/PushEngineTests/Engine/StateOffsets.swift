import PushEngine
import PushModel
import Testing

/// Where Kafka puts the records of an engine that owns one partition alone: one behind the other, the first marker at 0.
struct StateOffsets {
    private var next: Int64 = 1

    /// Records of other topics lie anywhere.
    private mutating func offset(of record: EngineRecord) -> Int64 {
        guard record.topic == .state else { return 0 }
        defer { self.next += 1 }
        return self.next
    }

    /// Two engines to which the same happened want the same written; it is, of both.
    mutating func acknowledge(_ single: inout ShardEngine, _ together: inout ShardEngine, now: EngineTime) {
        let isSame = single.batch.bytes == together.batch.bytes
        #expect(isSame)
        for record in single.batch.records {
            let offset = self.offset(of: record)
            single.acknowledged(record.acknowledgement, offset: offset, now: now)
            together.acknowledged(record.acknowledgement, offset: offset, now: now)
        }
        single.batch.removeAll()
        together.batch.removeAll()
    }
}
