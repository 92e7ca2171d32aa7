import APNSProtocol
import PushEngine
import PushModel
import Testing

/// What a new owner of a partition makes of what `state` holds of lives that are over, and of passes under way. Each of these was met in a
/// simulated world.
@Suite struct AudienceTakeoverTests {
    /// A member, a version, an end, and the void an hour later; Kafka takes what `isTaken` says.
    private static func playLife(_ h: EngineHarness, isTaken: @escaping (WrittenRecord) -> Bool = { _ in true }) {
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
        h.acknowledgesAtOnce = false
        for _ in 0..<100 {
            h.advance(60_000)
            for _ in 0..<8 {
                h.acknowledgeAll(where: isTaken)
                h.carryBus()
            }
        }
    }
    /// The next life's member gets what the next life brings, and nothing else.
    private static func expectNextLife(_ h: EngineHarness, of member: Int) {
        h.carryBus()
        h.advance(3_000)
        #expect(h.deliverAll().isEmpty, "that life is over")
        h.audienceUpdate(3)
        h.advance(1_000)
        let pushes = h.deliverAll()
        #expect(pushes.map(\.n) == [3] && pushes.map(\.token) == [EngineHarness.memberToken(member)])
    }

    /// Kafka never took the record that voids the members, only its tombstone and those of the crowd's other records.
    @Test func tombstonesEndALifeWhoseVoidWasLost() {
        let h = AudienceTests.harness()
        func isVoid(_ record: WrittenRecord) -> Bool { record.keyText.hasPrefix("d/") && !record.isNull }
        Self.playLife(h) { !isVoid($0) }
        #expect(h.counters.membersHeld == 0)
        #expect(h.stateLog.contains { $0.keyText.hasPrefix("v/") && $0.isNull } && !h.stateLog.contains(where: isVoid))
        h.join(2)
        for _ in 0..<8 { h.acknowledgeAll { !isVoid($0) } }
        h.crash()
        Self.expectNextLife(h, of: 2)
    }

    /// The next life begins while the last push of the former has no answer; then nothing in `state` says that it is over.
    @Test func aCrowdThatFollowsKeepsNothingOfTheLifeBefore() throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        let last = try #require(h.take())
        for _ in 0..<100 {
            h.advance(60_000)
            h.carryBus()
        }
        h.join(2)
        h.answer(last, .accepted)
        h.advance(1_000)
        h.compactState()
        h.crash()
        Self.expectNextLife(h, of: 2)
    }

    /// Who joined after an alert does not hear it, whoever sends the version that goes round next.
    @Test func whoCameAfterAnAlertDoesNotHearItFromTheNextOwner() {
        let h = AudienceTests.harness()
        for member in 1...20 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let first = (1...3).compactMap { _ in h.deliver() }
        for member in 21...30 { h.join(member) }
        for _ in 1...10 { h.deliver() }
        h.advance(1_500)
        h.audienceUpdate(2)
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let rest = h.deliverAll()
        let late = Set((21...30).map { EngineHarness.memberToken($0) })
        #expect(Set(rest.map(\.token)).count == 30 && rest.allSatisfy { $0.n == 2 })
        #expect(rest.allSatisfy { $0.alert == nil || !late.contains($0.token) })
        #expect(rest.count { $0.alert == "goal" } == 20 - first.count)
    }

    /// The last record names it as unanswered, with an alert. Since then it has been elsewhere.
    @Test func whoHasComeBackIsNotOwedTheAlertThatItWaitedFor() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let unanswered = try #require(h.take())
        h.deliverAll()
        h.advance(1_500)
        let member = try #require((1...3).first { EngineHarness.memberToken($0) == unanswered.token })
        h.join(member, of: "other")
        h.join(member)
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let rest = h.deliverAll()
        #expect(rest.map(\.token) == [unanswered.token] && rest.first?.n == 1 && rest.first?.alert == nil)
    }
}
