import APNSProtocol
@testable import PushEngine
import PushModel
import Testing

/// Tests starts of one audience in several lives. Explicit timestamps may give these starts the same stamp.
@Suite struct StartLifeTests {
    private static func harness(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        EngineHarness.starts {
            $0.apps[0].retentionAfterEndMillis = 60_000
            configure(&$0)
        }
    }
    /// Ends the audience and waits until it is forgotten, except for its start members.
    private static func end(_ h: EngineHarness) {
        h.audienceEnd(99)
        _ = h.deliverAll(withinMillis: 2_000)
        for _ in 0..<10 {
            h.advance(10_000)
            h.carryBus()
        }
    }

    @Test func whoLeftAfterAStartGetsTheNextLifesWithTheSameStamp() {
        let h = Self.harness()
        h.joinStart(1)
        h.joinStart(2)
        let stamp = h.wallSeconds + 5
        h.audienceStart(1, more: #""timestamp":\#(stamp)"#)
        let first = h.deliverAll(withinMillis: 2_000).map(\.stamp)
        h.leave(1)
        Self.end(h)
        h.audienceStart(2, more: #""timestamp":\#(stamp)"#)
        let second = h.deliverAll(withinMillis: 8_000).map(\.stamp)
        #expect(first.count == 2 && second.count == 1 && Set(first + second).count == 1)
        h.joinStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).map(\.token) == [EngineHarness.memberToken(1)])
    }

