import PushModel
import Testing

@testable import PushEngine

/// Tests a crowd without an engine around it: what members are owed when versions come and go, when the crowd is due,
/// and how its starts begin and end.
@Suite struct CrowdTurnTests {
    /// A crowd with members in one ring and start members in another.
    private final class Scene {
        static let now = EngineTime(steadyMillis: 10_000, wallMillis: 100_000)
        var crowds: CrowdTable
        var pushes = MemberPushStore()
        var lanes = NumberedArray<LaneIndex, Lane>()
        let crowd: CrowdID
        let members: CrowdTable.Members
        let startRound: Int
        let lane = LaneIndex(app: 0, environment: .production)

        init(memberCount: UInt8 = 3) {
            var crowds = CrowdTable(seed: 1)
            crowds.addPartition(0)
            let crowd = crowds.make(app: 0, id: [1], reference: 7, partition: 0)
            let members = crowds.members(of: crowd)
            let pass = crowds.passIndex(crowd, environment: .production)
            let ring = crowds[crowd].passes[pass].ring
            let start = crowds.startRound(of: crowd, environment: .production)!
            for number in 0..<memberCount {
                let token = Array(repeating: number, count: 32)
                let member = members.table.insert(token.span, in: ring, joinedSeconds: 50)
                _ = crowds[crowd].entered(
                    member, as: .anew, pass: pass, notBeforeMillis: .min, distanceMillis: 1_000, nowMillis: 0,
                    in: &members.table)
                let startToken = Array(repeating: 100 + number, count: 32)
                let starter = members.table.insert(startToken.span, in: start.ring, joinedSeconds: 50)
                _ = crowds[crowd].starts.joined(
                    starter, of: start.round, says: [], isNew: true, joinedSeconds: 50, in: &members.table,
                    now: Self.now)
            }
            self.crowd = crowd
            self.members = members
            self.startRound = start.round
            self.crowds = crowds
            for _ in 0...self.lane.index { self.lanes.append(Lane(route: 0)) }
        }
        func take(_ stampSeconds: Int64, hasAlert: Bool = false, expiresSeconds: Int64 = .max) -> Crowd.Settled {
            var version = Version()
            (version.life, version.stampSeconds, version.layer.expiresSeconds) = (1, stampSeconds, expiresSeconds)
            if hasAlert { version.layer.alert = ByteRange(start: 0, count: 1) }
            let former = self.crowds[self.crowd].alertStampSeconds
            let dropped = self.crowds[self.crowd].take(version)
            return self.crowds[self.crowd].goRound(
                version, pass: 0, dropping: dropped, formerAlertStampSeconds: former, distanceMillis: 1_000,
                now: Self.now, in: &self.members.table)
        }
        func queuePasses() -> Int64 {
            self.crowds[self.crowd].queuePasses(
                as: self.crowd, distanceMillis: 1_000, nowMillis: Self.now.steadyMillis, in: &self.lanes)
        }
        func beginStart(_ stampSeconds: Int64 = 100) -> CrowdStarts.Begun {
            var order = StartOrder()
            (order.life, order.stampSeconds, order.expiresSeconds) = (1, stampSeconds, stampSeconds + 900)
            var entries: [RingEntry] = []
            return self.crowds[self.crowd].starts.startCame(order, in: &self.members.table, entries: &entries)
        }
        func queueStarts(mayWrite: Bool = true, mayStart: Bool = true) -> Int64 {
            self.crowds[self.crowd].queueStarts(
                as: self.crowd, mayWrite: mayWrite, mayStart: mayStart, StartTerms(resends: true, spreadMillis: 0),
                in: self.members.table, lanes: &self.lanes, now: Self.now)
        }
    }

