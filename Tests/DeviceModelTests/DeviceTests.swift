import DeviceModel
import Testing

/// Tests of how one phone reacts to its pushes.
@Suite struct DeviceTests {
    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var pushes: [[UInt8]]
        var reactions: [Device.Reaction]
        var content: String
        var testDescription: String { self.name }
    }

    static let stories: [Story] = [
        Story(
            name: "a later update wins", pushes: [Pushes.update(5, #"{"n":1}"#), Pushes.update(6, #"{"n":2}"#)],
            reactions: [.shown, .shown], content: #"{"n":2}"#),
        Story(
            name: "an older update is ignored", pushes: [Pushes.update(5), Pushes.update(4, #"{"n":2}"#)],
            reactions: [.shown, .ignoredOlder], content: #"{"n":1}"#),
        Story(
            name: "equal seconds with other content are ignored",
            pushes: [Pushes.update(5), Pushes.update(5, #"{"n":2}"#)], reactions: [.shown, .ignoredSameStamp],
            content: #"{"n":1}"#),
        Story(
            name: "equal seconds with equal content are a retry", pushes: [Pushes.update(5), Pushes.update(5)],
            reactions: [.shown, .ignoredRepeat], content: #"{"n":1}"#),
        Story(
            name: "an end is applied whatever its stamp",
            pushes: [Pushes.update(5), Pushes.end(1, #","content-state":{"n":9}"#)], reactions: [.shown, .shown],
            content: #"{"n":9}"#),
        Story(
            name: "an end without content keeps what is shown", pushes: [Pushes.update(5), Pushes.end(6)],
            reactions: [.shown, .shown], content: #"{"n":1}"#),
        Story(
            name: "nothing after the end",
            pushes: [Pushes.update(5), Pushes.end(6), Pushes.update(7, #"{"n":2}"#), Pushes.end(8)],
            reactions: [.shown, .shown, .ignoredAfterEnd, .ignoredAfterEnd], content: #"{"n":1}"#),
        Story(name: "an end alone", pushes: [Pushes.end(6)], reactions: [.shown], content: ""),
        Story(
            name: "a start, then updates", pushes: [Pushes.start(5), Pushes.update(6, #"{"n":2}"#)],
            reactions: [.shown, .shown], content: #"{"n":2}"#),
        Story(
            name: "a start twice is two cards", pushes: [Pushes.start(5), Pushes.start(5)],
            reactions: [.shown, .shownAsSecondCard], content: #"{"n":0}"#),
        Story(
            name: "a start after the end is a new life",
            pushes: [Pushes.update(50), Pushes.end(60), Pushes.start(5), Pushes.update(6, #"{"n":6}"#)],
            reactions: [.shown, .shown, .shown, .shown], content: #"{"n":6}"#),
    ]

    @Test(arguments: Self.stories)
    func pushesAreAppliedAsActivityKitDoes(_ story: Story) throws {
        var device = Device()
        #expect(try device.pushAll(story.pushes) == story.reactions)
        #expect(device.content == story.content)
        let shown = story.reactions.count { $0 == .shown || $0 == .shownAsSecondCard }
        #expect(Int(device.shownCount) == shown)
        #expect(Int(device.ignoredCount) == story.reactions.count - shown)
    }

    @Test func contentBringsItsOwnStaleDateAndRelevance() throws {
        var device = Device()
        _ = try device.pushAll([Pushes.update(1, "{}", #","stale-date":100,"relevance-score":2.5"#)])
        #expect(device.staleDateSeconds == 100)
        #expect(device.relevanceScore == 2.5)
        _ = try device.pushAll([Pushes.update(2)])
        #expect(device.staleDateSeconds == nil)
        #expect(device.relevanceScore == nil)
    }

    @Test func anEndWithoutContentReplacesOnlyWhatItNames() throws {
        var device = Device()
        _ = try device.pushAll([
            Pushes.update(1, "{}", #","stale-date":100,"relevance-score":2"#), Pushes.end(2, #","relevance-score":3"#),
        ])
        #expect(device.staleDateSeconds == 100)
        #expect(device.relevanceScore == 3)
    }

    @Test func theNewestAlertsAreKeptAndAllAreCounted() throws {
        var device = Device()
        _ = try device.pushAll((1...6).map { Pushes.update($0, "{}", Pushes.alert("A\($0)")) })
        #expect(device.alertCount == 6)
        #expect(device.alerts.count == Device.alertsKeptMax)
        #expect(device.alerts.last.map { String(decoding: $0, as: UTF8.self) } == #"{"title":"A6","body":"B"}"#)
    }

    @Test func anIgnoredUpdateDoesNotRing() throws {
        var device = Device()
        _ = try device.pushAll([Pushes.update(5), Pushes.update(4, "{}", Pushes.alert("late"))])
        #expect(device.alerts.isEmpty)
    }

    @Test func aBodyThatCannotBeDecodedSpendsBudgetAndShowsNothing() {
        var device = Device()
        #expect(throws: PayloadFault.self) { try device.push(body: Array("{}".utf8), priority: 10, nowMillis: 0) }
        #expect(device.phase == .untouched)
        #expect(device.ignoredCount == 1)
        #expect(device.highPriorityPeak == 1)
    }

    @Test func attributesComeWithTheStart() throws {
        var device = Device()
        _ = try device.pushAll([Pushes.start(1)])
        #expect(String(decoding: device.attributesType, as: UTF8.self) == #""Pizza""#)
        #expect(String(decoding: device.attributes, as: UTF8.self) == #"{"id":7}"#)
        #expect(device.cardCount == 1)
    }

    // MARK: The card over time

    @Test func theCardTurnsStaleAtItsDate() throws {
        var device = Device()
        #expect(device.shown(atSeconds: 0).card == .untouched)
        _ = try device.pushAll([Pushes.update(1, "{}", #","stale-date":100"#)])
        #expect(device.shown(atSeconds: 99).card == .active)
        #expect(device.shown(atSeconds: 100).card == .stale)
    }

    @Test(
        arguments: [
            ("", 14_400), (#","dismissal-date":500"#, 500), (#","dismissal-date":1"#, 1),
            (#","dismissal-date":99999"#, 14_400),
        ] as [(String, Int64)])
    func anEndedCardLeavesAtItsDismissalDateOrAfterFourHours(rest: String, leaves: Int64) throws {
        var device = Device()
        _ = try device.pushAll([Pushes.end(1, rest)])
        let shown = device.shown(atSeconds: max(1, leaves - 1))
        #expect(shown.dismissedAtSeconds == leaves)
        #expect(shown.card == (leaves == 1 ? .dismissed : .ended))
        #expect(device.shown(atSeconds: leaves).card == .dismissed)
    }

    @Test func theSystemEndsAnActivityAfterEightHours() throws {
        let eightHours: Int64 = 8 * 3_600
        var device = Device()
        try device.push(body: Pushes.update(1), priority: 5, nowMillis: 0, rules: .phone)
        #expect(device.shown(atSeconds: eightHours - 1, rules: .phone).card == .active)
        #expect(device.shown(atSeconds: eightHours, rules: .phone).card == .ended)
        #expect(device.shown(atSeconds: eightHours).card == .active)
        let reaction = try device.push(
            body: Pushes.update(2), priority: 5, nowMillis: eightHours * 1_000, rules: .phone)
        #expect(reaction == .ignoredAfterEnd)
        #expect(device.phase == .endedBySystem)
    }

    @Test func aStampTooFarAheadIsIgnoredByAPhone() throws {
        var device = Device()
        let far: Int64 = 8 * 3_600 + 1
        #expect(try device.push(body: Pushes.update(far), priority: 5, nowMillis: 0, rules: .phone) == .ignoredFuture)
        #expect(try device.push(body: Pushes.update(far - 1), priority: 5, nowMillis: 0, rules: .phone) == .shown)
    }

    // MARK: The budget

    @Test func priorityTenIsCountedPerRollingHourAndFiveIsNot() throws {
        var device = Device()
        for minute in 0..<60 {
            try device.push(body: Pushes.update(Int64(minute) + 1), priority: 10, nowMillis: Int64(minute) * 60_000)
        }
        try device.push(body: Pushes.update(100), priority: 5, nowMillis: 3_540_000)
        #expect(device.highPriorityPeak == 60)
        #expect(device.highPriorityCount(nowMillis: 3_599_999) == 60)
        #expect(device.highPriorityCount(nowMillis: 3_600_000) == 59)
        #expect(device.highPriorityCount(nowMillis: 3_540_000 + 3_600_000) == 0)
    }

    @Test func pushesOverTheBudgetAreThrottledInSilence() throws {
        let rules = DeviceRules(budgetPerHour: 1)
        var device = Device()
        #expect(try device.push(body: Pushes.update(1), priority: 10, nowMillis: 0, rules: rules) == .shown)
        #expect(try device.push(body: Pushes.update(2), priority: 10, nowMillis: 1, rules: rules) == .throttled)
        #expect(try device.push(body: Pushes.update(3), priority: 5, nowMillis: 2, rules: rules) == .shown)
    }

    @Test func aClockThatStepsBackFreesNothing() throws {
        var device = Device()
        try device.push(body: Pushes.update(1), priority: 10, nowMillis: 10_000_000)
        try device.push(body: Pushes.update(2), priority: 10, nowMillis: 1_000_000)
        #expect(device.highPriorityPeak == 2)
        #expect(device.highPriorityCount(nowMillis: 0) == 2)
        #expect(device.highPriorityCount(nowMillis: 13_599_999) == 2)
        #expect(device.highPriorityCount(nowMillis: 13_600_000) == 0)
    }

    /// The count of the rolling hour equals that of a simple model, which keeps the time of every push.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func theRollingHourIsExact(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var device = Device()
        var (now, times, peak) = (Int64.random(in: 0...(1 << 42), using: &random), [Int64](), 0)
        for _ in 0..<400 {
            now += [0, 1, 999, 60_000, 600_000, 3_599_999, 3_600_000, 1 << 33].randomElement(using: &random) ?? 0
            device.undecodable(priority: 10, nowMillis: now)
            times.append(now)
            let inHour = times.count { now - $0 < 3_600_000 }
            peak = max(peak, inHour)
            try #require(device.highPriorityCount(nowMillis: now) == inHour)
        }
        #expect(device.highPriorityPeak == peak)
    }
}
