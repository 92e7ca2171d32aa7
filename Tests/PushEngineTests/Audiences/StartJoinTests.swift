import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests start tokens that join audiences, leave them, and are read from `state`.
@Suite struct StartJoinTests {
    @Test func aJoinThatChangesNothingDoesNothing() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        let records = h.counters.stateRecords
        h.joinStart(1)
        #expect(h.counters.stateRecords == records && h.counters.membersHeld == 1)
        h.joinStart(1, isCapable: true)
        #expect(h.counters.stateRecords == records + 1 && h.counters.membersHeld == 1)
        h.advance(1_000)
        #expect(h.isCommitted() && h.isCommitted(topic: 1))
    }

    @Test func aTokenMayBeInManyAudiences() {
        let h = EngineHarness.starts()
        for audience in 0..<64 { h.joinStart(1, of: "match \(audience)") }
        #expect(h.counters.membersHeld == 64)
        let refused = h.joinStart(1, of: "one more")
        #expect(h.outcomes(of: refused) == ["dead-lettered"])
        #expect(h.counters.membersHeld == 64 && h.isCommitted())
        h.leave(1, of: "match 3")
        let taken = h.joinStart(1, of: "one more")
        #expect(h.outcomes(of: taken) == ["applied"] && h.counters.membersHeld == 64)
    }

    @Test func whoIsOneTooManyIsRefused() {
        let h = EngineHarness.starts { $0.settings.membersMax = 2 }
        h.join(1)
        h.joinStart(2)
        #expect(h.outcomes(of: h.joinStart(3)) == ["dead-lettered"])
        #expect(h.outcomes(of: h.joinStart(2, isCapable: true)) == ["applied"])
        #expect(h.counters.membersHeld == 2 && h.isCommitted())
    }

    @Test func itLeavesOneAudienceOrAll() {
        let h = EngineHarness.starts()
        for audience in ["a", "b", "c"] { h.joinStart(1, of: audience) }
        h.leave(1, of: "b")
        #expect(h.counters.membersHeld == 2)
        h.audienceStart(1, of: "b")
        #expect(h.deliverAll().isEmpty)
        h.leave(1)
        #expect(h.counters.membersHeld == 0)
        h.audienceStart(1, of: "a")
        #expect(h.deliverAll().isEmpty && h.isCommitted())
        let left = h.stateLog.filter { $0.key.first == UInt8(ascii: "s") }
        #expect(left.suffix(3).allSatisfy { $0.isNull })
    }

    /// The app reports a new token. The old token leaves, and is sent nothing.
    @Test func aRotatedTokenTakesThePlaceOfTheFormer() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.leave(1)
        h.joinStart(2)
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 2_000).map(\.token) == [EngineHarness.memberToken(2)])
    }

    @Test func theyAreReadFromState() {
        let h = EngineHarness.starts()
        for member in 1...20 { h.joinStart(member, isCapable: member % 2 == 0) }
        h.joinStart(3, of: "other")
        h.leave(7)
        h.crash()
        #expect(h.counters.membersHeld == 20)
        #expect(h.restoreResults.allSatisfy { $0 == .restored || $0 == .ignored })
        h.carryBus()
        h.audienceStart(1)
        let pushes = h.deliverAll(withinMillis: 3_000)
        #expect(Set(pushes.map(\.token)).count == 19 && pushes.count == 19)
        for push in pushes {
            let isCapable = (1...10).contains { EngineHarness.memberToken(2 * $0) == push.token }
            #expect((push.aps["input-push-token"] as? Int == 1) == isCapable)
        }
    }

    @Test func updateMembersGetTheStartAsAQuietUpdate() {
        let h = EngineHarness.starts()
        h.join(1)
        h.joinStart(2)
        h.audienceStart(5)
        let pushes = h.deliverAll(withinMillis: 2_000)
        #expect(pushes.count == 2)
        let update = pushes.first { $0.token == EngineHarness.memberToken(1) }
        #expect(update?.event == "update" && update?.n == 5 && update?.alert == nil && update?.priority == 5)
        #expect(update?.aps["attributes"] == nil)
        let start = pushes.first { $0.token == EngineHarness.memberToken(2) }
        #expect(start?.event == "start" && start?.n == 5 && start?.alert == "kick-off" && start?.priority == 10)
        #expect(start?.aps["attributes-type"] as? String == "Match" && start?.stamp == update?.stamp)
        #expect(h.outcomes.last { $0.key == "match" }?.outcome == "fanned-out")
    }

    @Test func aChannelIsNamedToThoseAloneThatCanListen() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.joinStart(2, isCapable: true)
        h.audienceStart(1, more: #""input-push-channel":"dHN0LXNyY2gtY2hubA==""#)
        let pushes = h.deliverAll(withinMillis: 2_000)
        #expect(pushes.count == 2)
        for push in pushes {
            let isCapable = push.token == EngineHarness.memberToken(2)
            #expect((push.aps["input-push-channel"] != nil) == isCapable)
            #expect(push.aps["input-push-token"] == nil)
        }
    }

    /// Records of start members and of their progress have kinds of their own. An older Mailboat that does not know a
    /// kind halts the partition and names the kind.
    @Test func itsRecordsHaveKindsOfTheirOwn() {
        let h = EngineHarness.starts()
        h.joinStart(1)
        h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 3_000)
        let members = h.stateLog.filter { $0.key.first == UInt8(ascii: "s") }
        let progress = h.stateLog.filter { $0.keyText.hasPrefix("r/com.example.pizza/match") }
        #expect(members.allSatisfy { $0.value.starts(with: [1, 9]) } && members.count == 1)
        #expect(progress.allSatisfy { $0.value.starts(with: [1, 10]) } && !progress.isEmpty)
        #expect(members[0].value.count <= 20, "a join costs one short record")
    }

    @Test func whoHasNotJoinedForVeryLongLeaves() {
        let h = EngineHarness.starts { $0.apps[0].startMemberLifeMillis = 30 * 86_400_000 }
        h.joinStart(1)
        h.joinStart(2)
        for _ in 0..<29 {
            h.advance(86_400_000)
            h.carryBus()
            h.joinStart(2)
        }
        #expect(h.counters.membersHeld == 2)
        h.advance(3 * 86_400_000)
        h.carryBus()
        #expect(h.counters.membersHeld == 1)
        // The owner has forgotten the audience, so the partition has to ask again.
        h.audienceStart(1)
        #expect(h.deliverAll(withinMillis: 8_000).map(\.token) == [EngineHarness.memberToken(2)])
    }
}
