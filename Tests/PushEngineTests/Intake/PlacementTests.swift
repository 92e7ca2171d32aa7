import PushModel
import Testing

@testable import PushEngine

/// Tests records that a producer placed on the wrong partition (contract: Placement). They are forwarded once, with
/// their original position, and never lost.
@Suite struct PlacementTests {
    private static func checked() -> EngineHarness { EngineHarness { $0.settings.placement = .check } }

    private static func key(onPartition partition: Int32) -> String {
        for number in 0... {
            let key = Array("activity-\(number)".utf8)
            if Murmur2.partition(key: key.span, count: 8) == partition { return "activity-\(number)" }
        }
        return ""
    }

    @Test func aMisplacedRecordIsForwardedAsItCame() {
        let h = Self.checked()
        let key = Self.key(onPartition: 3)
        let value = #"{"event":"update",  "content-state":{}, "x-note":1}"#
        let offset = h.consume(key: key, value: value, recordMillis: 1_699_999_000_000, traceparent: "00-abc-def-01")
        let record = h.written.first { $0.topic == .routed }
        #expect(record?.partition == 3)
        #expect(record?.keyText == key)
        #expect(record?.valueText == value)
        #expect(record?.timestampMillis == 0, "the copy's time is the present; the record's own stands in its header")
        #expect(
            record?.headers == [
                RecordHeader.topic.text: "liveactivity.events", RecordHeader.partition.text: "0",
                RecordHeader.offset.text: "\(offset)",
                RecordHeader.timestamp.text: "1699999000000", "traceparent": "00-abc-def-01",
            ])
        #expect(h.counters.forwarded == 1)
        #expect(h.counters.misplaced == 1)
        #expect(h.outcomes(of: offset).isEmpty, "its outcome comes from its owner")
        #expect(h.counters.slots == 0)
    }

    @Test func itIsCommittedWhenItsCopyIsAcknowledged() {
        let h = Self.checked()
        h.acknowledgesAtOnce = false
        h.consume(key: Self.key(onPartition: 3), value: "{}")
        #expect(!h.isCommitted())
        h.acknowledgeAll()
        #expect(h.isCommitted())
    }

    @Test func aRecordInItsPlaceIsTaken() {
        let h = Self.checked()
        h.register(of: Self.key(onPartition: 0))
        #expect(h.counters.forwarded == 0)
        #expect(h.counters.slots == 1)
    }

    /// A record of the routed topic is never forwarded again.
    @Test func aForwardedRecordIsTakenWhereverItLies() {
        let h = Self.checked()
        h.consume(
            key: Self.key(onPartition: 3), value: #"{"event":"register","token":"aa"}"#, topic: 1,
            origin: SourcePosition(topic: 0, partition: 7, offset: 5))
        #expect(h.counters.forwarded == 0)
        #expect(h.counters.slots == 1)
        h.advance(100)
        #expect(h.isCommitted(topic: 1))
    }

    /// Partitions were added, so events of a key now come from another partition. Delayed copies of events from the
    /// former partition are not taken again. New events from the former partition are taken.
    @Test(arguments: [false, true]) func aLateCopyFromThePartitionBeforeIsNotTakenAgain(isTakenOver: Bool) {
        let h = Self.checked()
        let millis = h.now.wallMillis
        func forward(_ value: String, from partition: Int32, at offset: Int64) {
            h.consume(
                key: "order-1", value: value, topic: 1, recordMillis: millis,
                origin: SourcePosition(topic: 0, partition: partition, offset: offset))
        }
        func update(_ n: Int) -> String { #"{"event":"update","priority":10,"content-state":{"n":\#(n)}}"# }
        forward(#"{"event":"register","token":"aa"}"#, from: 1, at: 19)
        forward(update(1), from: 1, at: 20)
        #expect(h.deliver()?.n == 1)
        forward(#"{"event":"register","token":"bb"}"#, from: 9, at: 3)
        forward(update(2), from: 9, at: 4)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
        h.advance(2_000)
        if isTakenOver { h.crash(replays: false) }
        forward(#"{"event":"register","token":"aa"}"#, from: 1, at: 19)
        forward(update(1), from: 1, at: 20)
        forward(update(2), from: 9, at: 4)
        #expect(h.outcomes.suffix(3).map(\.outcome) == ["duplicate", "duplicate", "duplicate"])
        forward(update(3), from: 1, at: 21)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.n == 3 && push?.token == "bb")
    }

    @Test func placementMayBeTrusted() {
        let h = EngineHarness()
        h.register(of: Self.key(onPartition: 3))
        #expect(h.counters.forwarded == 0)
    }

    @Test func aMisplacedNullValueIsForwardedAsNull() {
        let h = Self.checked()
        h.consume(key: Self.key(onPartition: 5), value: nil)
        let record = h.written.first { $0.topic == .routed }
        #expect(record?.partition == 5)
        #expect(record?.isNull == true)
    }

    /// A key that no activity can have is not forwarded.
    @Test func aBadKeyIsDeadLetteredWhereItLies() {
        let h = Self.checked()
        h.consume(key: String(repeating: "k", count: 300), value: "{}")
        #expect(h.counters.forwarded == 0)
        #expect(h.counters.deadLetters == 1)
    }

    /// The contract (Placement) asks for about one warning per topic. The engine keeps the first misplaced record of
    /// each topic.
    @Test func theFirstMisplacedRecordOfATopicIsTold() {
        let h = Self.checked()
        h.register(of: Self.key(onPartition: 0))
        #expect(h.misplacements == [])
        let first = h.consume(key: Self.key(onPartition: 3), value: "{}")
        h.consume(key: Self.key(onPartition: 5), value: "{}")
        let told = Misplacement(topic: 0, partition: 0, offset: first, properPartition: 3)
        #expect(h.misplacements == [told])
        h.consume(key: Self.key(onPartition: 5), value: "{}")
        #expect(h.misplacements == [told])
        #expect(h.counters.misplaced == 3)
    }

    @Test func eachInputTopicIsWatched() {
        var watch = FirstOfTopics<Misplacement>()
        for (topic, offset) in [(2, 7), (0, 8), (2, 9), (0, 10)] as [(UInt16, Int64)] {
            watch.saw(Misplacement(topic: topic, partition: 1, offset: offset, properPartition: 0), in: topic)
        }
        #expect(watch.take().map(\.offset) == [7, 8])
        watch.saw(Misplacement(topic: 2, partition: 1, offset: 11, properPartition: 0), in: 2)
        #expect(watch.take() == [])
    }
}

extension EngineHarness {
    /// Misplaced records reported so far.
    fileprivate var misplacements: [Misplacement] {
        self.actionsSoFar().compactMap { if case .warnOfMisplaced(let misplacement) = $0 { misplacement } else { nil } }
    }
}
