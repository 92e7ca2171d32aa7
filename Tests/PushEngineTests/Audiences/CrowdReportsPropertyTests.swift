import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests a crowd's counts. Versions come and expire, and pushes are answered, in random order. The counts lose no
/// member, and all counts are reported in the end.
@Suite struct CrowdReportsPropertyTests {
    /// Members of a crowd, and what each of its versions owes them.
    private struct World {
        /// A model of one version, with flags for what has been reported of it.
        struct Model: Equatable {
            var due = 0
            var ended = 0
            var isUnreported = false
            var wasToldUnfinished = false
            var isRecordDue = false
        }
        var reports = CrowdReports()
        var random: SplitMix64
        var models: [Int64: Model] = [:]
        /// Stamps of the versions, the newest last.
        var versions: [Int64] = []
        /// The version of each push in flight, as a stamp. A member has at most one push in flight.
        var flying: [Int64] = []
        /// Number of members that are owed the newest version and have no push in flight.
        var owed = 0
        var told: [Int64: CrowdReport] = [:]
        var refused = 0
        var nowMillis: Int64 = 0
        var stampSeconds: Int64 = 0
        var reached: Set<[UInt8]> = []
        var effects: Set<[Bool]> = []

        init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

        mutating func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.random) }
        var newest: Int64 { self.reports.newest.stampSeconds }
        var isFinished: Bool { self.owed == 0 && !self.flying.contains(self.newest) }

        mutating func carryOut(_ effects: CrowdReports.Effects) {
            self.refused += effects.refusedStep
            self.effects.insert([effects.refusedStep > 0, effects.refusedStep < 0, effects.reportsFormer])
            if effects.reportsFormer { self.makeFormerReports() }
        }
        mutating func makeFormerReports() {
            let versions = self.versions
            let untold = self.models.keys.filter { $0 != self.newest && self.models[$0]!.isUnreported }
            let isFull = self.reports.former.count > CrowdReports.formerMax
            let told = self.reports.makeFormerReports { versions.contains($0) }
            #expect(Set(told.map(\.stampSeconds)) == Set(untold))
            for report in told {
                self.told[report.stampSeconds] = report
                self.models[report.stampSeconds]?.isUnreported = false
            }
            // The model forgets versions that are no longer counted.
            let kept = Set(self.reports.former.map(\.counts.stampSeconds) + [self.newest])
            for stamp in self.models.keys where !kept.contains(stamp) {
                let model = self.models.removeValue(forKey: stamp)!
                #expect(model.due == model.ended || isFull)
            }
        }
        private mutating func setAside() {
            guard var model = self.models[self.newest] else { return }
            model.isUnreported = model.isUnreported || model.isRecordDue
            (model.wasToldUnfinished, model.isRecordDue) = (false, false)
            self.models[self.newest] = model
        }

        mutating func versionComes() {
            self.setAside()
            self.stampSeconds += 1
            let before = self.newest
            self.versions = self.versions.suffix(2) + [self.stampSeconds]
            var version = Version()
            version.stampSeconds = self.stampSeconds
            self.carryOut(self.reports.versionCame(version, listeners: ListenerCounts()))
            let members = 1 + self.draw(6)
            self.reports.settled(due: members, count: self.owed, isNewerThere: true, into: .superseded)
            if self.owed > 0 {
                self.models[before]?.ended += self.owed
                self.models[before]?.isUnreported = true
            }
            self.models[self.stampSeconds] = Model(due: members, isUnreported: true)
            self.owed = members
            self.makeFormerReports()
        }
        mutating func newestExpires() {
            guard let expired = self.versions.popLast() else { return }
            let owed = self.owed
            self.reports.settled(due: 0, count: owed, isNewerThere: false, into: .expired)
            self.models[expired]?.ended += owed
            if owed > 0 { self.models[expired]?.isUnreported = true }
            self.reports.revived(owed)
            guard let back = self.versions.last else {
                self.owed = 0
                return self.carryOut(self.reports.newestExpired(leaving: nil, listeners: ListenerCounts()))
            }
            self.setAside()
            let superseded = Int(self.reports.formerCounts(back)?.counts.superseded ?? 0)
            var model = self.models[back] ?? Model()
            model.ended -= min(owed, superseded)
            model.due += owed - min(owed, superseded)
            model.isUnreported = true
            self.models[back] = model
            self.carryOut(self.reports.newestExpired(leaving: back, listeners: ListenerCounts()))
        }
        /// A member joins late. The join alone makes no report due.
        mutating func memberComes() {
            guard let newest = self.versions.last else { return }
            self.reports.becameDue(1)
            self.models[newest]?.due += 1
            self.owed += 1
        }
        mutating func sends() {
            guard self.owed > 0, !self.versions.isEmpty else { return }
            self.owed -= 1
            self.flying.append(self.newest)
        }
        mutating func answers() {
            guard !self.flying.isEmpty else { return }
            let stamp = self.flying.remove(at: self.draw(self.flying.count))
            let ends: [MemberEnd] = [.ended(.accepted), .ended(.gone), .ended(.failed), .ended(.left), .waits]
            // Without a version no member can wait for one.
            let end = ends[self.draw(self.versions.isEmpty ? 4 : 5)]
            let isAccepted = if case .ended(.accepted) = end { true } else { false }
            let isNewest = stamp == self.newest
            if case .waits = end {
                self.owed += 1
                self.models[stamp]?.ended += isNewest ? 0 : 1
                let newest = self.newest
                if !isNewest { self.models[newest]?.due += 1 }
            } else {
                self.models[stamp]?.ended += 1
            }
            self.models[stamp]?.isUnreported = true
            self.carryOut(
                self.reports.answered(
                    PushAnswer(
                        id: PushID(rawValue: 1), result: isAccepted ? .accepted : .unknown(detail: ""), apnsMicros: 1),
                    end: end, stampSeconds: stamp, wallMillis: self.nowMillis))
        }
        mutating func makesReport() {
            let (newest, isFinished) = (self.newest, self.isFinished)
            var model = self.models[newest] ?? Model()
            let isToBeReported = newest > 0 && (model.isUnreported || isFinished && model.wasToldUnfinished)
            #expect(self.reports.isToBeReported(isFinished: isFinished) == isToBeReported)
            if isToBeReported {
                let told = self.reports.makeReport(
                    isFinished: isFinished, listeners: ListenerCounts(), nowMillis: self.nowMillis)
                self.told[newest] = told
                (model.isUnreported, model.wasToldUnfinished) = (false, !isFinished)
                model.isRecordDue = told.stampSeconds == newest
            }
            if isFinished, self.reports.record(nowMillis: self.nowMillis) != nil { model.isRecordDue = false }
            if newest > 0 { self.models[newest] = model }
        }
        mutating func check() {
            for former in self.reports.former {
                let model = self.models[former.counts.stampSeconds]
                #expect(model.map { $0.due - $0.ended } == Int(former.counts.waitingCount))
                #expect(model?.isUnreported == (former.owner == .toReport))
            }
            if let model = self.models[self.newest] {
                #expect(model.due - model.ended == Int(self.reports.newest.waitingCount))
                let telling = self.reports.schedule
                #expect(model.isUnreported == (telling.owner == .toReport))
                #expect((!model.isUnreported && model.wasToldUnfinished) == (telling.owner == .toReportEnd))
                #expect(model.isRecordDue == (telling.record == .toWrite))
                #expect(telling.isOpen == (model.isUnreported || model.wasToldUnfinished || model.isRecordDue))
            }
            #expect(self.refused == self.reports.refusedCount)
            self.reached.insert([self.reports.schedule.owner.rawValue, self.reports.schedule.record.rawValue])
        }
    }

    @Test func countsAreConservedAndTold() {
        var reached: Set<[UInt8]> = []
        var effects: Set<[Bool]> = []
        for seed in UInt64(1)...60 {
            var world = World(seed: seed)
            for _ in 0..<400 {
                world.nowMillis += Int64(world.draw(3)) * 1_000
                switch world.draw(17) {
                case 0: world.versionComes()
                case 1: world.newestExpires()
                case 2...6: world.sends()
                case 7...12: world.answers()
                case 13: world.memberComes()
                default: world.makesReport()
                }
                world.check()
            }
            // In the end every push has an answer, and the last report has all that was counted.
            while world.owed > 0 || !world.flying.isEmpty {
                world.sends()
                world.answers()
                world.check()
            }
            world.makesReport()
            world.makeFormerReports()
            for (stamp, model) in world.models {
                guard let told = world.told[stamp] else { continue }
                #expect(Int(told.counts.due) == model.due && model.due == model.ended && told.waitingCount == 0)
            }
            reached.formUnion(world.reached)
            effects.formUnion(world.effects)
        }
        #expect(reached.count == 5, "every state of telling, but for that of a version whose counts another owner has")
        #expect(effects.contains([true, false, false]) && effects.contains([false, true, false]))
        #expect(effects.contains { $0[2] }, "a former version is told")
    }
}
