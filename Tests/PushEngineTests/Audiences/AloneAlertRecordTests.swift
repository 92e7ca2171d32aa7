import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests the `pass` records of an alert that does not fit beside newer content, and is therefore pushed alone with its
/// own version. The simulation found each of these cases.
@Suite struct AloneAlertRecordTests {
    /// The newest `pass` record of each version, the oldest version first.
    private static func passes(_ h: EngineHarness) -> [OutcomeRecord] {
        var last: [Int64: OutcomeRecord] = [:]
        for record in h.outcomes where record.outcome == "pass" { last[record.number("version") ?? 0] = record }
        return last.sorted { $0.key < $1.key }.map(\.value)
    }
    /// Expects that the record counts no member as waiting, and that its counts add up to the number of members.
    private static func expectOver(_ record: OutcomeRecord, members: Int64, accepted: Int64) {
        let ends = ["accepted", "superseded", "expired", "gone", "failed", "left", "waiting"]
        #expect(record.number("members") == members && record.number("accepted") == accepted)
        #expect(record.number("waiting") == 0)
        #expect(ends.map { record.number($0) ?? -1_000 }.reduce(0, +) == members)
    }
    /// Delivers everything that is still owed.
    private static func settle(_ h: EngineHarness) -> [Push] {
        var pushes: [Push] = []
        for _ in 0..<30 {
            pushes += h.deliverAll()
            h.advance(1_000)
        }
        h.advance(61_000)
        h.carryBus()
        h.advance(1_000)
        return pushes
    }

    /// A push with the alert is refused before or after a newer version has arrived. The alert then goes alone, and
    /// the retry counts for the alert's own version.
    @Test(arguments: [false, true]) func whoWaitsWithAnAlertIsCountedWithItsVersion(isTold: Bool) throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        let flying = (1...3).compactMap { _ in h.take() }
        #expect(h.take() == nil)
        for push in flying.dropFirst() { h.answer(push, .accepted) }
        let refused = PushAnswer.Result.response(PushResponse(status: 500, reason: "InternalServerError"))
        if isTold { h.answer(flying[0], refused) }
        h.audienceUpdate(2, padding: 3_980)
        if !isTold { h.answer(flying[0], refused) }
        let pushes = Self.settle(h)
        #expect(pushes.count == 4 && pushes.filter { $0.alert == "goal" && $0.n == 1 }.count == 1)
        let passes = Self.passes(h)
        #expect(passes.count == 2)
        for pass in passes { Self.expectOver(pass, members: 3, accepted: 3) }
    }

    /// The pushes that carry the alert alone are not processed. They are sent again, and each member is counted once.
    @Test func anAlertThatGoesAloneAndIsRefusedIsCountedOnce() throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        let alone = (1...4).compactMap { _ in h.take() }
        #expect(alone.count == 4 && alone.allSatisfy { $0.alert == "goal" })
        for push in alone { h.answer(push, .notProcessed) }
        let pushes = Self.settle(h)
        #expect(pushes.count == 8)
        let passes = Self.passes(h)
        #expect(passes.count == 2)
        for pass in passes { Self.expectOver(pass, members: 4, accepted: 4) }
    }

    /// The partition's owner dies before every member has the alert. The next owner's `pass` record of the alert's
    /// version also counts the members that the former owner has served.
    @Test(arguments: [0, 2]) func anAlertThatGoesAloneIsCountedByTheNextOwnerToo(servedCount: Int) throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.acknowledgesAtOnce = true
        let refused = PushAnswer.Result.response(PushResponse(status: 500, reason: "InternalServerError"))
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        for _ in 0..<servedCount { h.deliver() }
        h.audienceUpdate(2, padding: 3_980)
        h.advance(2_000)
        if servedCount > 0 { h.answer(try #require(h.take()), refused) }
        h.advance(1_500)
        h.crash()
        h.carryBus()
        let pushes = Self.settle(h)
        #expect(pushes.filter { $0.alert == "goal" && $0.n == 1 }.count == 4 - servedCount)
        let passes = Self.passes(h)
        #expect(passes.count == 2)
        for pass in passes { Self.expectOver(pass, members: 4, accepted: 4) }
    }

    /// The round of an alert that goes alone meets a member whose last push has no answer. That member waits and gets
    /// the alert later.
    @Test func whoIsMetUnansweredIsCountedOnce() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1)
        let old = try #require(h.take())
        h.deliverAll()
        h.advance(2_000)
        h.audienceUpdate(2, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(3, padding: 3_980)
        h.advance(1_000)
        for push in [h.take(), h.take()].compactMap({ $0 }) { h.answer(push, .accepted) }
        #expect(h.take() == nil)
        h.answer(old, .accepted)
        _ = Self.settle(h)
        let passes = Self.passes(h)
        #expect(passes.count == 3)
        for pass in passes { Self.expectOver(pass, members: 3, accepted: 3) }
    }

    /// A member that joins while the alert goes round alone does not get the alert. It gets the newest version once,
    /// and no member is left waiting.
    @Test(arguments: 1...12) func whoJoinsMeanwhileGetsTheNewestOnce(member: Int) throws {
        let h = AudienceTests.harness()
        for other in 21...26 { h.join(other) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        for _ in 1...3 { h.deliver() }
        h.join(member)
        let pushes = Self.settle(h)
        let mine = pushes.filter { $0.token == EngineHarness.memberToken(member) }
        #expect(mine.map(\.n) == [2] && mine.allSatisfy { $0.alert == nil })
        #expect(h.counters.members.waiting == 0)
        let newest = try #require(Self.passes(h).last)
        Self.expectOver(newest, members: 7, accepted: 7)
    }

    /// An alert that goes round alone expires before every member has it. The `pass` record of the alert's version then
    /// counts no member as waiting.
    @Test func anAlertThatExpiresAloneIsTold() throws {
        let h = AudienceTests.harness()
        for member in 1...4 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900, more: #""expires":\#(h.wallSeconds + 20)"#)
        h.advance(1_000)
        h.audienceUpdate(2, padding: 3_980)
        h.deliver()
        h.advance(21_000)
        _ = Self.settle(h)
        let passes = Self.passes(h)
        #expect(passes.count == 2)
        #expect(passes.first?.number("accepted") == 1 && passes.first?.number("waiting") == 0)
        Self.expectOver(try #require(passes.last), members: 4, accepted: 4)
    }
}