    // MARK: Versions
    /// A new version is due to all members of the ring. The crowd tells how many of them were still owed the version
    /// before.
    @Test func aVersionReplacesWhatWasOwed() {
        let scene = Scene()
        let first = scene.take(100)
        #expect(first == Crowd.Settled(members: Pass.Owed(), alertStampSeconds: 0, due: 3, isNewerThere: true))
        let second = scene.take(110)
        #expect(second == Crowd.Settled(members: Pass.Owed(all: 3), alertStampSeconds: 0, due: 3, isNewerThere: true))
        let ended = scene.crowds[scene.crowd].endRounds(pass: 0, in: &scene.members.table)
        #expect(ended == Crowd.Settled(members: Pass.Owed(all: 3), alertStampSeconds: 0))
    }
    /// An alert and a version each expire once, and are then owed to no member.
    @Test func whatExpiresIsOwedToNobody() {
        let scene = Scene()
        _ = scene.take(90, hasAlert: true, expiresSeconds: 150)
        let tooEarly = scene.crowds[scene.crowd].hasExpired(nowSeconds: 149)
        let isDue = scene.crowds[scene.crowd].hasExpired(nowSeconds: 150)
        #expect(!tooEarly && isDue)
        let alert = scene.crowds[scene.crowd].expireAlert(nowSeconds: 150)
        #expect(alert == Crowd.ExpiredAlert(stampSeconds: 90, former: nil))
        let again = scene.crowds[scene.crowd].expireAlert(nowSeconds: 150)
        #expect(again == nil)
        let hasExpired = scene.crowds[scene.crowd].expireNewest(nowSeconds: 150)
        let round = scene.crowds[scene.crowd].expireNewest(pass: 0, in: &scene.members.table)
        #expect(hasExpired && round.owed == 3 && round.left == 0)
        let isMore = scene.crowds[scene.crowd].expireNewest(nowSeconds: 150)
        let waitingCount = scene.crowds[scene.crowd].waitingCount
        #expect(!isMore && waitingCount == 0)
    }
    /// What a member was owed is settled when the member leaves.
    @Test func whoLeavesIsOwedNothing() {
        let scene = Scene()
        _ = scene.take(100)
        let token = Array(repeating: UInt8(0), count: 32)
        let member = scene.members.table.find(token.span)
        let left = scene.crowds[scene.crowd].left(
            member, distanceMillis: 1_000, nowMillis: 0, in: &scene.members.table)
        #expect(left?.settled == Crowd.Settled(members: Pass.Owed(all: 1), alertStampSeconds: 0))
    }

    // MARK: Turns
    /// A pass enters its lane's queue a single time. It does not enter while the crowd has no version or the lane has
    /// no route.
    @Test func aPassIsQueuedOnce() {
        let scene = Scene()
        #expect(scene.queuePasses() == .max && scene.lanes[scene.lane].passes.isEmpty, "there is no version")
        _ = scene.take(100)
        scene.lanes[scene.lane].route = nil
        #expect(scene.queuePasses() == .max && scene.lanes[scene.lane].passes.isEmpty, "there is no route")
        scene.lanes[scene.lane].route = 0
        for _ in 0..<2 { _ = scene.queuePasses() }
        let reference = PassReference(crowd: scene.crowd, generation: 0, pass: 0)
        #expect(scene.lanes[scene.lane].passes.first == reference)
        scene.lanes[scene.lane].passes.removeFirst()
        #expect(scene.lanes[scene.lane].passes.isEmpty)
        let isStanding = scene.crowds.isStanding(reference)
        scene.crowds[scene.crowd].dequeued(reference)
        _ = scene.queuePasses()
        #expect(isStanding && scene.lanes[scene.lane].passes.first == reference)
        scene.crowds[scene.crowd].end()
        let stillStands = scene.crowds.isStanding(reference)
        #expect(!stillStands)
    }
    /// After an answer a crowd need not be scheduled again if its only pass is queued.
    @Test func anAnswerSchedulesWhatIsNotQueued() {
        let scene = Scene()
        _ = scene.take(100)
        var most = scene.crowds[scene.crowd].deadlineMaxAfterAnswer
        #expect(most == nil)
        _ = scene.queuePasses()
        most = scene.crowds[scene.crowd].deadlineMaxAfterAnswer
        let nextProgressMillis = scene.crowds[scene.crowd].records.nextProgressMillis
        #expect(most == nextProgressMillis)
        scene.crowds[scene.crowd].progressed()
        scene.crowds[scene.crowd].progressWritten(in: scene.members.table, nowMillis: Scene.now.steadyMillis)
        most = scene.crowds[scene.crowd].deadlineMaxAfterAnswer
        #expect(most == .max)
    }
    /// A question to the owner says which life, joins and start members the partition has. It asks for channels only if
    /// the app keeps channels.
    @Test(arguments: [AudienceChannelPolicy.none, .auto]) func theOwnerIsAskedForWhatIsHere(
        channels: AudienceChannelPolicy
    ) {
        let scene = Scene()
        _ = scene.take(100)
        scene.crowds[scene.crowd].joined(seconds: 60)
        scene.crowds[scene.crowd].starts.joinTaken(seconds: 70)
        var app = AppConfiguration(bundleID: "com.example.pizza")
        (app.audienceChannel, app.startMemberLifeMillis) = (channels, 5_000)
        let question = scene.crowds[scene.crowd].question(joining: .development, app: app, members: scene.members)
        #expect(question.bundleID == Array("com.example.pizza".utf8) && question.life == 1)
        #expect(question.lastJoinSeconds == 60 && question.startsUntilSeconds == 75)
        let both = AudienceChannels.bit(.production) | AudienceChannels.bit(.development)
        #expect(question.environments == (channels == .auto ? both : 0))
        let without = scene.crowds[scene.crowd].question(joining: nil, app: app, members: nil)
        #expect(without.startsUntilSeconds == 0)
    }

