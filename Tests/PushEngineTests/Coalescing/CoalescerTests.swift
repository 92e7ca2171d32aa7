import PushModel
import Testing

@testable import PushEngine

/// Tests the coalescer alone, event by event: what a slot sends next, and which events end.
@Suite struct CoalescerTests {
    private typealias Ended = CoalescerBench.Ended

    // MARK: One event after another

    @Test func theFirstEventWaitsAlone() {
        let bench = CoalescerBench()
        bench.take(at: 10, alert: "ding", priority: .high, isReplay: true)
        #expect(bench.pending?.events == [1] && bench.pending?.alertText == "ding")
        #expect(bench.pending?.priority == .high && bench.pending?.containsReplay == true)
        #expect(bench.pending?.mergedCount == 1 && bench.pending?.firstUnsentMillis == bench.now.steadyMillis)
        #expect(bench.ended.isEmpty && bench.heldCount == 1)
    }

    private struct Pair: Sendable, CustomTestStringConvertible {
        var name: String
        /// Timestamps of the two events.
        var seconds: (Int64, Int64)
        /// Seconds until each of the two events expires; `nil`: never.
        var expires: (Int64?, Int64?)
        /// Events of the pending update, the newest last.
        var events: [Int64]
        /// The event that gave way, and the event that replaced it; `nil` if both are kept.
        var superseded: (event: Int64, into: Int64)?
        var testDescription: String { self.name }
    }

    /// The newest of two events is sent. The older one is kept beneath if it expires later than the newest.
    @Test(arguments: [
        Pair(name: "a newer one", seconds: (10, 20), expires: (nil, nil), events: [2], superseded: (1, 2)),
        Pair(name: "one of the same second", seconds: (10, 10), expires: (nil, nil), events: [2], superseded: (1, 2)),
        Pair(name: "an older one", seconds: (20, 10), expires: (nil, nil), events: [1], superseded: (2, 1)),
        Pair(
            name: "a newer one that expires later", seconds: (10, 20), expires: (60, 61), events: [2],
            superseded: (1, 2)),
        Pair(name: "a newer one that expires sooner", seconds: (10, 20), expires: (60, 59), events: [1, 2]),
        Pair(name: "an older one that expires later", seconds: (20, 10), expires: (60, 61), events: [2, 1]),
        Pair(
            name: "an older one that expires with it", seconds: (20, 10), expires: (60, 60), events: [1],
            superseded: (2, 1)),
        Pair(
            name: "an older one that expires sooner", seconds: (20, 10), expires: (nil, 60), events: [1],
            superseded: (2, 1)),
    ])
    private func theNewestOfTwoIsSent(pair: Pair) {
        let bench = CoalescerBench()
        bench.take(at: pair.seconds.0, expires: pair.expires.0)
        bench.take(at: pair.seconds.1, expires: pair.expires.1)
        #expect(bench.pending?.events == pair.events)
        #expect(bench.pending?.mergedCount == 2 && bench.heldCount == 1)
        let expected = pair.superseded.map { [Ended(event: $0.event, outcome: .superseded, into: $0.into)] } ?? []
        #expect(bench.ended == expected)
    }

