import PushEngine
import PushModel
import ShardLoop

/// How often Kafka clients of workers end by a fatal error. Drawn apart: a world without any is as it was.
struct ProducerPlan {
    /// Percent of records for `state` over which their client ends when they leave.
    var endPercent = 0
    /// Percent of attempts to make another that fail.
    var failurePercent = 0

    init() {}

    init(random: inout SplitMix64) {
        // One world in six.
        guard Int.random(in: 0..<6, using: &random) == 0 else { return }
        self.endPercent = [1, 3, 8].randomElement(using: &random)!
        self.failurePercent = [0, 0, 50].randomElement(using: &random)!
    }
}

/// A bound on how long clients end one after the other.
///
/// What a client leaves on its way may come to lie behind newer records of its keys, and compaction keeps the last one alone. So an owner has to find such a
/// record, and write over it, within `min.compaction.lag.ms` (Topics, "State"), half an hour at least. No promise holds where nothing can be written for longer.
struct ClientEnds {
    private var firstMillis: Int64 = .min
    private var lastMillis: Int64?

    /// Between two ends of this distance an owner writes what it owes.
    static let calmMillis: Int64 = 180_000
    static let troubleMillisMax: Int64 = 20 * 60_000

    /// Whether a client may end now; `false`: they have ended for long enough, and this one lives.
    mutating func mayGoOn(nowMillis: Int64) -> Bool {
        if self.lastMillis.map({ nowMillis - $0 >= Self.calmMillis }) ?? true { self.firstMillis = nowMillis }
        guard nowMillis - self.firstMillis < Self.troubleMillisMax else { return false }
        self.lastMillis = nowMillis
        return true
    }
}

/// Kafka clients that end while their process goes on, such as by a sequence number that the broker did not expect.
extension SimulationWorld {
    /// A record has left for `state`. Perhaps its client ends over it: it takes nothing more, what it had comes back, and some of that arrives all
    /// the same, at any later moment.
    func perhapsEndClient(of worker: SimulatedWorker) {
        guard self.faultsAreOn, worker.isAlive, !worker.clientHasEnded, self.plan.producers.endPercent > 0,
            !self.lateVoids.contains(where: { $0.transit.producer == worker.number }),
            Int.random(in: 0..<100, using: &self.producerRandom) < self.plan.producers.endPercent,
            self.clientEnds.mayGoOn(nowMillis: self.steadyMillis)
        else { return }
        self.tell("the Kafka client of worker \(worker.number) ends")
        self.noteClient(of: worker, isThere: false)
        self.noteStruck()
        worker.clientHasEnded = true
        // A restore may take the next epoch for another owner's, once compaction has taken the markers that say otherwise.
        for activity in self.phones.indices where worker.partitions[self.home(of: activity)]?.isRunning == true {
            self.noteUnrecordedPush(activity, worker: worker.number, isTakeover: true)
        }
        // What has been answered for and not heard of yet is never heard of.
        for index in worker.inbox.indices where worker.inbox[index].comesMillis > self.steadyMillis {
            worker.inbox[index].offset = nil
            worker.inbox[index].refusal = nil
            worker.inbox[index].comesMillis = self.steadyMillis
        }
        // Each of these may be written once more while it waits.
        worker.outdatedMax += worker.unacknowledgedCount
        worker.inbox += self.kafka.clientEnded(
            worker.number, nowMillis: self.steadyMillis, lateMillisMax: self.plan.lateMillisMax,
            random: &self.producerRandom)
    }

    /// Another client takes its place, if one can be made.
    func renewClient(of worker: SimulatedWorker) throws(LogFailure) {
        guard worker.isAlive else { return }
        if self.faultsAreOn, Int.random(in: 0..<100, using: &self.producerRandom) < self.plan.producers.failurePercent {
            throw LogFailure("no client can be made", isFinal: false)
        }
        if !worker.inbox.isEmpty {
            self.fail("worker \(worker.number) has another Kafka client before it has heard of what the one before had")
        }
        self.tell("worker \(worker.number) has another Kafka client")
        self.noteClient(of: worker, isThere: true)
        self.noteStruck()
        worker.clientHasEnded = false
        _ = self.burns(worker)
    }
    private func noteClient(of worker: SimulatedWorker, isThere: Bool) {
        for partition in worker.partitions.keys {
            self.clientTimes[partition, default: []].append((self.steadyMillis, isThere))
        }
    }
}
