import APNSProtocol
@testable import PushEngine
import PushModel
import Testing

/// Tests what a partition's next owner does with start members, and with a start that goes round.
@Suite struct StartTakeoverTests {
    // MARK: No room
    /// A restore that cannot take a membership reports this and stops the partition. Otherwise the member would
    /// silently get no card.
    @Test func aMembershipMoreThanATokenCanHaveIsNotPassedOver() throws {
        let h = EngineHarness.starts()
        for audience in 1...64 { h.joinStart(1, of: "m\(audience)") }
        var record = try #require(h.stateLog.last { $0.key.first == UInt8(ascii: "s") })
        record.key[1] ^= 1
        h.writeState(record)
        h.crash()
        let malformed = h.restoreResults.compactMap { result -> String? in
            if case .malformed(let why) = result { why } else { nil }
        }
        #expect(malformed.count == 1 && malformed.allSatisfy { $0.contains("start member") })
    }

    // MARK: Pauses
    /// Members were announced but not sent the start when an operator paused the audience. When the audience is
    /// resumed, the partition's owner at that time starts them.
    @Test(arguments: [true, false]) func aPauseLeavesNobodyUnknown(isLate: Bool) {
        let h = EngineHarness.starts()
        if isLate {
            h.joinStart(0)
            h.audienceStart(1)
            _ = h.deliverAll(withinMillis: 2_000)
            for member in 1...10 { h.joinStart(member) }
        } else {
            for member in 1...10 { h.joinStart(member) }
            h.audienceStart(1)
        }
        h.advance(500)
        var tokens = (1...3).compactMap { _ in h.deliver()?.token }
        h.pause("match")
        h.crash()
        h.carryBus()
        #expect(h.counters.startMembers.unknown == 0)
        h.advance(10_000)
        #expect(h.take() == nil)
        h.pause("match", isPaused: false)
        tokens += h.deliverAll(withinMillis: 3_000).map(\.token)
        #expect(tokens.count == 10 && Set(tokens).count == 10)
    }

    /// The audience is resumed while the record that withdraws the announcements is on its way. A withdrawn
    /// announcement does not let a start leave.
    @Test func whoIsTakenBackLeavesOnlyWhenAnnouncedAnew() {
        let h = EngineHarness.starts()
        for member in 1...10 { h.joinStart(member) }
        h.audienceStart(1)
        h.advance(500)
        var tokens = (1...3).compactMap { _ in h.deliver()?.token }
        h.acknowledgesAtOnce = false
        h.pause("match")
        h.pause("match", isPaused: false)
        #expect(h.take() == nil, "what `state` will say first is that nobody else is announced")
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.crash()
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 3_000).map(\.token)
        #expect(Set(tokens).count == tokens.count)
    }

    // MARK: Versions that expire
    /// The version that brought the start expires before the start does, and the owner's versions are written again.
    /// The start still goes round.
    @Test func aStartOutlivesTheVersionThatBroughtIt() {
        let h = EngineHarness.starts { $0.apps[0].audienceSpreadMillis = 400_000 }
        for member in 1...20 { h.joinStart(member) }
        h.audienceUpdate(9, priority: 10)
        h.audienceStart(1)
        h.audienceUpdate(2, more: #""expires":\#(h.wallSeconds + 10)"#)
        var tokens = h.deliverAll(withinMillis: 30_000).filter { $0.event == "start" }.map(\.token)
        #expect(!tokens.isEmpty && tokens.count < 15)
        h.repairVersions(of: "match")
        h.crash()
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 420_000, stepMillis: 2_000).map(\.token)
        let unknown = Int(h.counters.startMembers.unknown)
        #expect(tokens.count == Set(tokens).count && tokens.count + unknown == 20 && unknown < 3)
        #expect(h.counters.isConserved)
    }

    // MARK: Late records
    /// A former owner's announcement is in `state` behind its successor's records. No later owner sends anybody a
    /// second start.
    @Test func whatAFormerOwnerAnnouncedIsNotBelieved() throws {
        let h = EngineHarness.starts()
        for member in 1...600 { h.joinStart(member) }
        h.audienceStart(1)
        h.advance(500)
        var tokens = (1...10).compactMap { _ in h.deliver()?.token }
        let late = try #require(h.stateLog.last { $0.keyText.hasPrefix("r/") })
        h.crash(afterMillis: 2_000)
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 1_000).map(\.token)
        #expect(tokens.count > 10)
        h.writeState(late)
        h.crash(afterMillis: 2_000)
        h.carryBus()
        tokens += h.deliverAll(withinMillis: 5_000).map(\.token)
        #expect(tokens.count == Set(tokens).count)
    }

    /// Two records are on their way to Kafka, and the older one, which names a member, may be stored last. The member
    /// waits until the newer record is acknowledged.
    @Test func whoIsNamedByARecordUnderWayWaitsForTheNext() {
        var retries = StartRetries()
        let member = MemberID(rawValue: 7)
        retries.set(StartRetries.Entry(notBeforeMillis: 10), for: member)
        #expect(retries.announce(nowMillis: 0, namesAll: false) == [member])
        #expect(retries.announce(nowMillis: 10, namesAll: false).isEmpty)
        #expect(retries.nextDue(sendsNamed: false, nowMillis: 10) == nil)
        retries.announced()
        #expect(retries.nextDue(sendsNamed: false, nowMillis: 10) == member)
    }

    // MARK: Records
    /// More late members wait than one record announces, and no start leaves. The remaining members do not cause one
    /// record after the other: at most about one is written each second.
    @Test func whoCannotLeaveIsNotAnnouncedAgainAndAgain() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        for member in 2...600 { h.joinStart(member) }
        h.advance(3_000)
        func recordCount() -> Int { h.stateLog.count { $0.keyText.hasPrefix("r/") } }
        let before = recordCount()
        h.advance(10_000)
        #expect(recordCount() - before <= 11)
        let rest = h.deliverAll(withinMillis: 20_000).map(\.token)
        #expect(rest.count == 599 && Set(rest).count == 599)
    }
}

extension EngineHarness {
    /// Lets the engine find another writer's record about an audience's versions in `state`. The engine writes its own
    /// record behind that record.
    func repairVersions(of audience: String) {
        let key = Array("v/com.example.pizza/\(audience)".utf8)
        let done = self.engine.repair(
            partition: self.partition, key: key.span, value: [UInt8]().span, offset: -1, now: self.now)
        #expect(done == .overwritten)
        self.step()
    }
}
