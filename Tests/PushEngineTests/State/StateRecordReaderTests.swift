import PushEngine
import PushModel
import Testing

/// Tests what tools show of records that the engine wrote.
@Suite struct StateRecordReaderTests {
    private static let reader = StateRecordReader(inputTopics: ["liveactivity.events", "liveactivity.routed"])

    private static func describe(_ record: WrittenRecord, nowMillis: Int64 = 1_700_000_000_000)
        -> StateRecordDescription
    {
        Self.reader.read(key: record.key, value: record.isNull ? nil : record.value, nowMillis: nowMillis)
    }

    private static func slot(_ h: EngineHarness) throws -> StateRecordDescription.Slot {
        let record = try #require(h.stateLog.last { $0.keyText.hasPrefix("a/") })
        let description = Self.describe(record, nowMillis: h.now.wallMillis)
        #expect(description.app == "com.example.pizza")
        #expect(description.activity == "a")
        guard case .slot(let slot) = description.content else {
            Issue.record("\(description)")
            throw StateRecordReaderTests.Unexpected()
        }
        return slot
    }

    private struct Unexpected: Error {}

    /// The storage of a channel is written only if APNs has reported it. Storage that comes from the settings is not
    /// written, because settings may change.
    @Test(
        arguments: [
            (ChannelStoragePolicy.ask, true, "most-recent"), (.ask, false, "none"), (.ask, nil, nil),
            (.mostRecent, nil, nil), (.none, nil, nil),
        ] as [(ChannelStoragePolicy, Bool?, String?)])
    func aChannelIsTold(policy: ChannelStoragePolicy, stores: Bool?, storage: String?) throws {
        let h = ChannelTests.harness(policy)
        h.broadcast(n: 1)
        if let stores { h.answer(try #require(h.take(route: 3)), ChannelTests.settings(stores: stores)) }
        h.advance(5_000)
        h.deliver(route: 2)
        h.advance(1_000)
        let record = try #require(h.stateLog.last { $0.keyText.hasPrefix("c/") })
        let description = Self.describe(record, nowMillis: h.now.wallMillis)
        #expect(description.app == "com.example.pizza" && description.id == ChannelTests.channel)
        #expect(description.channel == ChannelTests.channel && description.activity == nil)
        guard case .slot(let slot) = description.content else { throw StateRecordReaderTests.Unexpected() }
        #expect(slot.life == "alive" && slot.channel?.storage == storage && slot.channel?.throttleSteps == 0)
        #expect(slot.channel?.notBeforeMillis == h.now.wallMillis - 1_000 + 15_000)
    }

    @Test func anAcceptedPushIsTold() throws {
        let h = EngineHarness()
        h.register()
        let offset = h.update(1, priority: 10)
        #expect(h.deliver() != nil)
        h.advance(2_000)
        let slot = try Self.slot(h)
        #expect(slot.life == "alive")
        #expect(slot.environment == "production")
        #expect(slot.tokenHash?.count == 16)
        #expect(slot.lastAcceptedSeconds != nil && slot.lastStampSeconds != nil)
        #expect(slot.budgetUnitsOut == 1)
        #expect(slot.applied?.topic == "liveactivity.events" && slot.applied?.offset == offset)
        #expect(slot.updates == [])
    }

    @Test func whatWaitsIsTold() throws {
        let h = EngineHarness()
        let offset = h.update(7, priority: 10)
        h.advance(5_000)
        let slot = try Self.slot(h)
        #expect(slot.life == "awaiting")
        #expect(slot.tokenHash == nil)
        let update = try #require(slot.updates.first)
        #expect(update.event == "update" && update.priority == 10 && update.stampSeconds == nil)
        #expect(update.mergedCount == 1 && update.openCount == 1 && update.byteCount > 0)
        #expect(update.newest.topic == "liveactivity.events" && update.newest.partition == 0)
        #expect(update.newest.offset == offset)
        #expect(update.contentState.contains("7"))
    }

    /// The token is a secret and is not shown. Its hash is shown, which is also in outcomes.
    @Test func theTokenIsNotShown() throws {
        let h = EngineHarness()
        h.register(token: "80e0aabbccddeeff")
        h.update(1, priority: 10)
        #expect(h.deliver() != nil)
        h.advance(2_000)
        let slot = try Self.slot(h)
        #expect(!"\(slot)".lowercased().contains("80e0aabb"))
        let outcome = try #require(h.written.last { $0.topic == .outcomes && $0.valueText.contains("delivered") })
        #expect(outcome.valueText.contains("\"token-hash\":\"\(try #require(slot.tokenHash))\""))
    }

    @Test func aMarkerIsTold() throws {
        let h = EngineHarness()
        let record = try #require(h.stateLog.first { $0.keyText == "m" })
        guard case .marker(let marker) = Self.describe(record).content else {
            Issue.record("no marker")
            return
        }
        #expect(marker.partitionCount == 8)
    }

    @Test func aTombstoneIsTold() {
        let description = Self.reader.read(
            key: Array("a/com.example.pizza/x/y".utf8), value: nil, tombstoneEpoch: 4, nowMillis: 0)
        #expect(description.activity == "x/y")
        #expect(description.content == .tombstone(epoch: 4))
    }

    @Test func anotherVersionIsNamed() throws {
        let h = EngineHarness()
        h.register()
        h.advance(2_000)
        let record = try #require(h.stateLog.last { $0.keyText.hasPrefix("a/") })
        var value = record.value
        value[0] = 77
        let description = Self.reader.read(key: record.key, value: value, nowMillis: 0)
        #expect(description.content == .unknownVersion(77))
    }

    /// Tools can read every record that an audience's partition writes.
    @Test func everyRecordOfAnAudienceIsTold() {
        let h = EngineHarness.starts { $0.apps[0].audienceSpreadMillis = 60_000 }
        for member in 1...3 {
            h.join(member)
            h.joinStart(10 + member)
        }
        h.audienceUpdate(9, alert: "goal")
        h.audienceStart(1)
        h.audienceUpdate(2, more: #""expires":\#(h.wallSeconds + 10)"#)
        _ = h.deliverAll(withinMillis: 20_000)
        h.repairVersions(of: "match")
        h.leave(11)
        h.audienceEnd(3)
        _ = h.deliverAll(withinMillis: 5_000)
        h.advance(7_200_000)
        h.carryBus()
        var records: Set<String> = []
        for record in h.stateLog where !record.isNull {
            switch Self.describe(record, nowMillis: h.now.wallMillis).content {
            case .malformed(let why): Issue.record("\(record.keyText): \(why)")
            case .crowd(let crowd):
                records.insert(crowd.record)
                #expect(crowd.record != "versions" || crowd.life > 1_000_000_000 || crowd.stampSeconds == [])
            default: break
            }
        }
        #expect(records == ["versions", "progress", "voided", "starts"])
    }

    /// A record that is cut off anywhere is malformed, and the reader says why. A record with one bit changed does not
    /// trap, and if it cannot be read the reader says why.
    @Test func damagedRecordsAreNamed() throws {
        let h = EngineHarness()
        h.register()
        h.update(1, alert: "x")
        h.advance(2_000)
        let record = try #require(h.stateLog.last { $0.keyText.hasPrefix("a/") })
        for count in 0..<record.value.count {
            guard
                case .malformed(let text) = Self.reader.read(
                    key: record.key, value: Array(record.value.prefix(count)), nowMillis: 0
                ).content
            else {
                Issue.record("\(count) bytes of \(record.value.count) were read")
                continue
            }
            #expect(!text.isEmpty)
        }
        for place in record.value.indices {
            for bit in 0..<8 {
                var value = record.value
                value[place] ^= 1 << UInt8(bit)
                let content = Self.reader.read(key: record.key, value: value, nowMillis: 0).content
                if case .malformed(let text) = content { #expect(!text.isEmpty, "byte \(place), bit \(bit)") }
            }
        }
        let marker = Self.reader.read(key: Array("m".utf8), value: record.value, nowMillis: 0)
        #expect(marker.content == .malformed("an activity under a key that names none"))
    }
}
