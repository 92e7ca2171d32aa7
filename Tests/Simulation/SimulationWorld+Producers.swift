import PushEngine
import PushModel
import ShardLoop

/// Plan of the fatal errors that end workers' Kafka clients. It is drawn with a separate generator, so that worlds
/// without such errors do not change.
struct ProducerPlan {
    /// Chance, in percent, that a worker's Kafka client ends when a record for `state` has left.
    var endPercent = 0
    /// Percentage of attempts to create another client that fail.
    var failurePercent = 0

    init() {}

    init(random: inout SplitMix64) {
        // One world in six has clients that end.
        guard Int.random(in: 0..<6, using: &random) == 0 else { return }
        self.endPercent = [1, 3, 8].randomElement(using: &random)!
        self.failurePercent = [0, 0, 50].randomElement(using: &random)!
    }
}

/// Limits the time in which clients end one after the other.
///
/// A record that an ended client had sent may be stored behind newer records of its key. Compaction keeps only the last
/// record of a key. So the owner must find and overwrite it within `min.compaction.lag.ms` (Topics, "State"), which is
/// at least half an hour. Mailboat promises nothing if it cannot write for longer.
struct ClientEnds {
    private var firstMillis: Int64 = .min
    private var lastMillis: Int64?

    /// Time without an end after which a series of ends is over. In this time an owner certainly writes all that it
    /// must.
    static let calmMillis: Int64 = 180_000
    /// Longest time for which a series of ends may last.
    static let troubleMillisMax: Int64 = 20 * 60_000

    /// Whether a client may end now. If so, remembers the end. `false`: clients have kept ending, one soon after another,
    /// for `troubleMillisMax`, and owners now need time to write.
    mutating func mayGoOn(nowMillis: Int64) -> Bool {
        if self.lastMillis.map({ nowMillis - $0 >= Self.calmMillis }) ?? true { self.firstMillis = nowMillis }
        guard nowMillis - self.firstMillis < Self.troubleMillisMax else { return false }
        self.lastMillis = nowMillis
        return true
    }
}

/// Kafka clients that end while their process continues, for example because the broker did not expect a sequence
/// number.
extension SimulationWorld {
    /// Perhaps ends a worker's Kafka client when a record for `state` has left. The client takes no more records, and
    /// returns the unacknowledged ones to the worker. Some of these are nevertheless stored later.
    func perhapsEndClient(of worker: SimulatedWorker) {
        guard self.faultsAreOn, worker.isAlive, !worker.clientHasEnded, self.plan.producers.endPercent > 0,
            !self.lateVoids.contains(where: { $0.transit.producer == worker.number }),
            Int.random(in: 0..<100, using: &self.producerRandom) < self.plan.producers.endPercent,
            self.clientEnds.mayGoOn(nowMillis: self.steadyMillis)
        else { return }
        self.log("the Kafka client of worker \(worker.number) ends")
        self.rememberClient(of: worker, isThere: false)
        self.rememberStruck()
        worker.clientHasEnded = true
        // A later restore may treat the next epoch as another owner's, if compaction has removed the markers that prove
        // otherwise.
        for activity in self.phones.indices where worker.partitions[self.home(of: activity)]?.isRunning == true {
            self.rememberUnrecordedPush(activity, worker: worker.number, isTakeover: true)
        }
        // Answers that have not reached the worker are lost.
        for index in worker.inbox.indices where worker.inbox[index].comesMillis > self.steadyMillis {
            worker.inbox[index].offset = nil
            worker.inbox[index].refusal = nil
            worker.inbox[index].comesMillis = self.steadyMillis
        }
        // Each unacknowledged record may be written a second time while the first one still counts as unacknowledged.
        worker.outdatedMax += worker.unacknowledgedCount
        worker.inbox += self.kafka.clientEnded(
            worker.number, nowMillis: self.steadyMillis, lateMillisMax: self.plan.lateMillisMax,
            random: &self.producerRandom)
    }

    /// Gives the worker another client, unless a fault prevents that.
    func renewClient(of worker: SimulatedWorker) throws(LogFailure) {
        guard worker.isAlive else { return }
        if self.faultsAreOn, Int.random(in: 0..<100, using: &self.producerRandom) < self.plan.producers.failurePercent {
            throw LogFailure("no client can be made", isFinal: false)
        }
        if !worker.inbox.isEmpty {
            self.fail("worker \(worker.number) has another Kafka client before it has heard of what the one before had")
        }
        self.log("worker \(worker.number) has another Kafka client")
        self.rememberClient(of: worker, isThere: true)
        self.rememberStruck()
        worker.clientHasEnded = false
        _ = self.burns(worker)
    }
    private func rememberClient(of worker: SimulatedWorker, isThere: Bool) {
        for partition in worker.partitions.keys {
            self.clientTimes[partition, default: []].append((self.steadyMillis, isThere))
        }
    }
}
