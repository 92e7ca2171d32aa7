import PushEngine
import PushModel
import Testing

/// Offsets that Kafka gives to the `state` records of an engine that owns a single partition. They are consecutive,
/// and the first marker has 0.
struct StateOffsets {
    private var next: Int64 = 1

    /// Offset of the next record. Records of other topics get 0, which nothing reads.
    private mutating func offset(of record: EngineRecord) -> Int64 {
        guard record.topic == .state else { return 0 }
        defer { self.next += 1 }
        return self.next
    }

    /// Acknowledges the records that both engines have written. The records must be equal, because the same happened to
    /// both engines.
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
