import DeviceModel
import Testing

@testable import PushInspection

struct BroadcastTests {
    static let channel = "vLIDz0XwBl1dfbGUWqVpjFU="

    static func broadcast(
        id: String = "id-1", status: Int? = 200, reason: String = "", listeners: Int = 3, away: Int = 0, score: Int = 1
    ) -> ObservedBroadcast {
        ObservedBroadcast(
            atMillis: TimelineTests.now, messageID: id, channel: Self.channel, app: "com.example.app", priority: 10,
            body: Array(
                #"{"aps":{"event":"update","timestamp":1795600000,"content-state":{"home":\#(score)}}}"#.utf8),
            status: status, reason: reason, listenerCount: listeners, awayCount: away)
    }

    @Test(arguments: [
        (broadcast(), PushVerdict.Word.sent, "APNs sent it to 3 phones that listen."),
        (broadcast(listeners: 1), .sent, "APNs sent it to the phone that listens."),
        (broadcast(away: 2), .sent, "APNs sent it to 1 of 3 phones that listen; the others are away."),
        (broadcast(listeners: 0), .sent, "APNs accepted it, and no phone listens on the channel."),
        (
            broadcast(status: 400, reason: "ChannelNotRegistered"), .refused,
            "Refused by APNs: 400 ChannelNotRegistered."
        ),
        (broadcast(status: nil), .unanswered, "APNs gave no answer."),
    ])
    func itsVerdictIsSaidInWords(broadcast: ObservedBroadcast, word: PushVerdict.Word, text: String) {
        let verdict = PushVerdict(broadcast)
        #expect(verdict.word == word)
        #expect(verdict.text == text)
    }

    @Test(arguments: [true, false])
    func itIsLinkedToItsEventWhicheverComesFirst(eventFirst: Bool) throws {
        var timeline = TimelineTests.timeline()
        if !eventFirst { timeline.takeBroadcast(Self.broadcast()) }
        let value = #"{"event":"update","to":{"channel":"\#(Self.channel)"},"content-state":{"home":1}}"#
        let need = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: 7), key: Array(Self.channel.utf8), value: Array(value.utf8),
            nowMillis: TimelineTests.now)
        #expect(need == nil, "nobody needs a phone for a channel")
        let read = try #require(
            EventOutcome.read(
                TimelineTests.outcome("delivered", at: 7, more: #","apns-id":"id-1","status":200,"priority":10"#),
                topic: "events"))
        timeline.takeOutcome(read.outcome, of: read.position)
        if eventFirst { timeline.takeBroadcast(Self.broadcast()) }
        let event = try #require(timeline.entries.first { if case .event = $0.body { true } else { false } })
        let broadcast = try #require(timeline.entries.first { if case .broadcast = $0.body { true } else { false } })
        #expect(event.related == [broadcast.id])
        #expect(timeline.json(broadcast).text.contains(#""type":"broadcast""#))
    }

    @Test func itIsComparedWithTheOneBefore() throws {
        var timeline = TimelineTests.timeline()
        timeline.takeBroadcast(Self.broadcast(id: "one"))
        timeline.takeBroadcast(Self.broadcast(id: "two", score: 2))
        guard case .broadcast(let second)? = timeline.entries.last?.body else {
            Issue.record("no broadcast")
            return
        }
        #expect(second.changes.map(\.path) == ["home"])
    }

    @Test func aSearchFindsAPushByItsID() throws {
        var timeline = TimelineTests.timeline()
        timeline.takeBroadcast(Self.broadcast(id: "AB-1"))
        timeline.takePush(TimelineTests.push(id: "ab-2"))
        #expect(timeline.search(try EntryQuery("push:ab-1")).map(\.id) == [1])
        #expect(timeline.search(try EntryQuery("push:AB-2")).map(\.id) == [2])
        #expect(timeline.search(try EntryQuery("entry:2")).map(\.id) == [2])
        #expect(timeline.search(try EntryQuery("is:sent")).map(\.id) == [1])
    }
}