    /// A device shows the newest alert, unless it has already got something newer than that alert.
    @Test(
        arguments: [
            // Timestamp and alert of each event, the alert that is sent, and whether the older one's outcome says
            // that its alert was kept.
            (10, "first", 20, "", "first", true),
            (10, "first", 20, "second", "second", false),
            (10, "", 20, "second", "second", false),
            (20, "first", 10, "second", "first", false),
            (20, "", 10, "second", "", false),
        ] as [(Int64, String, Int64, String, String, Bool)])
    func theNewestAlertGoesAlong(
        first: Int64, firstAlert: String, second: Int64, secondAlert: String, alert: String, isKept: Bool
    ) {
        for takesShorterWays in [false, true] {
            let bench = CoalescerBench(takesShorterWays: takesShorterWays)
            bench.take(at: first, alert: firstAlert)
            bench.take(at: second, alert: secondAlert)
            #expect(bench.pending?.alertText == alert)
            if !takesShorterWays { #expect(bench.ended.first?.keepsAlert == isKept) }
        }
    }

    /// An update keeps the high priority of an event that gives way. That event's outcome says so.
    @Test func highPriorityStays() {
        let bench = CoalescerBench()
        bench.take(at: 10, priority: .high)
        bench.take(at: 20)
        #expect(bench.pending?.priority == .high)
        #expect(bench.ended == [Ended(event: 1, outcome: .superseded, into: 2, keepsPriority: true)])
        bench.take(at: 30, priority: .high)
        #expect(bench.ended.last?.keepsPriority == false, "the newer one has its own")
    }

    /// Changed content needs a new stamp: a device ignores other content under a stamp that it has.
    @Test(arguments: [false, true])
    func whatChangesIsStampedAnew(takesShorterWays: Bool) {
        let bench = CoalescerBench(takesShorterWays: takesShorterWays)
        bench.take(at: 10)
        bench[bench[bench.slot].pending].stampSeconds = 77
        bench.take(at: 5)
        #expect(bench.pending?.stampSeconds == 77, "an older event changes nothing")
        bench.take(at: 20)
        #expect(bench.pending?.stampSeconds == nil)
    }

    /// An event that may be on the phone gives way to another event. The other event then counts as possibly sent, too.
    @Test(arguments: [(10, 20), (20, 10)] as [(Int64, Int64)])
    func thatItMayBeSentIsPassedOn(first: Int64, second: Int64) {
        let bench = CoalescerBench()
        bench.take(at: first, mayBeSent: first < second)
        bench.take(at: second, mayBeSent: second < first)
        #expect(bench.pending?.top.mayBeSent == true)
        #expect(bench.ended.first?.cause == .mayBeSentBefore)
    }

    /// At most `Update.underMax` events are kept beneath an update. Beyond that the oldest gives way.
    @Test func theOldestOfTooManyGivesWay() {
        let bench = CoalescerBench()
        let count = Int64(Update.underMax) + 2
        for number in 1...count { bench.take(at: 10 * number, expires: 1_000 - number, mayBeSent: number == 1) }
        #expect(bench.pending?.events == Array(2...count))
        #expect(bench.ended.map(\.event) == [1] && bench.ended.first?.cause == .mayBeSentBefore)
        #expect(bench.pending?.top.mayBeSent == true)
    }

    // MARK: Two updates

    /// A push cannot start and end a card at once. The start goes first, with the newest content, and the end follows.
    @Test func anEndFollowsItsStart() {
        let bench = CoalescerBench()
        bench.take(at: 10, alert: "start", isStart: true)
        bench.take(at: 20)
        bench.take(at: 30, isEnd: true, hasContent: false)
        #expect(bench.pending?.isStart == true && bench.pending?.isEnd == false && bench.pending?.contentNumber == 2)
        #expect(bench.behind?.isEnd == true && bench.behind?.events == [3])
        #expect(bench.ended == [Ended(event: 1, outcome: .superseded, into: 2, keepsAlert: true)])
        #expect(bench.send() && bench.pending?.isEnd == true && bench.behind == nil && bench.inFlight?.isStart == true)
    }

    /// An end without content shows the content of the event before it.
    @Test func anEndTakesContentAlong() {
        let bench = CoalescerBench()
        bench.take(at: 10)
        bench.take(at: 20, isEnd: true, hasContent: false)
        #expect(bench.pending?.isEnd == true && bench.pending?.contentNumber == 1)
        let other = CoalescerBench()
        other.take(at: 10)
        other.take(at: 20, isEnd: true)
        #expect(other.pending?.contentNumber == 2, "it has its own")
    }

    /// Content that is too large beside a waiting alert is sent after it. A newer alert makes the first of these two
    /// updates unnecessary.
    @Test func whatDoesNotFitBesideTheAlertFollows() {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 10, alert: alert, priority: .high)
        bench.take(at: 20, padding: 3_000)
        #expect(bench.pending?.events == [1] && bench.behind?.events == [2])
        #expect(bench.behind?.alertText == "" && bench.ended.isEmpty)
        bench.take(at: 30, padding: 3_000)
        #expect(bench.behind?.events == [3] && bench.pending?.events == [1])
        #expect(bench.ended == [Ended(event: 2, outcome: .superseded, into: 3)])
        bench.take(at: 40, alert: "new", padding: 3_000)
        #expect(bench.pending?.events == [4] && bench.behind == nil && bench.pending?.priority == .high)
        #expect(bench.ended.map(\.event) == [2, 3, 1] && bench.updateCount == 1)
    }

    /// Two updates wait, the first only to bring its alert. A third event with a newer alert arrives, and expires after
    /// 20 seconds. Updates that expire later stay beneath the third event, and are shown when it expires. Found by the
    /// simulation.
    /// - Parameters:
    ///   - first: seconds until the first event expires; `nil`: never.
    ///   - second: seconds until the second event expires; `nil`: never.
    ///   - events: events of the pending update after the third event.
    ///   - shown: events that wait once the third event has expired.
    @Test(
        arguments: [
            (nil, 60, [1, 2, 3], [1, 2]), (nil, nil, [1, 2, 3], [1, 2]), (30, nil, [1, 2, 3], [1, 2]),
            (nil, 10, [1, 3], [1]), (10, 10, [3], []),
        ] as [(Int64?, Int64?, [Int64], [Int64])])
    func whatOutlivesANewerAlertStaysBeneath(first: Int64?, second: Int64?, events: [Int64], shown: [Int64]) {
        let bench = CoalescerBench()
        let alert = String(repeating: "A", count: 2_000)
        bench.take(at: 10, expires: first, alert: alert)
        bench.take(at: 20, expires: second, padding: 3_000)
        bench.take(at: 30, expires: 20, alert: "new")
        #expect(bench.pending?.events == events && bench.behind == nil)
        bench.advance(20_000)
        bench.expire()
        #expect((bench.pending?.events ?? []) + (bench.behind?.events ?? []) == shown)
        #expect(bench.pending?.alertText == (shown.isEmpty ? nil : alert))
    }

