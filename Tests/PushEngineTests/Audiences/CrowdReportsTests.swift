import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what a crowd counts and reports of its versions, without an engine around it.
@Suite struct CrowdReportsTests {
    private static func version(_ stampSeconds: Int64, isHigh: Bool = false) -> Version {
        var version = Version()
        version.stampSeconds = stampSeconds
        version.isHigh = isHigh
        return version
    }
    private static func answer(_ status: UInt16? = nil) -> PushAnswer {
        guard let status else { return PushAnswer(id: PushID(rawValue: 1), result: .accepted, apnsMicros: 1) }
        let response = PushResponse(status: status, reason: "BadDeviceToken")
        return PushAnswer(id: PushID(rawValue: 1), result: .response(response), apnsMicros: 1)
    }
    /// Reports on a version that `due` members are owed. All pushes but one are answered.
    private static func reports(_ stampSeconds: Int64 = 10, due: Int = 3) -> CrowdReports {
        var reports = CrowdReports()
        _ = reports.versionCame(Self.version(stampSeconds), listeners: ListenerCounts())
        reports.settled(due: due, count: 0, isNewerThere: true, into: .superseded)
        for _ in 1..<due {
            _ = reports.answered(
                Self.answer(), end: .ended(.accepted), stampSeconds: stampSeconds, wallMillis: 5_000)
        }
        return reports
    }

