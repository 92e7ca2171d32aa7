import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Operators' commands that pause and resume passes. The judge compares the offsets of their records in `routed` with
/// the offsets up to which workers have read `routed`.
extension SimulationWorld {
    /// Time within which workers must obey a pause.
    static let obedienceMillis: Int64 = 1_000

    // MARK: Orders

    /// Perhaps lets an operator pause passes now, and resume them later.
    func perhapsPause() {
        guard self.faultsAreOn, Int.random(in: 0..<100, using: &self.pauseRandom) < self.plan.audiences.pausePercent,
            let audience = self.presentAudiences.randomElement(using: &self.pauseRandom),
            let life = self.phones[audience].audience
        else { return }
        let isOfApp = Int.random(in: 0..<4, using: &self.pauseRandom) == 0
        let meant = isOfApp ? self.presentAudiences.filter { self.phones[$0].audience?.app == life.app } : [audience]
        // An audience that has ended is forgotten after a while, even if a pause keeps the end from its phones.
        guard meant.allSatisfy({ self.phones[$0].audience?.ends.isEmpty ?? true }) else { return }
        let target = isOfApp ? SimulatedPause.Target.app(life.app) : .audience(first: life.first)
        let isCut = Int.random(in: 0..<5, using: &self.pauseRandom) == 0
        let last = self.plan.partitions - 1
        if isCut {
            self.carryOut(
                SimulatedOrder(
                    target: target, isPaused: true, dueMillis: self.steadyMillis,
                    partitions: 0...Int32.random(in: 0...last, using: &self.pauseRandom)))
        }
        var order = SimulatedOrder(
            target: target, isPaused: true,
            dueMillis: self.steadyMillis + (isCut ? Int64.random(in: 0...5_000, using: &self.pauseRandom) : 0),
            partitions: 0...last)
        self.orders.append(order)
        // Passes are resumed before waiting members are forgotten, and before a start expires.
        let longest = min(self.plan.app.retentionAfterEndMillis, 1_200_000) / 3
        let range = [50...2_000, 2_000...60_000, 60_000...max(60_000, longest)].randomElement(using: &self.pauseRandom)!
        order.isPaused = false
        order.dueMillis += Int64.random(in: range, using: &self.pauseRandom)
        self.orders.append(order)
    }

    /// Carries out the commands that are due.
    func carryOutOrders() {
        guard !self.orders.isEmpty else { return }
        let due = self.orders.filter { $0.dueMillis <= self.steadyMillis }
        self.orders.removeAll { $0.dueMillis <= self.steadyMillis }
        for order in due { self.carryOut(order) }
    }

    private func carryOut(_ order: SimulatedOrder) {
        var (app, id): (UInt16, String?) = (0, nil)
        switch order.target {
        case .app(let number): app = number
        case .audience(let first):
            app = self.phones[first].audience?.app ?? 0
            id = self.phones[first].key
        }
        self.log(
            "an operator \(order.isPaused ? "pauses" : "resumes") \(order.target) on partitions \(order.partitions)")
        let record = PauseRecord.make(
            bundleID: self.plan.apps[Int(app)].bundleID, audience: id, isPaused: order.isPaused)
        var logged = LoggedRecord(key: record.key, value: record.value, timestampMillis: self.wallMillis)
        if let kind = RoutedKind.pause.name { logged.headers.append((RecordHeader.kind.text, "\(kind)")) }
        for partition in order.partitions {
            let offset = self.kafka.append(
                logged, to: SimulatedKafka.LogID(topic: .routed, partition: partition), nowMillis: self.steadyMillis)
            self.pauses[partition, default: []].append(
                SimulatedPause(
                    target: order.target, isPaused: order.isPaused, offset: offset, millis: self.steadyMillis))
        }
    }

    /// Resumes everything that is still paused.
    func resumeAll() {
        guard !self.pauses.isEmpty else { return }
        self.orders.removeAll { $0.isPaused }
        var targets: [SimulatedPause.Target] = []
        for pause in self.pauses.values.joined() where !targets.contains(pause.target) { targets.append(pause.target) }
        targets.sort { "\($0)" < "\($1)" }
        for target in targets {
            self.orders.append(
                SimulatedOrder(
                    target: target, isPaused: false,
                    dueMillis: self.steadyMillis + Int64.random(in: 0...60_000, using: &self.pauseRandom),
                    partitions: 0...(self.plan.partitions - 1)))
        }
    }

    // MARK: The judge

    /// Remembers that some worker has read `routed` in the partition up to this offset.
    func rememberRoutedRead(_ partition: Int32, upTo end: Int64) {
        self.routedReadEnds[partition] = max(self.routedReadEnds[partition] ?? 0, end)
    }

    /// Checks that a push to a member does not leave while the audience is paused. A pause counts from the moment at
    /// which the partition's owner must know of it.
    func checkPaused(_ audience: Int, partition: Int32, worker: SimulatedWorker, whose: @autoclosure () -> String) {
        guard let pauses = self.pauses[partition], let owned = worker.partitions[partition],
            let life = self.phones[audience].audience
        else { return }
        let read = owned.positions[1]
        for target in [SimulatedPause.Target.app(life.app), .audience(first: life.first)] {
            let meant = pauses.filter { $0.target == target }
            // A command that a former owner has read may be in `state`, even if its offset was not committed.
            let possible = meant.filter { $0.offset >= read && $0.offset < self.routedReadEnds[partition] ?? 0 }
            if let last = meant.last(where: { $0.offset < read }), last.isPaused,
                possible.allSatisfy(\.isPaused)
            {
                self.fail("\(whose()): pushed while \(target) is paused by \(last.offset) of routed \(partition)")
            }
            if let late = self.overlooked(meant.filter { $0.offset >= read }, owned: owned, worker: worker) {
                self.fail(
                    "\(whose()): pushed \(self.steadyMillis - late.millis) ms after \(target) was paused by \(late.offset) of routed \(partition)"
                )
            }
        }
    }

    /// A pause that has waited in `routed` for too long, although nothing keeps the owner from reading it. `nil`: there
    /// is none. A pause does not count if an unread command resumes the same target.
    private func overlooked(
        _ unread: [SimulatedPause], owned: SimulatedWorker.Owned, worker: SimulatedWorker
    ) -> SimulatedPause? {
        guard let first = unread.first, first.isPaused, unread.allSatisfy(\.isPaused) else { return nil }
        let since = self.steadyMillis - Self.obedienceMillis
        guard first.millis < since, owned.isRunning, owned.runsSinceMillis < since, !owned.hasHadNoRoom,
            self.brokerAwayUntilMillis < since, worker.runsSinceMillis < since, !worker.isStopping,
            self.plan.partialReadPercent == 0, self.plan.queueFullPercent == 0
        else { return nil }
        return first
    }
}
