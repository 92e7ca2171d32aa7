import PushEngine
import PushModel

/// Replaces a Kafka client that has ended.
extension ShardLoop {
    /// When the next step of the renewal is due, on the steady clock; `nil` while the client works.
    var renewalDueMillis: Int64? {
        self.outbox.renewal.nextMillis(isAllBack: self.outbox.underWay.isNone)
    }

    /// Takes the next step of the renewal. First the old client returns its records, then another client replaces it.
    /// See `Outbox.clientRenewed`.
    @inline(never) mutating func renewProducer(_ now: EngineTime) {
        guard let failure = self.outbox.renewal.failure else { return }
        self.hasChanged = true
        guard self.outbox.renewal.isGivingBack else {
            self.outbox.renewal.isGivingBack = true
            self.news.append(.producerEnded(failure))
            self.log.endProducer()
            self.hasMore = true
            return
        }
        guard let due = self.renewalDueMillis, due <= now.steadyMillis else { return }
        guard self.outbox.underWay.isNone else {
            self.news.append(
                .failed("the Kafka client that has ended does not give back the records it had: \(failure)"))
            return
        }
        do throws(LogFailure) {
            try self.log.renewProducer()
        } catch {
            self.outbox.renewal.failed(nowMillis: now.steadyMillis)
            self.news.append(.producerNotRenewed(error))
            return
        }
        self.news.append(.producerRenewed(afterMillis: now.steadyMillis - self.outbox.renewal.endedMillis))
        self.outbox.clientRenewed(engine: &self.engine, now: now)
    }
}
