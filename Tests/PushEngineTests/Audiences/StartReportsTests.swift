import PushModel
import Testing

@testable import PushEngine

/// Tests what a crowd counts and reports of a start, without an engine around it.
@Suite struct StartReportsTests {
    private static func reports(_ stampSeconds: Int64 = 10, due: Int = 3) -> StartReports {
        var order = StartOrder()
        order.life = 1
        order.stampSeconds = stampSeconds
        var reports = StartReports(of: order)
        reports.becameDue(due)
        return reports
    }
    private static func stamp(_ stampSeconds: Int64 = 10) -> StartStamp {
        StartStamp(life: 1, stampSeconds: stampSeconds)
    }

    @Test func withoutAStartNothingIsTold() {
        var reports = StartReports()
        reports.becameDue(2)
        let told = reports.makeReport(nowMillis: 0)
        let written = reports.record(isOver: true, nowMillis: 0)
        #expect(reports.dueMillis(nowMillis: 0) == .max && told == nil && written == nil)
    }
    /// A start is reported at most once a second. Its record is written when no member waits for the start, and at most
    /// once a minute.
    @Test func itIsToldOnceASecondAndWrittenAtTheEnd() {
        var reports = Self.reports()
        #expect(reports.dueMillis(nowMillis: 1_000) == 1_000, "the first at once")
        var told = reports.makeReport(nowMillis: 1_000)
        var written = reports.record(isOver: false, nowMillis: 1_000)
        #expect(told?.waitingCount == 3 && written == nil, "some wait")
        told = reports.makeReport(nowMillis: 1_000)
        #expect(told == nil && reports.dueMillis(nowMillis: 1_000) == .max)
        reports.accepted(Self.stamp(), wallMillis: 7_000)
        reports.settled(of: Self.stamp(), into: \.accepted)
        reports.settled(of: Self.stamp(9), into: \.accepted)
        #expect(reports.dueMillis(nowMillis: 1_100) == 2_000)
        reports.settled(2, into: \.expired)
        told = reports.makeReport(nowMillis: 2_000)
        #expect(told?.counts.accepted == 1 && told?.counts.expired == 2 && told?.firstAcceptedMillis == 7_000)
        #expect(reports.dueMillis(nowMillis: 2_000) == 2_000)
        written = reports.record(isOver: false, nowMillis: 2_000)
        #expect(written == told)
        reports.returned()
        told = reports.makeReport(nowMillis: 3_000)
        #expect(told?.returnedCount == 1 && reports.dueMillis(nowMillis: 3_000) == 62_000)
        written = reports.record(isOver: false, nowMillis: 61_999)
        #expect(written == nil, "the minute has not passed")
        written = reports.record(isOver: false, nowMillis: 62_000)
        #expect(written?.returnedCount == 1)
    }
    /// The last push of a start is answered after the start is over. The record is then written at once.
    @Test func whatFollowsAStartThatIsOverIsWrittenAtOnce() {
        var reports = Self.reports(due: 1)
        _ = reports.makeReport(nowMillis: 1_000)
        var written = reports.record(isOver: true, nowMillis: 1_000)
        #expect(written?.waitingCount == 1)
        reports.settled(of: Self.stamp(), into: \.gone)
        _ = reports.makeReport(nowMillis: 2_000)
        written = reports.record(isOver: false, nowMillis: 2_000)
        #expect(written?.counts.gone == 1, "the minute has not passed")
        written = reports.record(isOver: true, nowMillis: 9_000)
        #expect(written == nil, "nothing is new")
    }
    /// If very many members were not started, the last ones have no outcome of their own.
    @Test func soManyMembersAreTold() {
        var reports = Self.reports()
        let toldCount = (0..<2_000).count { _ in reports.recordsMember() }
        #expect(toldCount == 1_024 && reports.memberRecordRoom == 0)
        var known = Self.reports(due: 5)
        known.settled(1_023, into: \.failed)
        var next = Self.reports(due: 0)
        next.resumed(known.report)
        let told = (0..<3).map { _ in next.recordsMember() }
        #expect(told == [true, false, false])
        next = Self.reports(11, due: 0)
        next.resumed(known.report)
        #expect(next.report.counts.failed == 0 && next.memberRecordRoom > 0, "it is of another start")
        #expect(next.schedule.owner == .toReport, "what was told last may have been lost")
    }
    @Test func reasonsAreOfTheStart() {
        var reports = Self.reports()
        reports.refused(Self.stamp(), status: 400, reason: "BadTopic", isOfMessage: true)
        reports.refused(Self.stamp(9), status: 410, reason: "Unregistered", isOfMessage: false)
        #expect(reports.report.refusals.all.map(\.reason) == ["BadTopic"])
    }

    /// Events happen in random order. No member is lost, and the last report has all that was counted.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func countsAreConservedAndTold(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var reports = Self.reports(due: 0)
        var (waiting, due, sent, nowMillis) = (0, 0, 0, Int64(0))
        var told: StartReport?
        var written: StartReport?
        let reasons: [WritableKeyPath<MemberCounters, UInt64>] = [\.accepted, \.gone, \.failed, \.left, \.superseded]
        for step in 0..<300 {
            nowMillis += Int64.random(in: 0...30_000, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0:
                let count = Int.random(in: 0...4, using: &random)
                reports.becameDue(count)
                (waiting, due) = (waiting + count, due + count)
            case 1, 2:
                guard waiting > 0 else { break }
                reports.settled(of: Self.stamp(), into: reasons[step % reasons.count])
                waiting -= 1
            case 3:
                let count = Int.random(in: 0...waiting, using: &random)
                reports.settled(count, into: \.expired)
                waiting -= count
            case 4:
                reports.unknown(2)
                due += 2
            case 5:
                reports.repeated()
                sent += 1
            default:
                told = reports.makeReport(nowMillis: nowMillis) ?? told
                written = reports.record(isOver: step % 5 == 0, nowMillis: nowMillis) ?? written
            }
            let counts = reports.report.counts
            #expect(Int(reports.report.waitingCount) == waiting && counts.due == due && counts.repeated == sent)
            let isDue = reports.dueMillis(nowMillis: nowMillis) != .max
            let isToWrite = reports.schedule.record == .toWrite && waiting == 0
            #expect(isDue == (reports.schedule.owner == .toReport || isToWrite))
        }
        reports.settled(waiting, into: \.left)
        told = reports.makeReport(nowMillis: nowMillis + 60_000) ?? told
        written = reports.record(isOver: true, nowMillis: nowMillis + 60_000) ?? written
        #expect(told == reports.report && written == told && told?.waitingCount == 0)
    }
}
