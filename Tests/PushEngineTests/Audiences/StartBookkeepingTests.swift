import PushModel
import Testing

@testable import PushEngine

/// Tests small state machines, each by itself: what is written down about a start, and when its members are due.
@Suite struct StartBookkeepingTests {
    private static func now(_ steadyMillis: Int64) -> EngineTime {
        EngineTime(steadyMillis: steadyMillis, wallMillis: 1_700_000_000_000 + steadyMillis)
    }

    // MARK: A record that is written again and again

    enum Step: CaseIterable { case progressed, written, acknowledged, acknowledgedFormer, forgotten }
    private static func record(in state: ProgressRecord.State) -> ProgressRecord {
        var record = ProgressRecord()
        switch state {
        case .written: break
        case .toWrite: record.progressed()
        case .underWay: record.written(nowMillis: 0)
        case .toWriteAgain:
            record.written(nowMillis: 0)
            record.progressed()
        }
        return record
    }
    /// Each event moves a record from one state to the next, as the table says.
    @Test(
        arguments: [
            (ProgressRecord.State.written, [.toWrite, .underWay, .written, .written, .written]),
            (.toWrite, [.toWrite, .underWay, .toWrite, .toWrite, .toWrite]),
            (.underWay, [.toWriteAgain, .underWay, .written, .underWay, .written]),
            (.toWriteAgain, [.toWriteAgain, .underWay, .toWrite, .toWriteAgain, .toWrite]),
        ] as [(ProgressRecord.State, [ProgressRecord.State])])
    func aRecordFollowsWhatHappens(state: ProgressRecord.State, next: [ProgressRecord.State]) {
        for (step, wanted) in zip(Step.allCases, next) {
            var record = Self.record(in: state)
            #expect(record.state == state)
            switch step {
            case .progressed: record.progressed()
            case .written: record.written(nowMillis: 1)
            case .acknowledged:
                let isLast = record.acknowledged(record.number)
                #expect(isLast)
            case .acknowledgedFormer:
                let isLast = record.acknowledged(record.number &- 1)
                #expect(!isLast)
            case .forgotten: record.forgetUnderWay()
            }
            #expect(record.state == wanted, "\(step) in \(state)")
            #expect(record.isDue == (wanted == .toWrite || wanted == .toWriteAgain))
            #expect((record.dueMillis(every: 10, nowMillis: 5) == .max) == (wanted != .toWrite))
        }
    }
    /// The round begins when all joins from before the start are in `state`. Later joins do not matter.
    @Test func joinsFromBeforeTheStartAreAwaited() {
        var records = StartBookkeeping()
        let before = [records.memberWritten(), records.memberWritten()]
        records.startCame()
        let after = records.memberWritten()
        #expect(!records.hasMembersFromBefore)
        records.memberAcknowledged(after)
        records.memberAcknowledged(before[0])
        #expect(!records.hasMembersFromBefore)
        records.memberAcknowledged(before[1])
        #expect(records.hasMembersFromBefore)
    }
    @Test func anotherCrowdAwaitsNothing() {
        var records = StartBookkeeping()
        _ = records.memberWritten()
        records.startCame()
        records.progressWritten(nowMillis: 0)
        records.pushLeft()
        records.crowdChanged()
        #expect(records.hasMembersFromBefore && !records.progress.isUnderWay && records.progress.isDue)
    }
    /// A record that announces members is acknowledged late, so the next record announces twice as many members.
    @Test func aRoundThatRunsDryAnnouncesMore() {
        var records = StartBookkeeping()
        records.progressWritten(nowMillis: 0)
        records.ranDry()
        records.progressWritten(nowMillis: 10)
        #expect(records.pace.count == StartPace.countMin, "nothing has left: it is not the record that is slow")
        records.pushLeft()
        records.ranDry()
        records.progressWritten(nowMillis: 20)
        #expect(records.pace.count == 2 * StartPace.countMin)
    }

    // MARK: Turns

    /// `dueMillis` says when a position is due, and `position` says which position is due at a time. Each is the
    /// inverse of the other.
    @Test(arguments: [0, 1, 1_000, 60_000, 10_000_000] as [Int64]) func turnsAreSpread(wishedMillis: Int64) {
        let began = Self.now(5_000)
        let spread = StartSpread(
            beganMillis: began.wallMillis, wishedMillis: wishedMillis, expiresSeconds: began.wallSeconds + 900)
        let span = min(wishedMillis, 450_000)
        for part in Int64(0)...8 {
            let position = StartRound.end / 8 * part
            let due = spread.dueMillis(position, now: began)
            #expect(span == 0 ? due == .min : due == 5_000 + span * part / 8)
            let later = Self.now(5_000 + span * part / 8 + 1)
            #expect(spread.position(atMillis: later.steadyMillis, now: began) >= position || span == 0)
        }
        #expect(spread.position(atMillis: 5_000 + span, now: began) == StartRound.end)
    }
    @Test func aRoundThatHasNotBegunIsNotSpread() {
        let spread = StartSpread(beganMillis: 0, wishedMillis: 1_000, expiresSeconds: 1_800_000_000)
        #expect(spread.dueMillis(StartRound.end - 1, now: Self.now(0)) == .min)
    }

    // MARK: Starts of the last hour