    /// The number of events beneath an update is limited. Beyond `Update.underMax` the oldest event ends.
    @Test func moreThanFitBeneathEnd() {
        let bench = CoalescerBench()
        for expires in [90, 80, 70, 60] as [Int64] { bench.take(at: 10, expires: expires, mayBeSent: expires == 90) }
        bench.take(at: 10, expires: 50, alert: String(repeating: "A", count: 2_000))
        #expect(bench.pending?.events == [1, 2, 3, 4, 5])
        bench.take(at: 20, expires: 40, padding: 3_000)
        bench.take(at: 30, expires: 30, alert: "new")
        #expect(bench.pending?.events == [3, 4, 5, 6, 7])
        #expect(bench.ended.map(\.event) == [1, 2] && bench.pending?.top.mayBeSent == true)
    }

    /// A start arrives while an update waits for a token. Both become one start with the newest content.
    @Test(arguments: [(10, 20, 2), (20, 10, 1)] as [(Int64, Int64, Int64)])
    func aStartTakesInWhatWaits(updateSeconds: Int64, startSeconds: Int64, contentNumber: Int64) {
        let bench = CoalescerBench()
        bench.take(at: updateSeconds)
        bench.take(at: startSeconds, alert: "start", isStart: true)
        #expect(bench.pending?.isStart == true && bench.pending?.alertText == "start")
        #expect(bench.pending?.contentNumber == contentNumber && bench.heldCount == 1)
        #expect(bench.ended.map(\.event) == [3 - contentNumber] && bench.ended.first?.into == contentNumber)
    }

    /// A start arrives while two newer updates wait. If the newest expires unsent, the card shows the other update, not
    /// the start's own content.
    /// - Parameters:
    ///   - expires: seconds until the older update expires; `nil`: never.
    ///   - events: events of the pending update after the start.
    @Test(
        arguments: [(nil, false, [1, 2]), (60, false, [3, 1, 2]), (60, true, [3, 2, 1])] as [(Int64?, Bool, [Int64])]
    )
    func aLateStartGoesBeneathNewerUpdates(expires: Int64?, cameInDisorder: Bool, events: [Int64]) {
        let bench = CoalescerBench()
        if cameInDisorder { bench.take(at: 30, expires: 10) }
        bench.take(at: 20, expires: expires, mayBeSent: true)
        if !cameInDisorder { bench.take(at: 30, expires: 10) }
        bench.advance(1_000)
        bench.take(at: 10, alert: "start", priority: .high, isStart: true)
        #expect(bench.pending?.events == events && bench.pending?.isStart == true)
        #expect(bench.pending?.alertText == "start")
        #expect(bench.pending?.mergedCount == 3 && bench.pending?.priority == .high && bench.heldCount == 1)
        #expect(bench.pending?.firstUnsentMillis == bench.now.steadyMillis - 1_000)
        #expect(bench.ended.map(\.event) == (expires == nil ? [3] : []) && bench.updateCount == 1)
        bench.advance(9_000)
        bench.expire()
        #expect(bench.pending?.contentNumber == (cameInDisorder ? 2 : 1) && bench.pending?.alertText == "start")
        #expect(bench.pending?.isStart == true && bench.pending?.top.mayBeSent == true)
    }

    /// A start supersedes an event that waits beneath a newer update, unless that event is newer than the start.
    @Test(arguments: [9, 10, 11] as [Int64])
    func aLateStartSupersedesWhatIsOlder(seconds: Int64) {
        let bench = CoalescerBench()
        bench.take(at: seconds, expires: 60, mayBeSent: true)
        bench.take(at: 30, expires: 10)
        bench.take(at: 10, alert: "start", isStart: true)
        #expect(bench.pending?.events == (seconds > 10 ? [3, 1, 2] : [3, 2]))
        #expect(bench.ended.map(\.event) == (seconds > 10 ? [] : [1]))
        bench.advance(10_000)
        bench.expire()
        #expect(bench.pending?.contentNumber == (seconds > 10 ? 1 : 3) && bench.pending?.top.mayBeSent == true)
    }

