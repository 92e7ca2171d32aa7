import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what a new owner does with ended lives and unfinished passes that it finds in `state`. The simulation found
/// each of these cases.
@Suite struct AudienceTakeoverTests {
    /// Plays a life: a member, a version, an end, and the void an hour later. After the end, Kafka takes only the
    /// records for which `isTaken` is true.
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
    /// Plays a member, a version, and an end that the member gets.
    private static func playUntilTheEnd(_ h: EngineHarness) {
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
    }
    /// Expects that a member of the next life gets that life's update and nothing else.
    private static func expectNextLife(_ h: EngineHarness, of member: Int) {
        h.carryBus()
        h.advance(3_000)
        #expect(h.deliverAll().isEmpty, "that life is over")
        h.audienceUpdate(3)
        h.advance(1_000)
        let pushes = h.deliverAll()
        #expect(pushes.map(\.n) == [3] && pushes.map(\.token) == [EngineHarness.memberToken(member)])
    }

    /// `state` has the tombstones of the crowd's records, but not its void. An older release wrote tombstones and void
    /// at once, so the void could be lost. The tombstones are enough to end the life.
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

    /// A void's record is lost when the owner crashes, while the owner's other records are not. The next owner reads
    /// the void from the bus again, and obeys it.
    @Test(arguments: [false, true]) func aVoidLostWithItsOwnerIsObeyedByTheNext(hasStarts: Bool) {
        let h = AudienceTests.harness()
        if hasStarts { h.joinStart(3) }
        Self.playLife(h) { !$0.keyText.hasPrefix("d/") }
        #expect(!h.stateLog.contains { $0.keyText.hasPrefix("v/") && $0.isNull }, "nothing goes before it lies there")
        h.acknowledgesAtOnce = true
        h.crash()
        h.join(2)
        // The crowd with the start members asks the audience's owner again after a while.
        for _ in 0..<10 {
            h.advance(1_000)
            h.carryBus()
        }
        Self.expectNextLife(h, of: 2)
    }

    /// Kafka stores the void's record after all others. Members that joined in the meantime stay.
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

    /// An owner's answer to a question arrives after the void of that owner's successor. Nobody gets the version that
    /// is in the answer.
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

    /// Records that wait for a void are dropped when their partition leaves. The next owner reads them again.
    @Test func whatWaitsForAVoidIsReadByTheNextOwner() {
        let h = AudienceTests.harness()
        Self.playLife(h) { !$0.keyText.hasPrefix("d/") }
        h.join(2)
        #expect(h.counters.membersHeld == 1)
        h.engine.forget(partition: h.partition)
        #expect(h.wantsRecords && h.counters.isConserved)
        h.acknowledgesAtOnce = true
        h.crash(replays: false)
        // The topics are replayed in the order of the former owner.
        for topic: UInt16 in [1, 0] { h.replay(topic: topic) }
        h.advance(100)
        #expect(h.counters.membersHeld == 1)
        Self.expectNextLife(h, of: 2)
    }

    /// A restore reads a member's record, and then tombstones of the records that name its crowd. The member waits
    /// until a join names the audience again.
    @Test(arguments: [false, true]) func whatATombstoneTakesFromAMembersCrowdTrapsNothing(isStart: Bool) {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(2_000)
        let records = ["v/", "p/"].compactMap { kind in h.stateLog.last { $0.keyText.hasPrefix(kind) } }
        let member = h.stateLog.last { record in records.allSatisfy { $0.key != record.key } && record.key.count == 33 }
        #expect(records.count == 2 && member != nil)
        // The member's record is written again, and compaction removes its first record.
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

    /// The next life begins while a push of the former life has no answer. Afterwards no record in `state` says that
    /// the former life is over.
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

    /// A crowd that has only start members left gets an update member, which no progress record knows yet. A delayed
    /// void of the former life must not remove that member.
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

    /// The first update member of a crowd is served at once, and the worker crashes before anything is written. The
    /// next owner still keeps the minimum distance for the member.
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

    /// `state` has a newer version, but no progress record that knows it. Members that were owed the former version's
    /// alert are still owed that alert.
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

    /// A member that joined after an alert does not hear it, no matter which owner sends the next version.
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

    /// A newer version has taken over an alert when the owner dies. The progress record knows that version, but `state`
    /// has no record of the version. Members that joined after the alert still do not hear it.
    /// - Parameter joinsFirst: whether these members join before the newer version, so that the progress record names
    ///   them.
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

    /// The last progress record names a member as unanswered, with an alert. The member has been in another audience
    /// since, so it is not owed the alert.
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

    /// A member leaves and comes back while its push with the alert has no answer. The member is then owed the version
    /// without the alert.
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

    // MARK: Unknown apps

    /// A worker takes the members' partition over and does not know their app. It cannot name their audience, and
    /// leaves their records for a worker that knows the app.
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