    // MARK: Starts
    /// A start that ends is reported once, with the number of members that no longer get it.
    @Test func aStartEndsOnce() {
        let scene = Scene()
        var ended = scene.crowds[scene.crowd].endStart(into: \.superseded, in: &scene.members.table, nowMillis: 0)
        #expect(ended == nil, "none goes round")
        #expect(scene.beginStart().dueCount == 3)
        let isTooEarly = scene.crowds[scene.crowd].hasStartExpired(
            now: EngineTime(steadyMillis: 0, wallMillis: 999_999))
        let isOver = scene.crowds[scene.crowd].hasStartExpired(now: EngineTime(steadyMillis: 0, wallMillis: 1_000_000))
        #expect(!isTooEarly && isOver)
        ended = scene.crowds[scene.crowd].endStart(into: \.expired, in: &scene.members.table, nowMillis: 0)
        #expect(ended?.count == 3 && ended?.report?.starts?.counts.expired == 3 && ended?.record?.counts.expired == 3)
        let counts = scene.crowds[scene.crowd].startCounts
        #expect(counts.waitingCount == 0)
        ended = scene.crowds[scene.crowd].endStart(into: \.expired, in: &scene.members.table, nowMillis: 0)
        #expect(ended == nil)
    }
    /// A start round enters its lane's queue a single time, and only when it may leave.
    @Test func aStartIsQueuedWhenItMayLeave() {
        let scene = Scene()
        _ = scene.beginStart()
        _ = scene.queueStarts(mayWrite: false)
        _ = scene.queueStarts(mayStart: false)
        #expect(scene.lanes[scene.lane].passes.isEmpty)
        for _ in 0..<2 { _ = scene.queueStarts() }
        let reference = PassReference(crowd: scene.crowd, generation: 0, pass: scene.startRound, isStart: true)
        #expect(scene.lanes[scene.lane].passes.first == reference)
        scene.lanes[scene.lane].passes.removeFirst()
        #expect(scene.lanes[scene.lane].passes.isEmpty)
        scene.crowds[scene.crowd].dequeued(reference)
        _ = scene.queueStarts()
        #expect(scene.lanes[scene.lane].passes.first == reference)
    }
    /// Announcements are withdrawn while a start goes round. When the partition leaves, the announcements of an ended
    /// start are withdrawn, too, unless a record already says that the start has ended.
    @Test func whatWasAnnouncedIsWithdrawn() {
        let scene = Scene()
        var isWritten = scene.crowds[scene.crowd].withdrawStart(isLeaving: true)
        #expect(!isWritten)
        _ = scene.beginStart()
        isWritten = scene.crowds[scene.crowd].withdrawStart()
        #expect(isWritten)
        _ = scene.crowds[scene.crowd].endStart(into: \.superseded, in: &scene.members.table, nowMillis: 0)
        isWritten = scene.crowds[scene.crowd].withdrawStart()
        #expect(!isWritten, "none goes round")
        isWritten = scene.crowds[scene.crowd].withdrawStart(isLeaving: true)
        #expect(isWritten, "its end is not written yet")
    }
    /// A failed push gets a record only if it belongs to the current start, and while there is room for another record.
    @Test func onlyTheStartThatGoesRoundIsTold() {
        let scene = Scene()
        _ = scene.beginStart()
        let current = StartStamp(life: 1, stampSeconds: 100)
        let cases: [(StartStamp, Outcome, Bool)] = [
            (current, .rejected, true), (current, .unknown, true),
            (StartStamp(life: 1, stampSeconds: 99), .rejected, false),
        ]
        for (start, outcome, isTold) in cases {
            let mayBeTold = scene.crowds[scene.crowd].startFailed(start, status: 400, reason: "Bad", outcome: outcome)
            #expect(mayBeTold == isTold)
        }
        for _ in 0..<StartReports.memberRecordsMax {
            let order = scene.crowds[scene.crowd].recordsStartMember()
            #expect(order?.stampSeconds == 100)
        }
        let order = scene.crowds[scene.crowd].recordsStartMember()
        let mayBeTold = scene.crowds[scene.crowd].startFailed(current, status: 400, reason: "Bad", outcome: .rejected)
        #expect(order == nil && !mayBeTold)
    }
    /// A ring of start members is removed with its last member.
    @Test func aRingGoesWithItsLastMember() {
        let scene = Scene()
        let some = scene.crowds[scene.crowd].someStartMembers(in: &scene.members.table)
        #expect(some.count == 3)
        for member in some {
            _ = scene.crowds[scene.crowd].starts.removed(member, of: scene.startRound, in: &scene.members.table)
        }
        let none = scene.crowds[scene.crowd].someStartMembers(in: &scene.members.table)
        let hasRounds = !scene.crowds[scene.crowd].starts.rounds.isEmpty
        #expect(none.isEmpty && !hasRounds)
    }
}
