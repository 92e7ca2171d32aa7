import Testing

@testable import DeviceModel

/// Tests of devices that share the storage of their content. Each device must behave as if it had its own content.
@Suite(.timeLimit(.minutes(5))) struct ContentPoolTests {
    private static func push(_ random: inout SplitMix64) -> [UInt8] {
        let stamp = Int64.random(in: 1...20, using: &random)
        let state = #"{"n":\#(Int.random(in: 0..<4, using: &random))}"#
        let alert = Bool.random(using: &random) ? Pushes.alert("A\(Int.random(in: 0..<3, using: &random))") : ""
        switch Int.random(in: 0..<12, using: &random) {
        case 0: return Pushes.start(stamp, state)
        case 1: return Pushes.end(stamp, #","dismissal-date":\#(stamp)"#)
        case 2: return Pushes.end(stamp, #","content-state":\#(state)"#)
        case 3: return Pushes.update(stamp, state, #","stale-date":\#(stamp),"relevance-score":\#(stamp)"# + alert)
        default: return Pushes.update(stamp, state, alert)
        }
    }

    /// In random runs, devices that share content behave like devices with content of their own. The pool is small, so
    /// content is displaced and comes again.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func sharedContentIsAsGoodAsOwn(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var pool = ContentPool(slotCount: 4)
        var (sharing, alone) = (Array(repeating: Device(), count: 6), Array(repeating: Device(), count: 6))
        for step in 0..<200 {
            let body = Self.push(&random)
            let content = try PayloadReader.read(body.span)
            let index = Int.random(in: 0..<6, using: &random)
            let priority = Bool.random(using: &random) ? 10 : 5
            let millis = Int64(step) * 1_000
            let shared = sharing[index].apply(
                content, body: body.span, priority: priority, nowMillis: millis, rules: .phone, sharing: &pool)
            let own = alone[index].apply(
                content, body: body.span, priority: priority, nowMillis: millis, rules: .phone)
            try #require(shared == own)
            try #require(sharing[index].firstDifference(from: alone[index]) == nil)
            try #require(sharing[index].stampSeconds == alone[index].stampSeconds)
            try #require(sharing[index].alerts == alone[index].alerts)
            try #require(sharing[index].alertCount == alone[index].alertCount)
            try #require(sharing[index].highPriorityPeak == alone[index].highPriorityPeak)
        }
        for (left, right) in zip(sharing, sharing.dropFirst()) {
            #expect((left.contentHash == right.contentHash) == (left.contentState == right.contentState))
            #expect((left.attributesHash == right.attributesHash) == (left.attributes == right.attributes))
            if left.alertsHash == right.alertsHash { #expect(left.alerts == right.alerts) }
        }
    }

    @Test func equalContentIsHeldOnce() throws {
        var pool = ContentPool(slotCount: 16)
        let body = Pushes.update(1, #"{"home":1}"#, Pushes.alert("Goal"))
        let content = try PayloadReader.read(body.span)
        #expect(pool.content(content, body: body.span) === pool.content(content, body: body.span))
        let first = pool.alerts(nil, and: content.alert, of: body.span, keptMax: 4)
        #expect(pool.alerts(nil, and: content.alert, of: body.span, keptMax: 4) === first)
        let second = pool.alerts(first, and: content.alert, of: body.span, keptMax: 4)
        #expect(second !== first)
        #expect(second.count == 2)
        #expect(second.hash != first.hash)
        var later = content
        later.stampSeconds = 2
        #expect(pool.content(later, body: body.span) !== pool.content(content, body: body.span))
    }

    /// A device is small, because a simulator holds a million of them.
    @Test func aDeviceIsSmall() { #expect(MemoryLayout<Device>.stride <= 88) }

    @Test func theOrderOfAlertsTells() throws {
        func device(_ titles: [String]) throws -> Device {
            var device = Device()
            for (index, title) in titles.enumerated() {
                let body = Pushes.update(Int64(index), #"{"n":1}"#, Pushes.alert(title))
                try device.push(body: body, priority: 5, nowMillis: 0)
            }
            return device
        }
        let six = ["A", "B", "C", "D", "E", "F"]
        #expect(try device(six).alertsHash == device(six).alertsHash)
        #expect(try device(six).alertsHash != device(["B", "A"] + six.dropFirst(2)).alertsHash)
        #expect(try device(six).alerts == device(["B", "A"] + six.dropFirst(2)).alerts, "only the newest are kept")
        #expect(try device(six).alertCount == 6)
        #expect(Device().alertsHash == ContentHash.empty)
    }

    /// The hash of a content depends on every byte and its position.
    @Test(arguments: 1...40) func aByteMakesAnotherName(count: Int) {
        let bytes = (1...count).map { UInt8($0) }
        var names: Set<UInt64> = [ContentHash.of(bytes), ContentHash.of(bytes + [0]), ContentHash.of([0] + bytes)]
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            names.insert(ContentHash.of(other))
        }
        #expect(names.count == count + 3)
    }

    /// The next card of a device keeps the number of cards and the budget. It begins without content.
    @Test func theNextCardIsEmpty() throws {
        var device = Device()
        try device.push(body: Pushes.start(1), priority: 10, nowMillis: 0)
        var next = device.nextCard()
        #expect(next.phase == .untouched)
        #expect(next.alertCount == 0)
        #expect(next.highPriorityPeak == 1)
        try next.push(body: Pushes.start(2), priority: 10, nowMillis: 1)
        #expect(next.cardCount == 2)
        #expect(next.alertCount == 1)
        #expect(next.highPriorityPeak == 2)
        #expect(next.isActive(atSeconds: 8 * 3_600 - 1, rules: .phone))
        #expect(!next.isActive(atSeconds: 8 * 3_600, rules: .phone))
    }
}