    @Test func whoJoinedAfterTheLastPushWasNotReached() {
        var past = PastStarts()
        let (first, second) = (StartStamp(life: 1, stampSeconds: 10), StartStamp(life: 1, stampSeconds: 20))
        past.sent(first, now: Self.now(0))
        past.sent(first, now: Self.now(1_000))
        past.sent(second, now: Self.now(2_000))
        #expect(past.all.map(\.start) == [first, second] && past.all[0].lastSentMillis == 1_000)
        let early = UInt32(Self.now(0).wallSeconds)
        let late = early + 2 + UInt32(CrowdStarts.Past.clockDifferenceMillisMax / 1_000)
        #expect(past.mayHaveReached(first, joinedSeconds: early) && !past.mayHaveReached(first, joinedSeconds: late))
        #expect(past.newest(but: second, joinedSeconds: early) == first)
        #expect(past.newest(but: first, joinedSeconds: late) == second)
        #expect(past.newest(but: second, joinedSeconds: late) == nil)
        past.timePassed(nowMillis: 1_000 + RollingBudget.windowMillis)
        #expect(past.all.map(\.start) == [second])
    }
    /// A record keeps times by the wall clock. An announced start counts as sent.
    @Test func aRecordBringsThemOver() {
        var (past, next) = (PastStarts(), PastStarts())
        let (first, second) = (StartStamp(life: 1, stampSeconds: 10), StartStamp(life: 1, stampSeconds: 20))
        past.sent(first, now: Self.now(1_000))
        let recorded = past.recorded(announced: second, now: Self.now(3_000))
        #expect(recorded.map(\.start) == [first, second])
        let other = EngineTime(steadyMillis: 50_000, wallMillis: Self.now(4_000).wallMillis)
        next.restored(recorded, now: other)
        #expect(next.all.map(\.lastSentMillis) == [47_000, 49_000])
        #expect(past.recorded(announced: nil, now: Self.now(3_000)).map(\.start) == [first])
    }
    @Test func soManyAreToldApart() {
        var past = PastStarts()
        for stamp in 1...Int64(CrowdStarts.pastMax + 3) {
            past.sent(StartStamp(life: 1, stampSeconds: stamp), now: Self.now(stamp))
        }
        #expect(past.all.count == CrowdStarts.pastMax && past.all.first?.start.stampSeconds == 4)
        let recorded = past.recorded(announced: StartStamp(life: 2, stampSeconds: 99), now: Self.now(100))
        #expect(recorded.count == CrowdStarts.pastMax && recorded.first?.start.stampSeconds == 5)
    }

    // MARK: Sweeps

    @Test func ghostsGoWhenTheirTimeIsOver() {
        var sweep = StartSweep()
        sweep.wanted(ghostsUntilMillis: nil, nowMillis: 0)
        #expect(sweep.atMillis == 600_000)
        sweep.wanted(ghostsUntilMillis: 90_000, nowMillis: 1_000)
        #expect(sweep.atMillis == 90_000)
        sweep.wanted(ghostsUntilMillis: 1_000, nowMillis: 80_000)
        #expect(sweep.atMillis == 80_050, "never at once")
        sweep.stepped(to: 7, hasGhosts: false, nowMillis: 80_050)
        #expect(sweep.atMillis == 80_100 && sweep.position == 7)
        sweep.stepped(to: RingPosition.end, hasGhosts: true, nowMillis: 80_100)
        #expect(sweep.atMillis == 80_150 && sweep.position == 0, "once more, for the ghosts")
        sweep.stepped(to: RingPosition.end, hasGhosts: false, nowMillis: 80_150)
        #expect(sweep.atMillis == 80_150 + 86_400_000)
        sweep.wantedAtOnce(nowMillis: 80_200)
        #expect(sweep.atMillis == 80_200 && sweep.position == 0)
    }

    // MARK: Late members

    @Test func lateMembersAreAnnouncedInTheOrderOfTheirRecords() {
        var late = LateStarts()
        let members = (0..<4).map { MemberID(rawValue: Int32($0)) }
        late.begin(offset: 0)
        for (index, member) in members.enumerated() { late.joined(member, number: UInt32(10 + 2 * index)) }
        late.announce(max: 8)
        late.announced()
        var next = late.popFirst(isFree: false)
        #expect(next == nil && late.offset == 0, "nothing is known of their records")
        for (index, offset) in [100, 101, 102].enumerated() {
            late.written(UInt32(10 + 2 * index), at: Int64(offset))
        }
        late.announce(max: 2)
        next = late.popFirst(isFree: false)
        #expect(next == nil && late.offset == 102, "the record is not there")
        late.announced()
        #expect(late.unanswered(max: 8) == [members[0], members[1]] && late.unansweredCount == 2)
        let hasWaited = late.left(members[0])
        next = late.popFirst(isFree: false)
        #expect(hasWaited && next == members[1])
        next = late.popFirst(isFree: false)
        #expect(next == nil && late.hasUnannounced && late.count == 2)
        next = late.popFirst(isFree: true)
        #expect(next == members[2])
        #expect(!late.hasUnannounced)
        let rest = late.cease()
        #expect(rest == [members[3]] && late.count == 0)
    }
    /// Kafka may store the joins' records in another order than they were written. When an announcement is withdrawn,
    /// the offset in the next record does not cover the members whose announcement was withdrawn.
    @Test func whoIsWithdrawnIsNamedByNoOffset() {
        var late = LateStarts()
        let members = (0..<3).map { MemberID(rawValue: Int32($0)) }
        for (index, member) in members.enumerated() { late.joined(member, number: UInt32(1 + index)) }
        for (index, offset) in [50, 70, 60].enumerated() { late.written(UInt32(1 + index), at: Int64(offset)) }
        late.announce(max: 8)
        late.announced()
        let first = late.popFirst(isFree: false)
        #expect(first == members[0] && late.offset == 71)
        late.withdraw()
        #expect(late.offset == 60 && late.unansweredCount == 0 && late.hasUnannounced)
    }
}
