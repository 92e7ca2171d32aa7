import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests that content arrives later under overload, but that memory stays bounded (contract: Overload).
@Suite struct OverloadTests {
    @Test func slotsWithSomethingToSendAreBounded() {
        let h = EngineHarness { $0.settings.pendingMax = 10 }
        for number in 0..<10 {
            #expect(h.wantsRecords)
            h.register(token: "aa\(10 + number)", of: "a\(number)")
            h.update(1, of: "a\(number)", priority: 10)
        }
        #expect(!h.wantsRecords)
        h.update(2, of: "a3", priority: 10)
        #expect(h.counters.slotsPending == 10, "one that has a pending update needs no new room")
        let push = h.take()!
        #expect(!h.wantsRecords, "in flight still counts")
        h.answer(push, .accepted)
        #expect(h.wantsRecords)
    }

    @Test func idleSlotsAreBoundedToo() {
        let h = EngineHarness { $0.settings.slotsMax = 5 }
        for number in 0..<5 {
            #expect(h.wantsRecords)
            h.register(of: "a\(number)")
        }
        #expect(!h.wantsRecords)
    }

    /// When the limit of members is reached, records are still read. A crowd of phones must not delay single
    /// activities.
    @Test func membersOfAudiencesAreBounded() throws {
        let h = AudienceTests.harness { $0.settings.membersMax = 3 }
        for member in 1...3 { h.join(member) }
        h.join(4)
        #expect(h.counters.membersHeld == 3)
        #expect(h.wantsRecords)
        let letter = try #require(h.written.last { $0.topic == .deadLetters })
        #expect(letter.headers[RecordHeader.field.text] == "audience")
        #expect(letter.headers[RecordHeader.reason.text]?.contains("limits.members is 3") == true)
        h.audienceUpdate(7)
        #expect(Set(h.deliverAll().map(\.token)) == Set((1...3).map { EngineHarness.memberToken($0) }))

        // At the limit a member may still move to another audience. A member that leaves makes room for another.
        h.join(1, of: "other")
        h.leave(2)
        h.join(4)
        #expect(h.counters.membersHeld == 3 && h.counters.deadLetters == 1)
        #expect(h.isCommitted())
        h.crash()
        h.carryBus()
        #expect(h.counters.membersHeld == 3)
    }

    @Test func recordsWithoutAnswerFromKafkaAreBounded() {
        let h = EngineHarness { $0.settings.unacknowledgedMax = 6 }
        h.register()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10)
        for _ in 0..<3 { h.consume(key: "a", value: "no JSON") }
        #expect(h.counters.unacknowledged == 6)
        #expect(!h.wantsRecords)
        #expect(!h.hasReady(), "nothing new is sent either")
        #expect(h.take() == nil)
        h.acknowledgeAll()
        #expect(h.wantsRecords)
        #expect(h.take() != nil)
    }

    @Test func anAppMayTakeOnlyItsShare() {
        let h = EngineHarness {
            $0.settings.pendingMax = 10
            $0.apps[0].pendingShare = 0.3
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            $0.apps.append(other)
        }
        for number in 0..<3 {
            #expect(number == 0 || h.logRoom() == 3 - number, "records of one turn must not go past the share either")
            h.consume(key: "a\(number)", value: #"{"event":"update","app":"com.example.pizza","content-state":{}}"#)
        }
        #expect(h.logRoom() == 0 && h.engine.isAnAppFull)
        h.advance(300_000)
        #expect(h.logRoom() == 3 && !h.engine.isAnAppFull)
        for number in 0..<9 {
            h.consume(key: "b\(number)", value: #"{"event":"update","app":"com.example.other","content-state":{}}"#)
            #expect(h.logRoom() == 9 - number)
        }
        #expect(h.wantsRecords)
    }

    /// A full app stops a log only if that log's last event was for this app. The other logs and the bus are still
    /// read.
    @Test func anAppThatIsFullStopsItsOwnLogAlone() throws {
        let h = EngineHarness {
            $0.settings.pendingMax = 100
            $0.apps[0].pendingShare = 0.02
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            $0.apps.append(other)
        }
        for number in 0..<2 {
            h.consume(key: "a\(number)", value: #"{"event":"update","app":"com.example.pizza","content-state":{}}"#)
        }
        #expect(h.logRoom() == 0 && h.logRoom(topic: 1) == 98 && h.wantsRecords)
        h.consume(key: "b", value: #"{"event":"update","app":"com.example.other","content-state":{}}"#)
        #expect(h.logRoom() == 64, "a little may come that is the full app's")
        h.consume(key: "a2", value: #"{"event":"update","app":"com.example.pizza","content-state":{}}"#)
        #expect(h.logRoom() == 0)
        try h.reconfigure { $0.apps[0].pendingShare = 1 }
        #expect(h.logRoom() == h.recordRoom)
    }

    /// An app's share counts pending slots of both environments. A slot that moves from one environment to the other is
    /// still counted once.
    @Test func theShareCountsBothEnvironments() {
        let h = EngineHarness {
            $0.settings.pendingMax = 10
            $0.apps[0].pendingShare = 0.2
        }
        h.update(1, of: "a")
        h.register(of: "a", environment: "development")
        h.update(1, of: "b")
        #expect(h.engine.isAnAppFull && h.logRoom() == 0)
        h.advance(1_000)
        h.deliver(route: 1)
        #expect(!h.engine.isAnAppFull && h.logRoom() > 0)
        h.register(of: "b")
        h.advance(1_000)
        h.deliver(route: 0)
        #expect(h.counters.slotsPending == 0)
        #expect(!h.engine.isAnAppFull && h.logRoom() > 0)
    }
}

extension EngineHarness {
    /// How many records of a log of partition 0 may be taken now.
    func logRoom(topic: UInt16 = 0) -> Int {
        self.engine.recordRoom(topic: topic, partition: 0, within: self.recordRoom)
    }
}
