import PushEngine
import PushModel
import Testing

/// A life that is over is forgotten only when none of its records will be read again. Otherwise the partition's next
/// owner would take those records for another life. An owner that cannot commit forgets the life after a limited time.
@Suite struct ForgettingTests {
    private static let retentionMillis: Int64 = 60_000
    private static let heldUp = "held-up"

    /// Kafka acknowledges everything except one outcome of another activity. That outcome's event and all later ones
    /// cannot be committed.
    private static func settle(_ h: EngineHarness) {
        for _ in 0..<8 {
            h.acknowledgeAll { !$0.keyText.hasSuffix(Self.heldUp) }
            h.carryBus()
        }
    }
    private static func pass(_ h: EngineHarness, millis: Int64) {
        for _ in 0..<(millis / 5_000) {
            h.advance(5_000)
            Self.settle(h)
        }
    }
    /// Plays the life of an activity, or of an audience with a member: an update and an end.
    private static func playLife(isAudience: Bool, unacknowledgedMax: Int = 50_000) -> EngineHarness {
        let h = AudienceTests.harness {
            $0.apps[0].retentionAfterEndMillis = Self.retentionMillis
            $0.settings.unacknowledgedMax = unacknowledgedMax
        }
        func play(_ change: () -> Void) {
            change()
            h.advance(1_000)
            h.deliverAll()
            h.advance(1_000)
        }
        play { if isAudience { h.join(1) } else { h.register() } }
        play { if isAudience { h.audienceUpdate(1) } else { h.update(1) } }
        play { if isAudience { h.audienceEnd(2) } else { h.end(2) } }
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        return h
    }
    /// Plays an update after the end. It ends as `late`, and cannot be committed.
    /// - Returns: offset of that update.
    private static func playLate(_ h: EngineHarness, isAudience: Bool) -> Int64 {
        h.register(of: Self.heldUp)
        let late = isAudience ? h.audienceUpdate(3) : h.update(3)
        Self.pass(h, millis: 5_000)
        return late
    }
    private static func isForgotten(_ h: EngineHarness, isAudience: Bool) -> Bool {
        let key = isAudience ? "o/com.example.pizza/match" : "a/com.example.pizza/a"
        return h.stateLog.last { $0.keyText == key }?.isNull ?? false
    }
    /// Reads all uncommitted events again, which must not begin another life.
    private static func expectOver(_ h: EngineHarness, isAudience: Bool, late: Int64) {
        h.advance(2_000)
        #expect(!Self.isForgotten(h, isAudience: isAudience))
        h.replay()
        h.carryBus()
        if isAudience { h.join(2) } else { h.register() }
        h.carryBus()
        h.advance(2_000)
        let pushes = h.deliverAll()
        #expect(pushes.allSatisfy { $0.event == "end" && $0.n == 2 })
        h.advance(400_000)
        h.carryBus()
        h.advance(20_000)
        h.carryBus()
        #expect(h.outcomes(of: late).allSatisfy { $0 == "late" || $0 == "duplicate" })
        #expect(Self.isForgotten(h, isAudience: isAudience) && h.isCommitted() && h.isCommitted(topic: 1))
    }

    /// The retention passes while an event is not committed, and the owner dies. The life is still remembered.
    @Test(arguments: [false, true]) func whatIsNotCommittedIsRemembered(isAudience: Bool) {
        let h = Self.playLife(isAudience: isAudience)
        let late = Self.playLate(h, isAudience: isAudience)
        Self.pass(h, millis: Self.retentionMillis + 60_000)
        h.crash(replays: false)
        Self.expectOver(h, isAudience: isAudience, late: late)
    }

    /// The owner dies before the `late` update is written down, and nobody owns the partition until the retention is
    /// over. The next owner reads the log before it forgets the life.
    @Test(arguments: [false, true]) func whatLiesInTheLogIsReadFirst(isAudience: Bool) {
        let h = Self.playLife(isAudience: isAudience)
        let late = isAudience ? h.audienceUpdate(3) : h.update(3)
        h.crash(afterMillis: 2 * Self.retentionMillis, replays: false)
        Self.expectOver(h, isAudience: isAudience, late: late)
    }

    /// Kafka acknowledges slowly, so no more records are read. The life is still remembered, because uncommitted
    /// records will be read again.
    @Test(arguments: [false, true]) func whatKafkaTakesItsTimeOverIsNoReasonToForget(isAudience: Bool) {
        let h = Self.playLife(isAudience: isAudience, unacknowledgedMax: 1)
        let late = Self.playLate(h, isAudience: isAudience)
        #expect(h.engine.recordRoom == 0)
        Self.pass(h, millis: Self.retentionMillis + 60_000)
        h.crash(replays: false)
        Self.expectOver(h, isAudience: isAudience, late: late)
    }

    /// An owner that cannot commit, for any reason, forgets an ended life after a limited time.
    @Test(arguments: [false, true]) func anOwnerThatCannotCommitForgetsInTheEnd(isAudience: Bool) {
        let h = Self.playLife(isAudience: isAudience)
        _ = Self.playLate(h, isAudience: isAudience)
        Self.pass(h, millis: Self.retentionMillis + 580_000)
        #expect(!Self.isForgotten(h, isAudience: isAudience))
        Self.pass(h, millis: 40_000)
        #expect(Self.isForgotten(h, isAudience: isAudience) && !h.isCommitted())
    }
}
