import DeviceModel
import Testing

/// Tests of device equivalence: of the comparison, and of the reference device, which takes every event in order.
@Suite struct EquivalenceTests {
    private static func device(_ pushes: [[UInt8]]) throws -> Device {
        var device = Device()
        _ = try device.pushAll(pushes)
        return device
    }

    static let differences: [(actual: [[UInt8]], expected: [[UInt8]], words: String)] = [
        ([Pushes.update(1)], [Pushes.update(1), Pushes.end(2)], "the activity lives, expected that it has ended"),
        ([], [Pushes.update(1)], #"the device shows nothing, expected content-state {"n":1}"#),
        ([Pushes.update(1)], [], "the device shows something, expected nothing"),
        ([Pushes.update(1)], [Pushes.update(1, #"{"n":2}"#)], #"content-state is {"n":1}, expected {"n":2}"#),
        ([Pushes.update(1)], [Pushes.update(1, #"{"n": 1}"#)], #"content-state is {"n":1}, expected {"n": 1}"#),
        (
            [Pushes.update(1)], [Pushes.update(1, #"{"n":1}"#, Pushes.alert("A"))],
            #"newest alert is absent, expected {"title":"A","body":"B"}"#
        ),
        (
            [Pushes.update(1, "{}", #","relevance-score":1"#)], [Pushes.update(1, "{}")],
            "relevance-score is 1.0, expected absent"
        ),
        ([Pushes.update(1, "{}")], [Pushes.update(1, "{}", #","stale-date":7"#)], "stale-date is absent, expected 7"),
        ([Pushes.end(1)], [Pushes.end(1, #","dismissal-date":7"#)], "dismissal-date is absent, expected 7"),
        (
            [Pushes.update(1, #"{"n":0}"#, Pushes.alert("T"))], [Pushes.start(1)],
            #"attributes-type is absent, expected "Pizza""#
        ),
        ([Pushes.start(1), Pushes.start(1)], [Pushes.start(1)], "2 cards were started, expected 1"),
    ]

    @Test(arguments: Self.differences)
    func theFirstDifferenceIsSaidInWords(actual: [[UInt8]], expected: [[UInt8]], words: String) throws {
        let (one, other) = (try Self.device(actual), try Self.device(expected))
        #expect(one.firstDifference(from: other) == words)
        #expect(!one.equivalent(to: other))
        #expect(one.equivalent(to: one))
    }

    /// Cases: a story, and the alerts that may be the newest after it. In a story, a letter with its second is an
    /// alert. `-` with a second withdraws the alerts up to that second.
    @Test(arguments: [
        ("", [""]), ("a1", ["a"]), ("a1 b2", ["b"]), ("a1 -1", ["a", ""]), ("a2 -1", ["a"]),
        ("a1 b2 -2", ["a", "b", ""]),
        ("a1 b3 -2", ["b"]), ("a1 -1 b2", ["b"]), ("a1 -1 b1", ["b"]), ("a1 -1 b1 -1", ["a", "b", ""]),
    ])
    func anAlertThatWasWithdrawnMayHaveBeenShown(story: String, newest: [String]) {
        var alerts = AlertHistory()
        for word in story.split(separator: " ") {
            let seconds = Int64(word.dropFirst())!
            if word.hasPrefix("-") {
                alerts.withdraw(upTo: seconds)
            } else {
                alerts.append(Array(word.prefix(1).utf8), seconds: seconds)
            }
        }
        for alert in ["", "a", "b", "c"] {
            #expect(alerts.mayBeNewest(alert.isEmpty ? nil : Array(alert.utf8)) == newest.contains(alert), "\(alert)")
        }
    }

    @Test func aReferenceKnowsWhichAlertsWereWithdrawn() throws {
        var reference = ReferenceDevice()
        let silent = try Self.device([Pushes.update(1), Pushes.update(3, #"{"n":3}"#)])
        _ = try reference.take(payload: Pushes.update(1))
        _ = try reference.take(payload: Pushes.update(2, #"{"n":2}"#, Pushes.alert("A")))
        reference.withdrawAlerts(upTo: 3)
        _ = try reference.take(payload: Pushes.update(3, #"{"n":3}"#))
        #expect(silent.firstDifference(from: reference.device, alerts: reference.alerts) == nil)
        #expect(silent.firstDifference(from: reference.device) != nil)
        #expect(reference.device.firstDifference(from: reference.device, alerts: reference.alerts) == nil)
    }

    @Test func cardsMayGoUncounted() throws {
        let (one, two) = (try Self.device([Pushes.start(1)]), try Self.device([Pushes.start(1), Pushes.start(1)]))
        #expect(two.equivalent(to: one, countingCards: false))
    }

    @Test func stampsAndCountsAreNotCompared() throws {
        let one = try Self.device([
            Pushes.update(1, "{}", Pushes.alert("A")), Pushes.update(2, "{}", Pushes.alert("B")),
        ])
        let other = try Self.device([Pushes.update(77, "{}", Pushes.alert("B"))])
        #expect(one.firstDifference(from: other) == nil)
    }

    @Test func longValuesAreShortened() throws {
        let long = try Self.device([Pushes.update(1, #"{"x":"\#(String(repeating: "x", count: 900))"}"#)])
        let words = try #require(long.firstDifference(from: try Self.device([Pushes.update(1)])))
        #expect(words.utf8.count < 500)
        #expect(words.contains("(908 bytes)"))
    }

    // MARK: The reference

    @Test func theReferenceOrdersEqualSecondsByArrival() throws {
        var reference = ReferenceDevice()
        try reference.take(payload: Pushes.update(5, #"{"n":1}"#))
        try reference.take(payload: Pushes.update(5, #"{"n":2}"#))
        #expect(reference.device.content == #"{"n":2}"#)
        // The event is older by the producer's timestamps, so the reference ignores it. The stamp of the last push does
        // not matter.
        #expect(try reference.take(payload: Pushes.update(4, #"{"n":3}"#, Pushes.alert("late"))) == .ignoredOlder)
        #expect(try reference.take(payload: Pushes.update(5, #"{"n":4}"#)) == .shown)
        #expect(reference.device.content == #"{"n":4}"#)
        #expect(reference.device.alerts.isEmpty)
    }

    @Test func theReferenceTakesAnEndWhateverItsTimestamp() throws {
        var reference = ReferenceDevice()
        try reference.take(payload: Pushes.update(5))
        #expect(try reference.take(payload: Pushes.end(1)) == .shown)
        #expect(try reference.take(payload: Pushes.update(9)) == .ignoredAfterEnd)
    }

    /// A sender that pushes in order and with growing stamps may skip states. If it pushes the last state with the
    /// newest alert, the phone ends up equivalent.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func mergingNeighboursKeepsEquivalence(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var (reference, device) = (ReferenceDevice(), Device())
        var (newest, stamp, content, alert): (Int64, Int64, String?, String) = (0, 0, nil, "")
        for step in 0..<60 {
            let timestamp = Int64.random(in: max(1, newest - 2)...newest + 2, using: &random)
            let eventAlert = Int.random(in: 0..<4, using: &random) == 0 ? Pushes.alert("A\(step)") : ""
            try reference.take(payload: Pushes.update(timestamp, #"{"n":\#(step)}"#, eventAlert))
            if timestamp >= newest {
                newest = timestamp
                content = #"{"n":\#(step)}"#
                if !eventAlert.isEmpty { alert = eventAlert }
            }
            guard let state = content, step == 59 || Bool.random(using: &random) else { continue }
            stamp = max(newest, stamp + 1)
            let body = Pushes.update(stamp, state, alert)
            try #require(try device.push(body: body, priority: 5, nowMillis: 0) == .shown)
            // After a lost answer the sender repeats the push, which changes nothing.
            if Bool.random(using: &random) {
                try #require(try device.push(body: body, priority: 5, nowMillis: 0) == .ignoredRepeat)
            }
            (content, alert) = (nil, "")
        }
        #expect(device.firstDifference(from: reference.device) == nil, "seed \(seed)")
    }

    @Test func aDeviceIsSmall() {
        #expect(MemoryLayout<Device>.stride <= 136)
    }
}