    @Test func startsOfOneStampAreCountedEach() {
        let h = Self.harness { $0.apps[0].startsPerHour = 1 }
        h.joinStart(1)
        let stamp = h.wallSeconds + 5
        h.audienceStart(1, more: #""timestamp":\#(stamp)"#)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        Self.end(h)
        h.audienceStart(2, more: #""timestamp":\#(stamp)"#)
        #expect(h.deliverAll(withinMillis: 8_000).isEmpty && h.counters.startsHeldBack > 0)
    }

    @Test func marksOfOneLifeSayNothingOfTheNext() {
        let h = Self.harness { $0.apps[0].audienceSpreadMillis = 400_000 }
        h.joinStart(0)
        let stamp = h.wallSeconds + 5
        h.audienceStart(1, more: #""timestamp":\#(stamp)"#)
        for member in 1...20 { h.joinStart(member) }
        #expect(h.deliverAll(withinMillis: 410_000, stepMillis: 2_000).count == 21)
        Self.end(h)
        h.audienceStart(2, more: #""timestamp":\#(stamp)"#)
        h.crash()
        h.carryBus()
        let count = h.deliverAll(withinMillis: 420_000, stepMillis: 2_000).count
        #expect(count + Int(h.counters.startMembers.unknown) == 21 && count > 15)
    }

    // MARK: A start right behind an end
    /// A start arrives while the end before it still waits. Both may be in a log that was not read for a while, for
    /// example after a takeover.
    @Test(arguments: [0, 1, 2, 3]) func aStartBehindAnEndThatWaitsBeginsANewLife(situation: Int) {
        let h = Self.harness()
        h.joinStart(1)
        h.join(2)
        h.audienceStart(1)
        let first = h.deliverAll(withinMillis: 5_000)
        #expect(first.map(\.n) == [1, 1])
        // Situation 1 leaves a version's record unacknowledged, as in an outage. In situation 2 nothing is
        // acknowledged, and the next owner reads everything again.
        h.acknowledgesAtOnce = situation == 0 || situation == 3
        if situation == 1 { h.audienceUpdate(2, priority: 10) }
        let end = h.audienceEnd(3)
        let start = h.audienceStart(4)
        if situation == 2 { h.crash() }
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.carryBus()
        let pushes = h.deliverAll(withinMillis: 9_000)
        if situation == 3 {
            h.crash()
            h.carryBus()
        }
        #expect(h.outcomes(of: end) == ["fanned-out"] && h.outcomes(of: start) == ["fanned-out"])
        #expect(pushes.filter { $0.token == EngineHarness.memberToken(1) }.map(\.event) == ["start"])
        // In situation 2 both versions are made together, and the end gives way to the newer version.
        let updates = pushes.filter { $0.token == EngineHarness.memberToken(2) }.map(\.event)
        #expect(updates == (situation == 2 ? ["update"] : ["end", "update"]))
        h.joinStart(3)
        #expect(h.deliverAll(withinMillis: 3_000).map(\.n) == [4])
        let update = h.audienceUpdate(5)
        _ = h.deliverAll(withinMillis: 9_000)
        #expect(h.outcomes(of: update) == ["fanned-out"] && h.isCommitted())
    }

    /// Ends and starts follow one another while nothing is acknowledged. The room for them is bounded.
    @Test func versionsThatWaitAreBounded() {
        let h = Self.harness()
        h.joinStart(1)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 5_000)
        h.acknowledgesAtOnce = false
        var starts: [Int64] = []
        for n in 2...30 {
            h.audienceEnd(2 * n)
            starts.append(h.audienceStart(2 * n + 1))
        }
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.carryBus()
        _ = h.deliverAll(withinMillis: 20_000)
        let outcomes = starts.map { h.outcomes(of: $0) }
        #expect(outcomes.contains(["duplicate"]) && outcomes.allSatisfy { $0.count == 1 })
        #expect(h.counters.versionsPublished <= 12 && h.isCommitted())
        h.audienceEnd(98)
        let last = h.audienceStart(99)
        #expect(h.deliverAll(withinMillis: 9_000).map(\.n) == [99] && h.outcomes(of: last) == ["fanned-out"])
    }

    // MARK: Clocks set back
    /// Lets time pass until the void is written, and stops before the partition asks again.
    private static func advanceToVoid(_ h: EngineHarness, stepMillis: Int64 = 1_000) {
        for _ in 0..<60_000 where !h.written.contains(where: { $0.headers[RecordHeader.kind.text] == "void" }) {
            h.advance(stepMillis)
            h.carryBus()
        }
    }

    /// An event arrives before the partition has asked, and the owner's clock may have been set back since the former
    /// life. The new life still has a greater number.
    @Test(arguments: [-7_200_000, 0]) func aLifeIsNewerThanTheOneBeforeWhateverTheClockSays(stepMillis: Int64) {
        let h = Self.harness()
        for member in 1...3 { h.joinStart(member) }
        h.audienceStart(1)
        h.audienceEnd(2)
        _ = h.deliverAll(withinMillis: 2_000)
        Self.advanceToVoid(h)
        h.stepWallClock(stepMillis)
        h.joinStart(4)
        h.join(20)
        h.audienceStart(3)
        let pushes = h.deliverAll(withinMillis: 9_000)
        #expect(pushes.count { $0.event == "start" } == 4 && pushes.count { $0.event == "update" } == 1)
        h.audienceUpdate(4, alert: "goal")
        #expect(h.deliverAll(withinMillis: 3_000).map(\.n) == [4])
        h.crash()
        h.carryBus()
        h.joinStart(5)
        #expect(h.deliverAll(withinMillis: 3_000).count { $0.event == "start" } == 1)
        h.audienceEnd(6)
        #expect(h.deliverAll(withinMillis: 3_000).map(\.event) == ["end"])
        for _ in 0..<10 {
            h.advance(10_000)
            h.carryBus()
        }
        #expect(h.counters.membersHeld == 5, "start members stay")
    }

    /// An audience with update members only is forgotten after twelve hours without an event. Its members get the
    /// updates of the next life, although a clock was set back.
    @Test func updateMembersGetTheLifeAfterAClockWasSetBack() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        h.advance(39_600_000)
        h.join(2)
        #expect(h.deliverAll(withinMillis: 2_000).count == 1)
        Self.advanceToVoid(h, stepMillis: 2_000)
        h.stepWallClock(-86_400_000)
        h.audienceUpdate(2)
        #expect(Set(h.deliverAll(withinMillis: 9_000).map(\.token)).count == 2)
        h.audienceUpdate(3)
        #expect(h.deliverAll(withinMillis: 3_000).map(\.n) == [3, 3])
    }

    // MARK: Records of other releases
    /// The former release reads the last fields of this record, and does not write them. This release writes them, and
    /// also reads records without them.
    @Test func whoHasNoAnswerStandsAtTheEnd() throws {
        var progress = StartProgressRecord(epoch: 5, start: StartStamp(life: 9, stampSeconds: 9))
        progress.rounds = [
            StartProgressRecord.Round(
                horizon: 400, lateOffset: 3, unansweredCount: 3, named: [6], unmet: 5, unanswered: [7, 2])
        ]
        let head: [UInt8] =
            [1, 10, 10, 18, 18, 0, 0, 1] + [0, 0xa0, 6, 6, 3, 1, 12] + Array(repeating: 0, count: 14) + [0, 0]
        let tail: [UInt8] = [10, 2, 14, 4]
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { progress.write(to: &$0) }
        #expect(bytes == head + tail)
        func read(_ bytes: [UInt8]) throws -> StartProgressRecord {
            var reader = StateReader(bytes.span)
            #expect(try StateCodec.readKind(&reader) == .startProgress)
            return try StartProgressRecord(&reader)
        }
        #expect(try read(head + tail) == progress)
        progress.rounds[0].unmet = nil
        progress.rounds[0].unanswered = []
        #expect(try read(head) == progress)
        #expect(throws: StateError.self) { try read(head + tail + [0]) }
    }
}
