import DeviceModel
import Testing

@testable import PushInspection

/// Tests of what becomes of pushes that APNs keeps while a phone is away.
struct KeptPushTests {
    private static func kept(_ id: String) -> ObservedPush {
        TimelineTests.push(id: id, phone: .isAway, content: #"{"n":"\#(id)"}"#)
    }

    private static func words(_ timeline: Timeline) throws -> [String] {
        try timeline.entries.compactMap { entry in
            guard case .push(let push) = entry.body else { return nil }
            return try #require(timeline.json(entry)["word"]?.plainText == push.word ? push.word : nil)
        }
    }

    /// A timeline whose phone is away and has three pushes at APNs.
    private static func away() throws -> (timeline: Timeline, phone: Int) {
        var timeline = TimelineTests.timeline()
        let id = timeline.meet(token: TimelineTests.token, activity: "order-1", app: "")
        timeline.setShown(Device().shown(atSeconds: 0), isOnline: false, of: id)
        for name in ["b", "c", "d"] { timeline.listPush(Self.kept(name)) }
        return (timeline, id)
    }

    @Test func onlyTheNewestPushWaits() throws {
        let (timeline, id) = try Self.away()
        #expect(try Self.words(timeline) == ["dropped", "dropped", "waiting"])
        #expect(timeline.search(try EntryQuery("is:waiting")).map(\.id) == [3])
        #expect(timeline.search(try EntryQuery("is:dropped")).map(\.id) == [2, 1])
        #expect(
            timeline.summary(of: try #require(timeline.entry(1)))
                == "APNs dropped it for a newer push while the phone was away.")
        #expect(timeline.phones[id]?.lastVerdict?.word == .waiting)
    }

    @Test func whatTheReturningPhoneGetsHasWaited() throws {
        var (timeline, id) = try Self.away()
        var late = TimelineTests.push(id: "d", status: nil, content: #"{"n":"d"}"#)
        late.hadWaited = true
        timeline.listPush(late)
        timeline.setShown(Device().shown(atSeconds: 0), isOnline: true, of: id)
        #expect(try Self.words(timeline) == ["dropped", "dropped", "waited", "shown"])
        #expect(timeline.search(try EntryQuery("is:waiting")).isEmpty)
        #expect(timeline.phones[id]?.lastVerdict?.word == .shown)
    }

    /// A push that has expired at APNs does not arrive when the phone is back.
    @Test func whatTheReturningPhoneDoesNotGetIsDropped() throws {
        var (timeline, id) = try Self.away()
        timeline.setShown(Device().shown(atSeconds: 0), isOnline: true, of: id)
        #expect(try Self.words(timeline) == ["dropped", "dropped", "dropped"])
        #expect(timeline.phones[id]?.lastVerdict?.word == .dropped)
        #expect(timeline.phones[id].flatMap(timeline.status)?.word == .verdict(.dropped))
    }
}