    /// Two updates wait, and a start arrives late. The update that expires later does not fit beside the start, so the
    /// start goes first and both follow.
    @Test func whatDoesNotFitBesideALateStartFollows() {
        let bench = CoalescerBench()
        bench.take(at: 20, padding: 3_000)
        bench.take(at: 30, expires: 10)
        bench.take(at: 10, alert: "start", isStart: true, attributesByteCount: 1_500)
        #expect(bench.pending?.events == [3] && bench.pending?.isStart == true && bench.behind?.events == [1, 2])
    }

    /// An update arrives that is older than the newest and expires later. Its content is too large beside the start's
    /// alert or attributes. When the newest expires, the start goes first with its own content.
    @Test(arguments: [(2_000, 0, ""), (5, 1_500, "new"), (5, 1_500, "")] as [(Int, Int, String)])
    func whatDoesNotFitIntoTheStartFollowsIt(alertByteCount: Int, attributesByteCount: Int, alert: String) {
        let bench = CoalescerBench()
        let startAlert = String(repeating: "A", count: alertByteCount)
        bench.take(at: 10, alert: startAlert, isStart: true, attributesByteCount: attributesByteCount)
        bench.take(at: 30, expires: 10)
        bench.take(at: 20, alert: alert, padding: 3_000)
        #expect(bench.pending?.events == [1, 3, 2] && bench.behind == nil)
        bench.advance(10_000)
        bench.expire()
        #expect(bench.pending?.events == [1] && bench.pending?.isStart == true)
        #expect(bench.pending?.alertText == startAlert)
        #expect(bench.behind?.events == [3] && bench.behind?.alertText == alert)
        #expect(bench.ended.map(\.event) == [2] && bench.updateCount == 2)
    }

    /// A start has more updates above it than are kept, and each expires before the update that it replaced. If all
    /// expire unsent, the start still puts up the card.
    @Test(arguments: [false, true])
    func theStartIsNotGivenUp(comesLate: Bool) {
        let bench = CoalescerBench()
        let count = Int64(Update.underMax) + 2
        if !comesLate { bench.take(at: 0, alert: "start", isStart: true) }
        for number in 1...count { bench.take(at: 10 * number, expires: 100 - number) }
        if comesLate { bench.take(at: 0, alert: "start", isStart: true) }
        #expect(bench.pending?.under.count == Update.underMax)
        bench.advance(100_000)
        bench.expire()
        #expect(bench.pending?.isStart == true && bench.pending?.alertText == "start")
        #expect(bench.pending?.events == [comesLate ? count + 1 : 1])
    }

    // MARK: Leaving the slot

    @Test func nothingStaysBehindALetGo() {
        let bench = CoalescerBench()
        bench.take(at: 10)
        bench.send()
        bench.take(at: 20, alert: String(repeating: "A", count: 2_000))
        bench.take(at: 30, padding: 3_000)
        #expect(bench.heldCount == 3 && bench.updateCount == 3)
        bench.coalescer.letGo(bench.slot, in: &bench.memory)
        #expect(bench.heldCount == 0 && bench.updateCount == 0 && bench.ended.isEmpty)
    }

    /// Any of a slot's three updates may be done first. The ones after it move up.
    @Test func anUpdateThatIsDoneLeavesItsPlace() {
        let bench = CoalescerBench()
        bench.take(at: 10)
        bench.send()
        bench.take(at: 20, alert: String(repeating: "A", count: 2_000))
        bench.take(at: 30, padding: 3_000)
        bench.coalescer.dropUpdate(bench[bench.slot].pending, of: bench.slot, in: &bench.memory)
        #expect(bench.inFlight?.events == [1] && bench.pending?.events == [3] && bench.behind == nil)
        bench.coalescer.dropUpdate(bench[bench.slot].inFlight, of: bench.slot, in: &bench.memory)
        #expect(bench.inFlight == nil && bench.pending?.events == [3] && bench.updateCount == 1)
    }

    /// Updates read from `state` become in flight, pending and behind, in the order of sending.
    @Test(
        arguments: [
            (1, true, [1, 0, 0]), (1, false, [0, 1, 0]), (2, true, [1, 2, 0]), (2, false, [0, 1, 2]),
            (3, true, [1, 2, 3]),
        ] as [(Int, Bool, [Int64])])
    func whatIsReadTakesItsPlace(count: Int, isFirstInFlight: Bool, places: [Int64]) {
        let bench = CoalescerBench()
        let held = (1...count).map { number in
            var update = Update()
            update.top.source = SourcePosition(topic: 0, partition: 0, offset: Int64(number))
            return update
        }
        bench.coalescer.adopt(held, isFirstInFlight: isFirstInFlight, of: bench.slot, in: &bench.memory)
        #expect([bench.inFlight, bench.pending, bench.behind].map { $0?.events.first ?? 0 } == places)
    }
}
