import PushModel
import Testing

@testable import PushEngine

/// Tests crowds that a restore knows only by their members, because the record with the audience's name was lost.
/// Nothing can be written about such a crowd until a join that is read again brings the name.
@Suite struct NamelessCrowdTests {
    private static let versionsKey = "v/com.example.pizza/match"

    /// A partition whose owner has read a member, and no record that names the member's audience.
    private static func harness(_ prepare: (EngineHarness) -> Void = { _ in }) -> EngineHarness {
        let h = AudienceTests.harness()
        h.join(1)
        prepare(h)
        h.advance(1_500)
        h.loseState { $0.keyText.hasPrefix("p/") || $0.keyText.hasPrefix("v/") }
        h.loseCommits()
        h.crash(replays: false)
        return h
    }
    /// Whether the engine has written a record of `state` about an audience without a name.
    private static func hasWrittenNameless(_ h: EngineHarness) -> Bool {
        h.written.contains { $0.topic == .state && $0.keyText.hasSuffix("com.example.pizza/") }
    }

    @Test func versionsComeWhenAJoinHasNamedIt() {
        let h = Self.harness {
            $0.audienceUpdate(1)
            $0.deliverAll()
        }
        h.replay(topic: 1)
        h.advance(2_000)
        #expect(!Self.hasWrittenNameless(h))
        #expect(h.isCommitted(topic: 1))
        h.replay(topic: 0)
        h.carryBus()
        h.advance(2_000)
        h.deliverAll()
        h.audienceUpdate(2)
        h.advance(2_000)
        #expect(h.deliverAll().last?.n == 2)
        #expect(!Self.hasWrittenNameless(h))
    }

    /// A void that arrives before the crowd has a name can be committed. The life that it ends is written down when a
    /// join brings the name.
    @Test func aVoidIsRememberedUntilAJoinHasNamedIt() {
        let h = Self.harness()
        h.replay(topic: 1)
        h.consumeVoid(life: h.wallSeconds)
        h.advance(2_000)
        #expect(!Self.hasWrittenNameless(h))
        #expect(h.isCommitted(topic: 1))
        h.replay(topic: 0)
        h.carryBus()
        #expect(h.counters.membersHeld == 1)
        #expect(h.stateLog.last { $0.keyText == Self.versionsKey }?.isNull == false)
    }

    @Test func itsRecordsOfOthersAreRemoved() throws {
        let h = Self.harness()
        let key = Array(Self.versionsKey.utf8)
        let done = h.engine.repair(partition: 0, key: key.span, value: [UInt8]().span, offset: 0, now: h.now)
        #expect(done == .removed)
        h.step()
        #expect(h.stateLog.last { $0.keyText == Self.versionsKey }?.isNull == true)
        #expect(!Self.hasWrittenNameless(h))
    }

    /// Earlier releases wrote records without an audience's name. Such a record is removed, and does not keep members
    /// whose audience nobody names.
    @Test func whatWasWrittenWithoutANameIsRemoved() {
        let h = Self.harness()
        h.writeState(AudienceRepairTests.void(of: "", epoch: 0, life: h.wallSeconds))
        h.crash(replays: false)
        #expect(h.stateLog.last { $0.keyText == "d/com.example.pizza/" }?.isNull == true)
        h.advance(FanOut.namelessMillis + 1_000)
        #expect(h.counters.membersHeld == 0)
    }
}

extension EngineHarness {
    /// Consumes a void that says that an event has ended this life of the audience.
    func consumeVoid(of audience: String = "match", life: Int64) {
        var (value, scratch): ([UInt8], [UInt8]) = ([], [])
        value.append(using: &scratch) {
            BusRecord.Void(bundleID: Array("com.example.pizza".utf8), life: life, isEnded: true).write(to: &$0)
        }
        self.consume(keyBytes: Array(audience.utf8), valueBytes: value, topic: 1, kind: .void)
    }
}
