import PushEngine
import PushModel

/// Another Kafka client takes the place of one that has ended.
///
/// Each partition that runs gets a new marker first, and with it another epoch. Records of `state` that the client before left unacknowledged
/// are not handed over again: they carry the epoch that ends. The engine writes their keys anew. All others leave again as they are.
extension Outbox {
    /// Stops handing records over: the client that writes them has ended.
    @inline(never) mutating func clientEnded(_ failure: ProduceFailure, nowMillis: Int64) {
        self.renewal.clientEnded(failure, nowMillis: nowMillis)
        self.failure = failure
        self.isBlocked = true
    }

    /// The port has said so.
    @inline(never) mutating func takeClientFailure(nowMillis: Int64) {
        guard let failure = self.deliveries.clientFailure else { return }
        self.deliveries.clientFailure = nil
        self.clientEnded(failure, nowMillis: nowMillis)
    }

    /// Another has taken its place.
    @inline(never) mutating func clientRenewed(engine: inout ShardEngine, now: EngineTime) {
        self.renewal.renewed(nowMillis: now.steadyMillis)
        self.isBlocked = false
        // It may have nothing to write that would say so.
        self.failure = nil
        self.counters.producersRenewed += 1
        self.retries.endEpochs(engine.claimAgain(now: now))
        self.hasNewRecords = true
    }

    /// Kafka has the marker that begins a partition's next epoch, or says that it has it and not where.
    @inline(never) mutating func claimAcknowledged(
        _ acknowledgement: UInt64, partition: Int32, offset: Int64, engine: inout ShardEngine, now: EngineTime
    ) {
        // What the engine has made so far carries the epoch that ends here; what it makes from here on, the one that begins.
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
