import APNSProtocol
import PushEngine
import PushModel
import Testing

/// What a new owner of a partition makes of what `state` holds of lives that are over, and of passes under way. Each of these was met in a
/// simulated world.
@Suite struct AudienceTakeoverTests {
    /// A member, a version, an end, and the void an hour later; Kafka takes what `isTaken` says.
    private static func playLife(_ h: EngineHarness, isTaken: @escaping (WrittenRecord) -> Bool = { _ in true }) {
        Self.playUntilTheEnd(h)
        h.acknowledgesAtOnce = false
        for _ in 0..<100 {
            h.advance(60_000)
            for _ in 0..<8 {
                h.acknowledgeAll(where: isTaken)
                h.carryBus()
            }
        }
    }
    /// A member, a version and an end, which it gets.
    private static func playUntilTheEnd(_ h: EngineHarness) {
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
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

    /// Kafka has the tombstones of the crowd's records, and not the record that voids the members: a worker from before let them go together.
    @Test func tombstonesEndALifeWhoseVoidWasLost() {
        let h = AudienceTests.harness()
        func isVoid(_ record: WrittenRecord) -> Bool { record.keyText.hasPrefix("d/") && !record.isNull }
        Self.playLife(h)
        #expect(h.counters.membersHeld == 0)
        h.loseState(where: isVoid)
        #expect(h.stateLog.contains { $0.keyText.hasPrefix("v/") && $0.isNull })
        h.join(2)
        for _ in 0..<8 { h.acknowledgeAll() }
        h.crash()
        Self.expectNextLife(h, of: 2)
    }

    /// The void's record is lost with its owner, and whatever else that wrote is not: the next owner reads the void again, and believes it.
    @Test(arguments: [false, true]) func aVoidLostWithItsOwnerIsObeyedByTheNext(hasStarts: Bool) {
        let h = AudienceTests.harness()
        if hasStarts { h.joinStart(3) }
        Self.playLife(h) { !$0.keyText.hasPrefix("d/") }
        #expect(!h.stateLog.contains { $0.keyText.hasPrefix("v/") && $0.isNull }, "nothing goes before it lies there")
        h.acknowledgesAtOnce = true
        h.crash()
        h.join(2)
        // The crowd of the start members asks the owner again after a while.
        for _ in 0..<10 {
            h.advance(1_000)
            h.carryBus()
        }
        Self.expectNextLife(h, of: 2)
    }

    /// Kafka takes the record that voids the members only after it was written again, and takes everything else meanwhile.
    @Test func aVoidWrittenLateTakesNobodyOfTheNextLife() {
        let h = AudienceTests.harness()
        func isOfVoid(_ record: WrittenRecord) -> Bool { record.keyText.hasPrefix("d/") }
        Self.playLife(h) { !isOfVoid($0) }
        h.join(2)
        h.joinStart(3)
        for _ in 0..<8 { h.acknowledgeAll { !isOfVoid($0) } }
        #expect(h.counters.membersHeld == 1 && !h.wantsRecords && !h.isCommitted(), "they wait for it")
        h.acknowledgesAtOnce = true
        h.acknowledgeAll(where: isOfVoid)
        h.advance(100)
        #expect(h.counters.membersHeld == 2 && h.wantsRecords && h.isCommitted())
        h.crash()
        #expect(h.counters.membersHeld == 2)
        Self.expectNextLife(h, of: 2)
    }

    /// An owner that has died answered a partition's question, and Kafka takes that only after its successor's void.
    @Test(arguments: [false, true]) func aVersionThatComesAfterItsVoidIsForNobody(isTakenOver: Bool) throws {
        let h = AudienceTests.harness()
        h.joinStart(3)
        Self.playUntilTheEnd(h)
        let version = try #require(h.written.last { $0.headers[RecordHeader.kind.text] == "version" })
        for _ in 0..<100 {
            h.advance(60_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 1, "the start member alone")
        if isTakenOver { h.crash() }
        h.consume(keyBytes: version.key, valueBytes: version.value, topic: 1, kind: .version)
        h.join(2)
        Self.expectNextLife(h, of: 2)
    }

    /// What waits for a void goes with its partition, and comes again.
    @Test func whatWaitsForAVoidIsReadByTheNextOwner() {
        let h = AudienceTests.harness()
        Self.playLife(h) { !$0.keyText.hasPrefix("d/") }
        h.join(2)
        #expect(h.counters.membersHeld == 1)
        h.engine.forget(partition: h.partition)
        #expect(h.wantsRecords && h.counters.isConserved)
        h.acknowledgesAtOnce = true
        h.crash(replays: false)
        // In the order of the owner before.
        for topic: UInt16 in [1, 0] { h.replay(topic: topic) }
        h.advance(100)
        #expect(h.counters.membersHeld == 1)
        Self.expectNextLife(h, of: 2)
    }

    /// A member was read while the crowd had versions, and then that those and its name are over: it waits for the join that names it again.
    @Test(arguments: [false, true]) func whatATombstoneTakesFromAMembersCrowdTrapsNothing(isStart: Bool) {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        let records = ["v/", "p/"].compactMap { kind in h.stateLog.last { $0.keyText.hasPrefix(kind) } }
        let member = h.stateLog.last { record in records.allSatisfy { $0.key != record.key } && record.key.count == 33 }
        #expect(records.count == 2 && member != nil)
        // Its record is written once more, and the first is compacted away.
        if let member { h.writeState(member) }
        h.compactState()
        for var record in records {
            record.isNull = true
            h.writeState(record)
        }
        h.crash(replays: false)
        if isStart { h.joinStart(2) } else { h.join(2) }
        h.advance(2_000)
        h.carryBus()
        let tokens = h.deliverAll().map(\.token)
        #expect(tokens.contains(EngineHarness.memberToken(1)))
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

    /// The crowd has start members since long; its first update member is in no record of progress. A void that comes late is of the life before.
    @Test func whoCameAfterTheLastProgressIsNotVoided() throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.joinStart(9)
        h.audienceUpdate(1)
        h.deliverAll()
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
        for _ in 0..<900 {
            h.advance(60_000)
            h.carryBus()
        }
        let void = try #require(h.written.last { $0.headers[RecordHeader.kind.text] == "void" })
        #expect(h.counters.membersHeld == 1)
        h.join(2)
        h.crash()
        h.consume(keyBytes: void.key, valueBytes: void.value, topic: 1, kind: .void)
        Self.expectNextLife(h, of: 2)
    }

    /// The first update member of a crowd is served at once, and its worker dies before anything is written: the next one keeps the distance.
    @Test func whoIsTheFirstOfItsRingKeepsItsDistance() {
        let h = AudienceTests.harness()
        h.joinStart(9)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.join(1)
        #expect(h.take() != nil)
        h.crash(afterMillis: 100)
        h.carryBus()
        #expect(h.deliverAll().isEmpty)
        h.advance(1_000)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
    }

    /// `state` has a newer version, but not the progress that takes it up: members that were owed the alert before it
    /// still are.
    @Test(arguments: [0, 3_980]) func anAlertIsOwedBesideAVersionThatNoProgressTellsOf(padding: Int) throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.audienceUpdate(1, alert: "goal", padding: 1_900)
        let refused = try #require(h.take())
        h.answer(refused, .response(PushResponse(status: 500, reason: "InternalServerError")))
        h.pause("match")
        h.join(4)
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.audienceUpdate(2, padding: padding)
        for _ in 0..<8 {
            h.acknowledgeAll { !$0.keyText.hasPrefix("p/") }
            h.carryBus()
        }
        h.crash()
        h.carryBus()
        h.pause("match", isPaused: false)
        var pushes: [Push] = []
        for _ in 0..<20 {
            pushes += h.deliverAll()
            h.advance(1_000)
        }
        let heard = pushes.filter { $0.alert == "goal" }.map(\.token)
        #expect(heard.sorted() == (1...3).map { EngineHarness.memberToken($0) })
        #expect(Set(pushes.filter { $0.n == 2 }.map(\.token)).count == 4 && h.counters.members.waiting == 0)
    }

    /// A member that joined after an alert does not hear it, no matter which owner sends the version that goes round
    /// next.
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

    /// The progress tells of a version beside which the alert goes round, and `state` has that version not, only the one that brought the alert.
    /// - Parameter joinsFirst: they came before that version, so that the progress names them.
    @Test(arguments: [false, true])
    func whoCameAfterAnAlertDoesNotHearItBesideAVersionThatComesAgain(joinsFirst: Bool) {
        let h = AudienceTests.harness()
        for member in 1...20 { h.join(member) }
        h.audienceUpdate(1, alert: "goal")
        let first = (1...3).compactMap { _ in h.deliver() }
        if joinsFirst { for member in 21...30 { h.join(member) } }
        h.advance(1_500)
        h.acknowledgesAtOnce = false
        h.audienceUpdate(2)
        for _ in 0..<8 {
            h.acknowledgeAll { !$0.keyText.hasPrefix("v/") }
            h.carryBus()
        }
        if !joinsFirst { for member in 21...30 { h.join(member) } }
        for _ in 0..<8 { h.acknowledgeAll { !$0.keyText.hasPrefix("v/") } }
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let rest = h.deliverAll()
        let late = Set((21...30).map { EngineHarness.memberToken($0) })
        #expect(Set(rest.filter { $0.n == 2 }.map(\.token)).count == 30)
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

    /// A member is away for a moment while its push with the alert has no answer: what it is owed since it came back has none.
    @Test(arguments: [false, true]) func whoCameBackBeforeTheAnswerIsOwedNoAlert(isElsewhere: Bool) throws {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1, alert: "goal")
        let unanswered = try #require(h.take())
        #expect(unanswered.alert == "goal")
        if isElsewhere { h.join(1, of: "other") } else { h.leave(1) }
        h.join(1)
        h.advance(2_000)
        #expect(h.take() == nil && h.isCommitted(), "it waits for the answer, and `state` tells so")
        h.crash()
        h.carryBus()
        h.advance(3_000)
        let pushes = h.deliverAll()
        #expect(pushes.map(\.n) == [1] && pushes.map(\.alert) == [nil])
    }

    // MARK: Apps of others

    /// A worker that does not know the members' app takes their partition over: it cannot name their audience, and leaves them where they are for one that
    /// can.
    @Test func membersOfAnAppThatIsNotConfiguredStay() {
        let other = "com.example.other"
        let h = EngineHarness {
            var app = AppConfiguration(bundleID: other)
            app.productionRoute = 0
            $0.apps.append(app)
        }
        for member in 1...3 {
            h.consume(
                key: EngineHarness.memberToken(member),
                value: #"{"event":"register","audience":"match","app":"\#(other)"}"#)
            h.carryBus()
        }
        func update(_ n: Int) {
            h.consume(
                key: "match",
                value: EngineHarness.content(
                    "update", n, at: nil, priority: 10, alert: nil, padding: 0,
                    more: [#""to":{"audience":"match"}"#, #""app":"\#(other)""#]))
        }
        update(1)
        #expect(h.deliverAll().count == 3)
        h.advance(2_000)
        let (both, count) = (h.configuration, h.stateLog.count)
        h.configuration.apps.removeLast()
        h.crash(replays: false)
        h.advance(3_600_000)
        h.deliverAll()
        #expect(h.stateLog[count...].allSatisfy { !$0.isNull }, "no member is removed")
        h.configuration = both
        h.crash(replays: false)
        h.carryBus()
        h.advance(2_000)
        update(2)
        #expect(h.deliverAll().count { $0.n == 2 } == 3)
    }
}