    /// A version is reported at most once a second. The end of its pass is reported, too.
    @Test func theOwnerHearsOfTheEnd() {
        var reports = CrowdReports()
        #expect(!reports.isOpen && reports.dueMillis(nowMillis: 1_000) == .max, "there is no version")
        reports = Self.reports()
        #expect(
            reports.schedule.owner == .toReport && reports.dueMillis(nowMillis: 1_000) == 1_000, "the first at once")
        let first = reports.makeReport(isFinished: false, listeners: ListenerCounts(), nowMillis: 1_000)
        #expect(first.counts.due == 3 && first.counts.accepted == 2 && first.waitingCount == 1)
        #expect(reports.schedule.owner == .toReportEnd && reports.schedule.record == .toWrite)
        #expect(!reports.isToBeReported(isFinished: false) && reports.isToBeReported(isFinished: true))
        _ = reports.answered(Self.answer(), end: .ended(.accepted), stampSeconds: 10, wallMillis: 5_100)
        #expect(reports.schedule.owner == .toReport)
        let last = reports.makeReport(isFinished: true, listeners: ListenerCounts(), nowMillis: 2_000)
        #expect(last.waitingCount == 0 && last.firstAcceptedMillis == 5_000 && last.lastAcceptedMillis == 5_100)
        #expect(reports.schedule.owner == .reported && !reports.isToBeReported(isFinished: true))
        let written = reports.record(nowMillis: 2_000)
        #expect(written == last && !reports.isOpen)
    }
    /// Members that join late cause at most one report a second, and at most one record a minute.
    @Test func lateMembersAreWrittenOnceAMinute() {
        var reports = Self.reports()
        for millis in stride(from: Int64(1_000), through: 121_000, by: 500) {
            reports.becameDue(1)
            _ = reports.answered(Self.answer(), end: .ended(.accepted), stampSeconds: 10, wallMillis: millis)
            if reports.schedule.dueMillis(nowMillis: millis) <= millis {
                #expect(millis % 1_000 == 0)
                _ = reports.makeReport(isFinished: true, listeners: ListenerCounts(), nowMillis: millis)
            }
            if reports.record(nowMillis: millis) != nil { #expect(millis % 60_000 == 1_000) }
        }
        #expect(reports.newest.counts.due == 244)
    }
    /// A version that gives way to a newer one is reported twice: at once, and when its last push is answered.
    @Test func aFormerVersionIsToldTwice() {
        var reports = Self.reports()
        _ = reports.makeReport(isFinished: false, listeners: ListenerCounts(), nowMillis: 1_000)
        _ = reports.versionCame(Self.version(20), listeners: ListenerCounts())
        reports.settled(due: 3, count: 0, isNewerThere: true, into: .superseded)
        #expect(reports.former.map(\.owner) == [.toReport], "no record tells of it")
        let first = reports.makeFormerReports { _ in false }
        #expect(first.map(\.stampSeconds) == [10])
        let again = reports.makeFormerReports { _ in false }
        #expect(again.isEmpty && reports.former.count == 1, "a push has no answer")
        let effects = reports.answered(Self.answer(410), end: .ended(.gone), stampSeconds: 10, wallMillis: 6_000)
        #expect(effects == CrowdReports.Effects(reportsFormer: true))
        let last = reports.makeFormerReports { _ in false }
        #expect(last.map(\.counts.gone) == [1] && reports.former.isEmpty)
        let late = reports.answered(Self.answer(), end: .ended(.accepted), stampSeconds: 10, wallMillis: 6_100)
        #expect(late == CrowdReports.Effects() && reports.newest.counts.accepted == 0, "it is counted no more")
    }
    /// If very many versions have pushes in flight, the oldest are no longer counted. A version that may become the
    /// newest again is still counted.
    @Test func tooManyAreNotKept() {
        var reports = CrowdReports()
        for stamp in Int64(1)...8 {
            _ = reports.versionCame(Self.version(stamp), listeners: ListenerCounts())
            reports.settled(due: 1, count: 0, isNewerThere: true, into: .superseded)
        }
        let told = reports.makeFormerReports { $0 == 1 }
        #expect(told.count == 7)
        #expect(reports.former.map(\.counts.stampSeconds) == [1, 4, 5, 6, 7])
        #expect(reports.formerCounts(4)?.counts.due == 1 && reports.formerCounts(3) == nil)
    }
    /// A version expires, and its members are owed the version before it. The counts of the earlier version continue.
    @Test func aVersionReturns() {
        var reports = Self.reports()
        _ = reports.versionCame(Self.version(20), listeners: ListenerCounts())
        reports.settled(due: 3, count: 1, isNewerThere: true, into: .superseded)
        reports.settled(due: 0, count: 3, isNewerThere: false, into: .expired)
        reports.revived(2)
        let effects = reports.newestExpired(leaving: 10, listeners: ListenerCounts())
        #expect(effects == CrowdReports.Effects(reportsFormer: true))
        #expect(reports.newest.stampSeconds == 10 && reports.formerCounts(20)?.counts.expired == 3)
        let counts = reports.newest.counts
        #expect(counts.due == 4 && counts.superseded == 0, "one gave way, one has joined since")
        #expect(reports.newest.waitingCount == 2 && reports.schedule.owner == .toReport)
    }
    /// A new owner does not know what another owner has counted of a version. Until the new owner has counted members
    /// itself, its reports are empty and it writes no record, so that those counts are not replaced.
    @Test func whatOthersHaveCountedStands() {
        var reports = CrowdReports()
        _ = reports.newestExpired(leaving: 10, listeners: ListenerCounts())
        #expect(reports.newest.isOfOthers)
        _ = reports.makeReport(isFinished: false, listeners: ListenerCounts(), nowMillis: 0)
        #expect(reports.schedule.owner == .toReportEnd && reports.schedule.record == .written)
        var told = reports.makeReport(isFinished: true, listeners: ListenerCounts(), nowMillis: 0)
        var written = reports.record(nowMillis: 0)
        #expect(told == CrowdReport() && written == nil)
        reports.becameDue(1)
        _ = reports.answered(Self.answer(), end: .ended(.accepted), stampSeconds: 10, wallMillis: 1)
        told = reports.makeReport(isFinished: true, listeners: ListenerCounts(), nowMillis: 1_000)
        written = reports.record(nowMillis: 1_000)
        #expect(told.counts.due == 1 && written?.counts.accepted == 1)
    }
    /// A push that brings an alert alone, with the alert's own version, is counted with that version. Members that wait
    /// for such a push are counted with the newest version.
    @Test func anAlertAloneIsCountedWithItsVersion() {
        var reports = Self.reports(due: 2)
        _ = reports.versionCame(Self.version(20), listeners: ListenerCounts())
        reports.settled(due: 2, count: 0, isNewerThere: true, into: .superseded)
        var effects = reports.aloneDeferred(stampSeconds: 10)
        #expect(effects == CrowdReports.Effects(reportsFormer: true), "nobody is owed it")
        #expect(reports.newest.counts.due == 3 && reports.formerCounts(10)?.counts.superseded == 1)
        effects = reports.aloneReturned(stampSeconds: 10)
        #expect(effects == CrowdReports.Effects())
        #expect(reports.newest.counts.due == 2 && reports.formerCounts(10)?.waitingCount == 1)
        effects = reports.aloneSettled(stampSeconds: 10, count: 1, into: .expired)
        #expect(effects.reportsFormer && reports.formerCounts(10)?.counts.expired == 1)
        effects = reports.aloneSettled(stampSeconds: 20, count: 1, into: .left)
        #expect(effects == CrowdReports.Effects() && reports.newest.counts.left == 1)
        reports.aloneRestored(stampSeconds: 10, count: 2)
        #expect(reports.formerCounts(10)?.waitingCount == 2)
    }
    /// A unit of an audience's budget is free only when the audience's owner learns that no push of priority 10 is
    /// left.
    @Test func priorityTenIsToldOfAsDone() {
        var reports = CrowdReports()
        _ = reports.versionCame(Self.version(10, isHigh: true), listeners: ListenerCounts())
        _ = reports.versionCame(Self.version(20), listeners: ListenerCounts())
        let whileHigh = reports.reportDone(isHigh: true, stampSeconds: 20)
        let after = reports.reportDone(isHigh: false, stampSeconds: 20)
        #expect(whileHigh == 9 && after == 20 && reports.reportedDoneStampSeconds == 20)
    }
    @Test func veryManyFailuresAreOnlyCounted() {
        var reports = Self.reports(due: 2_000)
        let response = PushResponse(status: 400, reason: "BadTopic")
        var toldCount = 0
        for _ in 0..<1_100 {
            if reports.failed(response, isOfMessage: true, stampSeconds: 10) { toldCount += 1 }
            let effects = reports.answered(
                Self.answer(400), end: .ended(.failed), stampSeconds: 10, wallMillis: 1)
            #expect(effects == CrowdReports.Effects(refusedStep: 1))
        }
        #expect(toldCount == 1_024 && reports.refusedCount == 1_100 && reports.newest.refusals.all[0].count == 1_100)
    }
    @Test(arguments: [true, false]) func aTakeoverGoesOn(isYoung: Bool) {
        var before = Self.reports(due: 4)
        _ = before.answered(Self.answer(400), end: .ended(.failed), stampSeconds: 10, wallMillis: 1)
        let full = before.newest
        before = Self.reports(8)
        var reports = CrowdReports()
        var effects = reports.resumed([full, before.newest], stampSeconds: 10, isYoung: isYoung, alertStampSeconds: 8)
        #expect(effects == CrowdReports.Effects(refusedStep: 1) && reports.newest.counts.due == 4)
        let owner = isYoung ? ReportSchedule.Owner.toReport : .reported
        #expect(reports.schedule.owner == owner, "nobody waited")
        #expect(reports.formerCounts(8)?.counts.due == 2 && reports.former.map(\.owner) == [.toReport], "one waited")
        effects = reports.resumed([], stampSeconds: 12, isYoung: false, alertStampSeconds: nil)
        #expect(effects == CrowdReports.Effects(refusedStep: -1) && reports.newest.counts == MemberCounters())
        let isOfAnother = !reports.askedAgain(stampSeconds: 10)
        #expect(isOfAnother && reports.schedule.owner == .reported)
        let isOfNewest = reports.askedAgain(stampSeconds: 12)
        #expect(isOfNewest && reports.schedule.owner == .toReport)
    }
}
