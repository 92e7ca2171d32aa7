import PushModel
import Testing

@testable import PushEngine

/// Tests how a crowd is restored from its records, without an engine around it.
@Suite struct CrowdRestoreTests {
    private static func version(_ stampSeconds: Int64, alert: Bool = false) -> Version {
        GoldenParts.version {
            ($0.life, $0.stampSeconds) = (1, stampSeconds)
            if alert { $0.layer.alert = $0.layer.append(Array(#"{"title":"Goal"}"#.utf8).span) }
        }
    }
    private static func record(_ versions: [Version], orders: [StartOrder] = []) -> VersionsRecord {
        var record = VersionsRecord()
        (record.life, record.stampSeconds) = (1, versions.last?.stampSeconds ?? 0)
        (record.versions, record.orders) = (versions, orders)
        return record
    }
    private static func progress(_ stampSeconds: Int64, servedJoins: Int64 = 0) -> PassesRecord {
        var progress = PassesRecord()
        (progress.life, progress.stampSeconds, progress.servedJoins) = (1, stampSeconds, servedJoins)
        (progress.lastJoinSeconds, progress.delayedMovesUntilSeconds) = (40, 50)
        return progress
    }
    private static func crowd(id: String = "match-7") -> Crowd {
        var crowd = Crowd()
        crowd.begin(app: 0, id: Array(id.utf8), reference: 7, partition: 0)
        return crowd
    }

    /// A record that names the crowd, or the tombstone of such a record.
    private enum Read: CaseIterable {
        case progress, versions, noProgress, noVersions

        func isRead(by crowd: inout Crowd) {
            switch self {
            case .progress: crowd.restored(CrowdRestoreTests.progress(3))
            case .versions:
                crowd.restored(
                    CrowdRestoreTests.record([CrowdRestoreTests.version(3)], orders: [GoldenParts.order()]))
            case .noProgress: crowd.restoredTombstone(of: .progress)
            case .noVersions: crowd.restoredTombstone(of: .versions)
            }
        }
    }
    /// A crowd keeps its name while any record that contains it is left. The last record read of each kind counts.
    @Test func whatWasReadLastOfEachKindCounts() {
        var reached: Set<[Bool]> = []
        for seed in UInt64(1)...200 {
            var random = SplitMix64(seed: seed)
            var crowd = Self.crowd()
            var (hasProgress, hasVersions) = (false, false)
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let read = Read.allCases.randomElement(using: &random)!
                // The reader of a record gives the crowd its name. A tombstone only concerns a crowd that has a name.
                if crowd.id.isEmpty { crowd.restoredName(app: 0, id: [1]) }
                read.isRead(by: &crowd)
                switch read {
                case .progress: hasProgress = true
                case .versions: hasVersions = true
                case .noProgress: hasProgress = false
                case .noVersions: hasVersions = false
                }
                let isNamed = hasProgress || hasVersions
                #expect(crowd.takeover.isNamed == isNamed && crowd.id.isEmpty == !isNamed)
                #expect(crowd.lastJoinSeconds == (hasProgress ? 40 : 0))
            }
            reached.insert([hasProgress, hasVersions])
            let restored = crowd.resume(nowMillis: 9)
            #expect(restored.progress.stampSeconds == (hasProgress ? 3 : 0))
            #expect(restored.newest?.stampSeconds == (hasVersions ? 3 : nil))
            #expect((crowd.starts.restored.order != nil) == hasVersions)
            #expect(crowd.versions.count == (hasProgress && hasVersions ? 1 : 0))
            #expect(restored.newer.count == (!hasProgress && hasVersions ? 1 : 0))
            #expect(crowd.delayedMovesUntilSeconds == (hasProgress ? 50 : 0))
            #expect(
                crowd.hasHadTens(nowMillis: 10) == (hasProgress && hasVersions), "the owner before may have sent some")
            #expect(crowd.versions.life == (hasProgress || hasVersions ? 1 : 0))
            let again = crowd.resume(nowMillis: 9)
            #expect(again.progress.stampSeconds == 0, "it is given back once")
        }
        #expect(reached.count == 4)
    }
    /// The progress record says which restored members have been served. The others count as late, unless their own
    /// records say that they were known. A member whose record names the current alert is owed that alert.
    @Test func joinsAreToldApart() {
        var crowd = Self.crowd()
        for (number, (offset, isKnown, alert)) in [
            (Int64(4), false, Int64(0)), (5, false, 0), (6, true, 0), (7, true, 3), (8, false, 2),
        ].enumerated() {
            crowd.restored(
                RestoredJoin(
                    member: MemberID(rawValue: Int32(number)), isKnown: isKnown, offset: offset,
                    owedAlertStampSeconds: alert))
        }
        crowd.restored(Self.progress(3, servedJoins: 5))
        crowd.restored(Self.record([Self.version(2), Self.version(3, alert: true)]))
        let restored = crowd.resume(nowMillis: 9)
        #expect(restored.joins.map(\.offset) == [5, 6, 7, 8])
        #expect(restored.owedJoins.map(\.offset) == [7], "the alert of version 2 is not there")
        #expect(restored.lateJoins.map(\.offset) == [5, 8])
    }
    @Test func aJoinThatNamesItForgetsWhatWasRead() {
        var crowd = Self.crowd(id: "")
        crowd.restored(RestoredJoin(member: MemberID(rawValue: 1), offset: 4))
        crowd.joined(seconds: 90)
        crowd.named(app: 1, id: [2])
        crowd.introduced(joinedSeconds: 70)
        #expect(crowd.app == 1 && crowd.id == [2] && crowd.lastJoinSeconds == 70)
        #expect(crowd.resume(nowMillis: 9).joins.isEmpty)
    }
    /// A restored void ends the crowd's life, so the crowd's versions are dropped.
    @Test func aVoidTakesTheVersions() {
        var crowd = Self.crowd()
        crowd.restored(Self.record([Self.version(3, alert: true)]))
        crowd.restoredVoid(ofLife: 4)
        crowd.left()
        #expect(crowd.standing == .leaving && crowd.standing.isOver)
        #expect(crowd.versions.isEmpty && crowd.versions.alert == nil && crowd.versions.life == 4)
    }
}

/// Tests the life of a crowd, and what it knows of its members and of its audience's owner.
@Suite struct CrowdLifeTests {
    @Test func aPlaceIsTakenAndGivenBack() {
        var crowd = Crowd()
        #expect(crowd.standing == .gone && !crowd.standing.isOver)
        crowd.begin(app: 2, id: [1], reference: 7, partition: 3)
        #expect(crowd.standing == .living && crowd.app == 2 && crowd.reference == 7 && crowd.partition == 3)
        let tooEarly = crowd.voidAcknowledged()
        #expect(!tooEarly, "no void is on its way")
        crowd.voided()
        #expect(crowd.standing == .toBeVoided && crowd.standing.isOver)
        let isNext = crowd.voidAcknowledged()
        #expect(isNext && crowd.standing == .leaving)
        crowd.end()
        #expect(
            crowd.standing == .gone && crowd.id.isEmpty && crowd.generation == 1,
            "what names the one before is told apart")
        crowd.begin(app: 2, id: [1], reference: 7, partition: 3)
        crowd.left()
        #expect(crowd.standing == .leaving && crowd.generation == 1)
    }
    /// A crowd's state says what has to be done when the crowd is due.
    @Test func eachStateHasANeed() {
        var crowd = Crowd()
        #expect(crowd.need == .nothing && !crowd.isNameless, "the slot is free")
        crowd.begin(app: 0, id: [], reference: 7, partition: 0)
        #expect(crowd.need == .name && crowd.isNameless && crowd.isNamed(by: 7) && !crowd.isNamed(by: 8))
        crowd.named(app: 0, id: [1])
        #expect(crowd.need == .service && !crowd.isNameless)
        crowd.voided()
        #expect(crowd.need == .nothing, "its void comes first")
        _ = crowd.voidAcknowledged()
        #expect(crowd.need == .removal)
    }
    /// A leaver's record names the audience that the member left, unless the member had come from another audience
    /// within the hour.
    @Test(arguments: [false, true]) func aLeaverIsRemembered(hasMoved: Bool) {
        var crowd = Crowd()
        crowd.begin(app: 0, id: [1], reference: 7, partition: 3)
        let token: [UInt8] = [1, 2]
        let leaver = crowd.leaver(token.span, hasMoved: hasMoved, hadTens: true, nowMillis: 1_000)
        #expect(leaver.token == token && leaver.hadTens && leaver.untilMillis == 3_601_000)
        #expect(leaver.reference == (hasMoved ? 0 : 7))
        var leavers = RecentLeavers()
        let key = FanOut.DepartedKey(partition: 3, position: 5)
        leavers.remember(leaver, of: key)
        let comes = crowd.comesFromAnother(key, among: leavers, nowMillis: 2_000)
        #expect(comes == hasMoved, "one that comes back to its audience has moved nowhere")
        #expect(crowd.comesFromAnother(key, among: leavers, nowMillis: 3_601_000) == false)
    }
    @Test func theNewestJoinCounts() {
        var crowd = Crowd()
        for seconds in [UInt32(5), 9, 7] { crowd.joined(seconds: seconds) }
        #expect(crowd.lastJoinSeconds == 9)
    }
    /// A void removes members of a life that has ended, and members that joined longer ago than a card can live.
    @Test func aVoidIsForMembersThatWereThere() {
        var crowd = Crowd()
        crowd.joined(seconds: 1_000)
        let (ended, forgotten) = (BusRecord.Void(life: 1, isEnded: true), BusRecord.Void(life: 1))
        #expect(
            crowd.isOver(by: ended, lifetimeMillis: 60_000, nowSeconds: 1_059) == false, "they wait for the next life")
        #expect(crowd.isOver(by: forgotten, lifetimeMillis: 60_000, nowSeconds: 1_060) == true)
        var version = Version()
        (version.life, version.stampSeconds) = (1, 1)
        _ = crowd.take(version)
        #expect(crowd.isOver(by: ended, lifetimeMillis: 60_000, nowSeconds: 1_001) == true)
        #expect(crowd.isOver(by: forgotten, lifetimeMillis: 60_000, nowSeconds: 1_001) == false)
    }
    @Test func itsOwnerIsAskedOnce() {
        var crowd = Crowd()
        let now = EngineTime(steadyMillis: 1_000, wallMillis: 500_000)
        #expect(crowd.nextDueMillis(now: now) == .max)
        crowd.ask(atMillis: 6_000)
        #expect(crowd.nextDueMillis(now: now) == 6_000)
        let isTooEarly = crowd.asksAgain(nowMillis: 5_999)
        let isAsked = crowd.asksAgain(nowMillis: 6_000)
        #expect(!isTooEarly && isAsked)
        #expect(crowd.nextDueMillis(now: now) == .max)
        var version = Version()
        (version.life, version.stampSeconds, version.layer.expiresSeconds) = (1, 1, 502)
        _ = crowd.take(version)
        #expect(crowd.nextDueMillis(now: now) == 3_000, "it expires")
        crowd.progressed()
        #expect(crowd.nextDueMillis(now: now) == 1_000, "the first progress is written at once")
    }
    /// A member that came from another audience is marked for an hour, or longer if the member's record was delayed.
    @Test func aMoveIsOverAfterAnHour() {
        var crowd = Crowd()
        crowd.moved(joinedSeconds: 1_000, nowSeconds: 1_001)
        #expect(crowd.delayedMovesUntilSeconds == 0 && !crowd.records.isProgressDue, "its record came at once")
        #expect(crowd.isMoveOver(joinedSeconds: 1_000, nowSeconds: 4_600) == false)
        #expect(crowd.isMoveOver(joinedSeconds: 1_000, nowSeconds: 4_601) == true)
        crowd.moved(joinedSeconds: 1_000, nowSeconds: 2_000)
        #expect(crowd.delayedMovesUntilSeconds == 5_661 && crowd.records.isProgressDue)
        #expect(crowd.isMoveOver(joinedSeconds: 1_000, nowSeconds: 5_660) == false)
        crowd.moved(joinedSeconds: 1_000, nowSeconds: 2_060)
        #expect(crowd.delayedMovesUntilSeconds == 5_661, "it is written down once a minute")
        crowd.moved(joinedSeconds: 1_000, nowSeconds: 2_061)
        #expect(crowd.delayedMovesUntilSeconds == 5_722)
    }
    @Test func tensCountForAnHour() {
        var crowd = Crowd()
        #expect(crowd.hasHadTens(nowMillis: 0) == false)
        crowd.sentHigh(nowMillis: 1_000)
        #expect(crowd.hasHadTens(nowMillis: 3_600_999) && !crowd.hasHadTens(nowMillis: 3_601_000))
    }
}
