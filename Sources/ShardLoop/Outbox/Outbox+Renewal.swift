import PushEngine
import PushModel

/// Continues with another Kafka client when one has ended.
///
/// Each running partition first gets a new marker, and with it a new epoch. Records of `state` that the old client left
/// unacknowledged are not written again, because they carry the old epoch. The engine writes their keys anew. All other
/// records are written again as they are.
extension Outbox {
    /// Stops writing, because the Kafka client has ended.
    @inline(never) mutating func clientEnded(_ failure: ProduceFailure, nowMillis: Int64) {
        self.renewal.clientEnded(failure, nowMillis: nowMillis)
        self.failure = failure
        self.isBlocked = true
    }

    /// Stops writing if the port has reported that the Kafka client has ended.
    @inline(never) mutating func takeClientFailure(nowMillis: Int64) {
        guard let failure = self.deliveries.clientFailure else { return }
        self.deliveries.clientFailure = nil
        self.clientEnded(failure, nowMillis: nowMillis)
    }

    /// Ends the renewal, because another client has replaced the old one.
    @inline(never) mutating func clientRenewed(engine: inout ShardEngine, now: EngineTime) {
        self.renewal.renewed(nowMillis: now.steadyMillis)
        self.isBlocked = false
        // The new client may have nothing to write, and then no delivery would clear the failure.
        self.failure = nil
        self.counters.producersRenewed += 1
        self.retries.endEpochs(engine.claimAgain(now: now))
        self.hasNewRecords = true
    }

    /// Takes Kafka's acknowledgement of the marker of a partition's next epoch. A negative offset means that the
    /// marker's offset is unknown.
    @inline(never) mutating func claimAcknowledged(
        _ acknowledgement: UInt64, partition: Int32, offset: Int64, engine: inout ShardEngine, now: EngineTime
    ) {
        // Records that the engine has made so far carry the old epoch. Records that it makes from now on carry the new
        // one.
        if offset >= 0 { self.outdateUnsent(partition, engine: &engine) }
        engine.acknowledged(acknowledgement, offset: offset, now: now)
        let keys = self.retries.claimAnswered(partition: partition, next: engine.claim(of: partition))
        engine.writeAgain(partition: partition, keys: keys, now: now)
        self.retries.answered(.state, partition: partition, underWay: self.underWay)
        self.hasNewRecords = true
    }

    private mutating func outdateUnsent(_ partition: Int32, engine: inout ShardEngine) {
        func isOutdated(_ record: EngineRecord) -> Bool { record.topic == .state && record.partition == partition }
        for record in engine.batch.records where isOutdated(record) {
            self.retries.wait(KeptRecord(record, of: engine.batch))
        }
        engine.batch.records.removeAll(where: isOutdated)
        guard !self.batch.isEmpty else { return }
        var unsent: [EngineRecord] = []
        for index in self.order.indexes[self.next...].sorted() {
            let record = self.batch.records[Int(index)]
            if isOutdated(record) {
                self.retries.wait(KeptRecord(record, of: self.batch))
            } else {
                unsent.append(record)
            }
        }
        self.replaceUnsent(by: unsent)
    }
}
