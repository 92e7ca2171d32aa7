import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what the `audience` record of a version says of its broadcasts, and what `state` shows of an audience's
/// channels.
@Suite struct VersionBroadcastTests {
    private typealias Channels = AudienceChannelTests

    /// A harness with one member that is served by token and two that listen. All have the newest version.
    private static func harness() -> EngineHarness {
        let (h, _) = Channels.harness()
        for member in 2...3 { h.join(member, channel: Channels.channel) }
        h.deliverAll()
        h.advance(3_000)
        return h
    }
    /// The newest `audience` record of the newest version.
    private static func record(_ h: EngineHarness) throws -> OutcomeRecord {
        let records = h.outcomes.filter { $0.outcome == "audience" }
        let newest = records.compactMap { $0.number("version") }.max()
        return try #require(records.last { $0.number("version") == newest })
    }
    /// The only broadcast in the newest version's `audience` record.
    private static func told(_ h: EngineHarness) throws -> [String: Any] {
        let broadcasts = try #require(try Self.record(h).fields["broadcasts"] as? [[String: Any]])
        #expect(broadcasts.count == 1)
        let broadcast = try #require(broadcasts.first)
        #expect(broadcast["environment"] as? String == "production")
        #expect(broadcast["channel"] as? String == Channels.channel)
        return broadcast
    }
    /// Lets time pass until all partitions have reported and the owner has summed the reports.
    private static func sum(_ h: EngineHarness) {
        for _ in 0..<3 {
            h.advance(61_000)
            h.carryBus()
        }
    }

    @Test func whatABroadcastSpeaksForIsSaid() throws {
        let h = Self.harness()
        h.audienceUpdate(2, alert: "goal")
        h.deliverAll()
        h.carryBus()
        h.advance(2_000)
        h.carryBus()
        #expect(try Self.told(h)["accepted"] as? Bool == false, "its pass is over, and APNs has not answered")
        h.deliver(route: 2)
        Self.sum(h)
        let broadcast = try Self.told(h)
        #expect(broadcast["accepted"] as? Bool == true)
        #expect(broadcast["refused"] as? Int == 0 && broadcast["unanswered"] as? Int == 0)
        #expect(broadcast["listeners"] as? Int == 2 && broadcast["reason"] == nil)
        #expect(try Self.record(h).number("members") == 1, "those that listen are not among them")
    }

    /// A member that joins after the broadcast gets the version by token. It is not counted among the broadcast's
    /// listeners.
    @Test func lateListenersAreNotAmongThem() throws {
        let h = Self.harness()
        h.audienceUpdate(2)
        h.deliver(route: 2)
        h.deliverAll()
        h.join(4, channel: Channels.channel)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(4)])
        Self.sum(h)
        #expect(try Self.told(h)["listeners"] as? Int == 2)
    }

    @Test func whatGoesToTheTokensInsteadIsSaid() throws {
        let h = Self.harness()
        h.audienceUpdate(2)
        h.deliverAll()
        var count = 0
        for _ in 0..<75 {
            while let broadcast = h.take(route: 2) {
                h.answer(broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
                count += 1
            }
            h.advance(1_000)
            h.carryBus()
        }
        #expect(h.deliverAll().count == 2)
        Self.sum(h)
        let broadcast = try Self.told(h)
        #expect(broadcast["accepted"] as? Bool == false && broadcast["refused"] as? Int == count)
        #expect(broadcast["reason"] as? String == "ServiceUnavailable" && broadcast["listeners"] as? Int == 0)
        #expect(try Self.record(h).number("members") == 3)
    }

    /// The former owner died after APNs' answer, before it had written the roll-up. The next owner still reports that
    /// APNs took the broadcast.
    @Test func aNewOwnerKnowsWhatAPNsHasTaken() throws {
        let h = Self.harness()
        h.audienceUpdate(2)
        h.deliver(route: 2)
        h.deliverAll()
        h.advance(2_000)
        h.crash()
        h.carryBus()
        h.deliverAll()
        Self.sum(h)
        let broadcast = try Self.told(h)
        #expect(broadcast["accepted"] as? Bool == true && broadcast["listeners"] as? Int == 2)
    }

    @Test func versionsWithoutAChannelSayNothing() throws {
        let (h, _) = Channels.harness()
        Self.sum(h)
        #expect(try Self.record(h).fields["broadcasts"] == nil)
    }

    @Test func reportsTellOfListeners() throws {
        var report = BusRecord.Report()
        report.bundleID = Array("com.example.pizza".utf8)
        report.counts.counts.due = 3
        report.counts.listeners[.production] = 180_000
        report.counts.listeners[.development] = 2
        func written(_ report: BusRecord.Report) -> [UInt8] {
            var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
            bytes.append(using: &scratch) {
                report.write(to: &$0)
            }
            return bytes
        }
        #expect(try BusRecord.Report(written(report).span) == report)
        // Without listeners the report is written as it was before Mailboat kept channels.
        report.counts.listeners = ListenerCounts()
        let bytes = written(report)
        #expect(try BusRecord.Report(bytes.span) == report)
        for count in 0..<bytes.count {
            #expect(throws: (any Error).self) { try BusRecord.Report(Array(bytes.prefix(count)).span) }
        }
    }

    /// `mailboat state dump` shows an audience's channels, and which members listen.
    @Test func stateTellsOfTheChannelAndWhoListens() throws {
        let h = Self.harness()
        h.audienceUpdate(2)
        h.deliver(route: 2)
        h.deliverAll()
        h.advance(2_000)
        let reader = StateRecordReader(inputTopics: [])
        let read = h.stateLog.map {
            reader.read(key: $0.key, value: $0.isNull ? nil : $0.value, nowMillis: h.now.wallMillis)
        }
        let books = read.compactMap { if case .slot(let slot) = $0.content { slot.book } else { nil } }
        let channel = try #require(books.last?.channels.first)
        #expect(channel.environment == "production" && channel.standing == "open" && channel.serves)
        #expect(channel.id == Channels.channel && channel.takenStampSeconds == books.last?.versions.last?.stampSeconds)
        let members = read.compactMap { if case .member(let member) = $0.content { member } else { nil } }
        #expect(Set(members.filter(\.listens).map(\.tokenHash)).count == 2)
        #expect(Set(members.filter { !$0.listens }.map(\.tokenHash)).count == 1)
    }
}
