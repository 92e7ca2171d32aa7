import APNSSimulator
import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog
import PushWorker
import Upstream

/// One run: events and faults for a while, then quiet until everything has settled, then the judgement. Only the task
/// of the run uses it.
package final class ChaosRun {
    /// How long the run waits after the last fault until everything has settled.
    private static let settleDurationMax = Duration.seconds(240)
    private static let readyDurationMax = Duration.seconds(60)
    private static let tick = Duration.milliseconds(10)
    private static let progressDistance = Duration.seconds(2)
    static let readDurationMax = Duration.seconds(60)
    /// How long a settled run waits for records that are written once a minute at most.
    private static let uploadDurationMax = Duration.seconds(130)
    /// Time without a broadcast after which none is expected. No worker waits longer than this before it tries again.
    private static let broadcastQuiet = Duration.seconds(8)
    /// Number of looks in a row that must find nothing missing before the run counts as settled.
    private static let calmLooksMin = 3

    let stage: ChaosStage
    let wish: Wish
    let injector: ChaosInjector
    let publisher: StoryPublisher
    /// Publications that wait while a topic gets more partitions, in order.
    private var heldBack: [Publication] = []
    private var growth: ChaosFault?
    /// Faults of workers in a run where growth of a topic is the only fault.
    var growthFaults: [String] = []
    private var traffic: ChaosTraffic
    let channels: ChaosChannels
    private let audiences: ChaosAudiences
    var phones: ChaosPhones
    private(set) var publications: [Publication] = []
    /// Rotations that APNs does not know yet, oldest first.
    private var rotations: [(old: String, new: String, keepsOld: Bool, delayMillis: Int64, registration: Publication)] =
        []
    /// Registrations of new tokens, and when they are published, milliseconds since 1970.
    private var registrations: [(dueMillis: Int64, registration: Publication)] = []
    private var lastFault = ""
    /// Number of broadcasts so far.
    private var broadcastsSeen = 0
    /// When the last broadcast was seen.
    private var broadcastSeenAt = ContinuousClock.now
    var rolling: RollingRestart?
    let say: (String) -> Void

    /// Prepares a run.
    /// - Parameter say: takes a line for the person who watches.
    package init(stage: ChaosStage, wish: Wish, say: @escaping (String) -> Void) async throws {
        self.stage = stage
        self.wish = wish
        self.say = say
        self.injector = ChaosInjector(
            stage: stage, seed: wish.seed,
            releases: wish.former.map {
                ReleaseSchedule(
                    former: $0.executable, current: $0.current, workerCount: stage.workers.count,
                    durationMillis: Int64(wish.minutes * 60_000))
            })
        let settings = stage.kafkaSettings.appending("compression.codec", "lz4")
        self.publisher = try StoryPublisher(
            settings: stage.kafkaIsEmbedded ? settings.appending(EmbeddedKafka.producerSettings) : settings,
            topic: stage.topics.events[0], partitionCount: ChaosStage.partitionCount, log: { _ in })
        self.traffic = ChaosTraffic(
            activityCount: wish.activityCount, seed: wish.seed, hasWrongClocks: wish.former == nil,
            hasRefusables: wish.kinds.contains(.kafkaRefuses))
        self.phones = try ChaosPhones(journalPath: stage.journalPath, distanceMillis: ChaosStage.distanceMillis)
        self.audiences = try ChaosAudiences(
            count: wish.audienceCount, memberCount: wish.memberCount, startMemberCount: wish.startMemberCount,
            stage: stage, durationMillis: Int64(wish.minutes * 60_000), seed: wish.seed)
        self.channels = try await ChaosChannels(
            count: wish.channelCount, stage: stage, durationMillis: Int64(wish.minutes * 60_000), seed: wish.seed)
    }

    // MARK: Playing

    /// Plays events and faults for the requested time, then waits for quiet.
    package func play() async throws {
        try await self.ready()
        let plan = ChaosPlan(
            seed: self.wish.seed, durationMillis: Int64(self.wish.minutes * 60_000),
            sessionTimeoutMillis: self.stage.sessionTimeoutMillis, kinds: self.wish.kinds)
        let began = ContinuousClock.now
        let duration = Duration.milliseconds(Int64(self.wish.minutes * 60_000))
        var faults = plan.faults[...]
        var shownAt = began
        if self.wish.isRollingRestart {
            self.rolling = RollingRestart(stage: self.stage, nowMillis: Self.wallMillis())
        }
        while ContinuousClock.now - began < duration, self.rolling?.isDone != true {
            try StandardOutput.check()
            try await self.rolling?.advance(nowMillis: Self.wallMillis())
            let elapsedMillis = Int64((ContinuousClock.now - began) / .milliseconds(1))
            while let fault = faults.first, fault.atMillis <= elapsedMillis {
                faults.removeFirst()
                if fault.kind == .topicGrown {
                    self.growth = fault
                } else {
                    try await self.injector.inject(fault, nowMillis: elapsedMillis)
                }
                self.lastFault = fault.kind.rawValue
            }
            try await self.injector.advance(nowMillis: elapsedMillis)
            try self.publishDue(elapsedMillis)
            try await self.turn()
            try await self.growIfDue()
            if ContinuousClock.now - shownAt >= Self.progressDistance {
                shownAt = .now
                try await self.lookAtGrownWorkers()
                self.showProgress(elapsedMillis)
            }
            // Traffic and faults follow the real clock.
            try await Task.sleep(for: Self.tick)
        }
        try await self.settle()
    }

    /// Waits until every worker is ready.
    private func ready() async throws {
        let deadline = ContinuousClock.now + Self.readyDurationMax
        for worker in self.stage.workers {
            while try await !worker.isReady() {
                guard ContinuousClock.now < deadline, worker.isUp else {
                    throw CommandFailure("\(worker.name) was not ready in time: see \(worker.logPath)")
                }
                // The state of another process has to be polled.
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private func publishDue(_ elapsedMillis: Int64) throws {
        let channelRate = self.wish.channelCount == 0 ? 0 : self.wish.rate / ChannelTraffic.eventsPerChannelEvent
        for publication in self.channels.publications(
            nowMillis: elapsedMillis, wallMillis: Self.wallMillis(), rate: self.wish.rate)
        {
            try self.publish(publication)
        }
        for publication in self.audiences.publications(nowMillis: elapsedMillis, wallMillis: Self.wallMillis()) {
            try self.publish(publication)
        }
        for step in self.traffic.steps(nowMillis: Self.wallMillis(), rate: self.wish.rate - channelRate) {
            switch step {
            case .publish(let publication): try self.publish(publication)
            case .rotate(let old, let new, let keepsOld, let delayMillis, let registration):
                self.rotations.append((old, new, keepsOld, delayMillis, registration))
            }
        }
    }

    /// Lets a topic grow if its growth is due and Kafka has every record so far. Until then new publications are held
    /// back. Otherwise a record on an added partition could overtake one that the publisher still has.
    private func growIfDue() async throws {
        guard let growth = self.growth, self.publisher.isDelivered else { return }
        try await self.stage.grow(growth.choice)
        let topic = self.stage.topics.events[0]
        try self.publisher.grow(to: Int32(self.stage.partitions(of: topic).count))
        self.growth = nil
        self.injector.count(.topicGrown)
        self.lastFault = growth.kind.rawValue
        for publication in self.heldBack { try self.publish(publication) }
        self.heldBack = []
    }

    private func publish(_ publication: Publication) throws {
        guard self.growth == nil else {
            self.heldBack.append(publication)
            return
        }
        if let membership = publication.membership {
            if membership.isStartToken { self.phones.know(starter: membership.token) }
            if !self.phones.starters.knows(membership.token) { self.phones.know(member: membership.token) }
        }
        if let token = publication.token { self.phones.know(token: token, activity: publication.activity) }
        self.publications.append(publication)
        try self.publisher.publish(publication, recordMillis: publication.recordMillis ?? Self.wallMillis())
    }

    /// Follows the phones, rotates tokens, sends notices to APNs, and takes Kafka's acknowledgements.
    private func turn() async throws {
        var shown: [String] = []
        let rolling = self.rolling
        try self.phones.follow { activity, atMillis, isNewCard in
            if isNewCard { shown.append(activity) }
            rolling?.pushed(activity: activity, atMillis: atMillis)
        }
        if self.broadcastsSeen != self.phones.listeners.broadcastCount {
            self.broadcastsSeen = self.phones.listeners.broadcastCount
            self.broadcastSeenAt = .now
        }
        for activity in shown {
            guard
                case .rotate(let old, let new, let keepsOld, let delay, let registration) = self.traffic.cardShown(
                    activity)
            else { continue }
            self.rotations.append((old, new, keepsOld, delay, registration))
        }
        while let rotation = self.rotations.first {
            let body = "{\"state\":\"rotated\",\"to\":\"\(rotation.new)\",\"keepsOld\":\(rotation.keepsOld)}"
            let answer = try await LocalHTTP.post(
                "/tokens/\(rotation.old)", body: body, port: self.stage.apnsControlPort)
            // The simulated APNs is down, so the phone waits.
            guard let answer else { break }
            guard answer.status == 200 else {
                throw CommandFailure("the simulated APNs refused \(body): \(answer.body)")
            }
            self.rotations.removeFirst()
            self.registrations.append((Self.wallMillis() + rotation.delayMillis, rotation.registration))
        }
        try await self.channels.send()
        for publication in try await self.audiences.send(wallMillis: Self.wallMillis()) {
            try self.publish(publication)
        }
        let now = Self.wallMillis()
        let due = self.registrations.filter { $0.dueMillis <= now }
        self.registrations.removeAll { $0.dueMillis <= now }
        for (_, registration) in due {
            try self.publish(registration)
            self.traffic.registered(registration.activity)
        }
        try self.publisher.drain()
    }

    private static func wallMillis() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    private func showProgress(_ elapsedMillis: Int64) {
        let up = self.stage.workers.count { $0.isUp && !$0.isPaused }
        let seconds = elapsedMillis / 1_000
        self.say(
            String(format: "%02d:%02d", seconds / 60, seconds % 60)
                + "  \(NumberText.grouped(self.publications.count)) events · \(NumberText.grouped(self.phones.pushCount)) pushes"
                + " · \(NumberText.grouped(self.traffic.begunCount)) activities · \(up) of \(self.stage.workers.count) workers up"
                + " · \(self.injector.counts.values.reduce(0, +)) faults\(self.lastFault.isEmpty ? "" : ", the last: \(self.lastFault)")"
        )
    }

    // MARK: Settling

    private func settle() async throws {
        self.say("Faults end; waiting until everything has settled …")
        let deadline = ContinuousClock.now + Self.settleDurationMax
        var calmLooks = 0
        var calmSince = ContinuousClock.now
        var waitsFor = ""
        while ContinuousClock.now < deadline {
            try StandardOutput.check()
            try await self.injector.endAll(nowMillis: .max / 2)
            try await self.turn()
            try await self.growIfDue()
            waitsFor = try await self.unsettled() ?? ""
            calmLooks = waitsFor.isEmpty ? calmLooks + 1 : 0
            if calmLooks == Self.calmLooksMin { calmSince = .now }
            if calmLooks >= Self.calmLooksMin, ContinuousClock.now - calmSince < Self.uploadDurationMax,
                let untold = try await self.unreportedStarts()
            {
                waitsFor = untold
            } else if calmLooks >= Self.calmLooksMin {
                // APNs keeps the last broadcasts for phones that are away, so these phones have to come back before
                // they are judged.
                self.channels.wakeAll()
                try await self.turn()
                if self.channels.isUpToDate { return }
            }
            // The state of other processes has to be polled.
            try await Task.sleep(for: .milliseconds(300))
        }
        // No error is thrown here, because `judge` finds what is missing.
        self.say("Not settled after \(Self.settleDurationMax.components.seconds) s: \(waitsFor)")
    }

    /// What the run still waits for, in words. `nil` means nothing.
    private func unsettled() async throws -> String? {
        guard self.injector.isOver else { return "a process that is not up" }
        guard self.rotations.isEmpty, self.registrations.isEmpty else {
            return "\(self.rotations.count) rotated tokens"
        }
        guard self.channels.isUpToDate else { return "APNs to be told of phones that listen" }
        guard self.audiences.isUpToDate else { return "APNs to be told of members' tokens" }
        guard ContinuousClock.now - self.broadcastSeenAt >= Self.broadcastQuiet else { return "channels to be quiet" }
        guard self.growth == nil, self.publisher.isDelivered else {
            return "Kafka's acknowledgement of what was published"
        }
        for worker in self.stage.workers {
            guard let metrics = try await worker.metrics() else { return "\(worker.name) to answer" }
            for name in [
                "mailboat_events_pending", "mailboat_pushes_in_flight", "mailboat_members_waiting",
                "mailboat_starts_waiting", "mailboat_kafka_unacknowledged_records",
            ] {
                let value = PrometheusReading.sum(name, in: metrics)
                if value != 0 { return "\(worker.name): \(name) is \(Int(value))" }
            }
        }
        let behind = try await ChaosReading.positions(self.stage).filter {
            $0.endOffset > 0 && $0.committed != $0.endOffset
        }
        return behind.first.map { "the group to commit \($0.topicPartition) and \(behind.count - 1) more" }
    }

    // MARK: Judging

    /// Reads everything back and compares, after `play`. Throws a `CommandFailure` when nothing can be judged.
    package func judge() async throws -> ChaosVerdict {
        self.say("Reading back \(self.stage.topics.events[0]), outcomes and dead letters, comparing phones …")
        try self.phones.follow { _, _, _ in }
        if let truncated = try await ChaosReading.truncated(self.stage) {
            throw CommandFailure(
                "the embedded Kafka has dropped records (\(truncated)), so nothing can be judged: lower --rate, or give --bootstrap"
            )
        }
        var logs = ChaosAudit.Logs()
        try await self.tracesExported()
        logs.positions = try await ChaosReading.positions(self.stage)
        logs.events = try await ChaosReading.readAll(
            self.stage.topics.events[0], self.stage, within: Self.readDurationMax)
        logs.outcomes = try await ChaosReading.readAll(
            self.stage.topics.outcomes, self.stage, within: Self.readDurationMax)
        logs.deadLetters = try await ChaosReading.readAll(
            self.stage.topics.deadLetters, self.stage, within: Self.readDurationMax)
        let phones = self.phones.phones
        let stalls = self.stage.workers.flatMap { WorkerStall.read($0.logPath) }
        try await self.stage.gatherViolations()
        let channels = ChaosAudit.ChannelScene(
            listeners: self.phones.listeners,
            rules: BroadcastRules(
                distanceMillis: ChaosStage.channelDistanceMillis, resumedMillis: self.injector.resumedMillis,
                stalls: stalls), published: Set(self.channels.channels.map(\.id)), deleted: self.channels.deleted)
        let audiences = ChaosAudit.AudienceScene(
            members: self.phones.members, resumedMillis: self.injector.resumedMillis, stalls: stalls,
            dead: self.audiences.dead, budgetPerHour: ChaosStage.audienceBudgetPerHour,
            frequentBudgetPerHour: ChaosStage.frequentAudienceBudgetPerHour,
            broadcastCount: self.keptBroadcastCount, bothWays: self.bothWays(), repeats: self.phones.repeats.counts,
            silent: self.wish.former != nil ? [] : self.audiences.silent, isUndisturbed: self.isUndisturbed)
        let starts = ChaosAudit.StartScene(
            starters: self.phones.starters, perHour: ChaosStage.startsPerHour,
            resumedMillis: self.injector.resumedMillis, dead: self.audiences.dead,
            partitionCount: ChaosStage.partitionCount, isUndisturbed: self.isUndisturbed)
        let audit = try ChaosAudit(
            logs, publications: self.publications,
            acknowledgedCount: self.publisher.records.count { $0.offset != nil }, topic: self.stage.topics.events[0],
            partitionCount: ChaosStage.partitionCount, budgetPerHour: ChaosStage.budgetPerHour,
            refusals: self.injector.refusals.scene, channels: channels, audiences: audiences, starts: starts,
            phone: { phones.device(token: $0)?.device })
        var faults = audit.faults
        if audit.faultCount > audit.faults.count {
            faults.append("… and \(audit.faultCount - audit.faults.count) more")
        }
        faults += try await self.unaccounted(audit)
        // Violations about distances and stamps of broadcasts are left out here. `BroadcastRules` judges those by the
        // journal, which survives a kill of APNs, and excuses pauses.
        for violation in self.stage.channelViolations where violation.kind == .request || violation.kind == .payload {
            faults.append("channel \(violation.channel): \(violation.kind.rawValue): \(violation.detail)")
        }
        // A worker may end by itself, and is started again. A crash is a fault.
        faults += self.injector.crashes
        faults += self.releaseFaults()
        faults += self.haltFaults()
        faults += try await self.growthFaults(logs)
        let traces = self.traceAudit(audit)
        faults += traces?.faults ?? []
        let remarks = self.remarks(audit)
        let act = try await self.makeAnew(isTried: faults.isEmpty && audit.faultCount == 0)
        faults += act.faults
        let summary = ChaosSummary(
            minutes: self.wish.minutes,
            faults: Dictionary(
                uniqueKeysWithValues: self.wish.kinds.map { ($0.rawValue, self.injector.counts[$0] ?? 0) }),
            events: logs.events.count, pushesAccepted: self.phones.pushCount,
            duplicatePushes: self.phones.duplicatePushCount, duplicateAlerts: self.phones.duplicateAlertCount,
            duplicateStarts: self.phones.duplicateStartCount, eventsLost: audit.eventsLost,
            devicesChecked: audit.devicesChecked, devicesEquivalent: audit.devicesEquivalent,
            budgetViolations: audit.budgetViolations, channels: audit.channelCounts.channels,
            broadcasts: audit.channelCounts.broadcasts, listenersChecked: audit.channelCounts.listenersChecked,
            listenersEquivalent: audit.channelCounts.listenersEquivalent, audiences: audit.memberCounts.audiences,
            memberPushes: audit.memberCounts.pushes, duplicateMemberPushes: audit.memberCounts.repeats,
            memberPushesTooSoon: audit.memberCounts.tooClose, membersChecked: audit.memberCounts.checked,
            membersEquivalent: audit.memberCounts.equivalent, startOrders: audit.startCounts.orders,
            startCards: audit.startCounts.cards, startSecondCards: audit.startCounts.secondCards,
            startersChecked: audit.startCounts.checked, startersStarted: audit.startCounts.started,
            startersAccounted: audit.startCounts.accounted)
        return ChaosVerdict(
            summary: summary, faults: summary.faultsFound + faults,
            remarks: remarks + (traces.map { [$0.line] } ?? []) + act.remarks)
    }
}
