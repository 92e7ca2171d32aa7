import DeviceModel
import Testing

@testable import PushInspection

/// Tests of several started cards on one device.
struct CardsTests {
    private static let startToken = String(repeating: "5a", count: 32)

    /// A timeline that is given start events and their pushes for one device.
    private struct Story {
        var timeline = TimelineTests.timeline()
        private var nextOffset: Int64 = 0

        mutating func event(_ activity: String, number: Int) {
            let start =
                #"{"event":"start","to":{"start-token":"\#(CardsTests.startToken)"},"attributes-type":"A","attributes":{},"content-state":{"number":\#(number)},"alert":{"title":"","body":""}}"#
            _ = self.timeline.takeEvent(
                at: EventPosition(partition: 0, offset: self.nextOffset), key: Array(activity.utf8),
                value: Array(start.utf8), nowMillis: TimelineTests.now)
            self.nextOffset += 1
        }

        @discardableResult
        mutating func push(
            number: Int, id: String? = nil, status: Int? = 200, phone: ObservedPush.Phone = .took(.shownAsSecondCard)
        ) -> Int {
            self.timeline.takePush(
                ObservedPush(
                    atMillis: TimelineTests.now, messageID: id ?? "start-\(number)", token: CardsTests.startToken,
                    topic: "com.example.app.push-type.liveactivity", priority: 10,
                    body: Array(
                        #"{"aps":{"event":"start","timestamp":1795600000,"content-state":{"number":\#(number)}}}"#.utf8),
                    status: status, reason: status == 200 ? "" : "ServiceUnavailable", phone: phone, hadWaited: false,
                    stampBeforeSeconds: nil))
        }

        /// For each phone on the page: its activity, and the message that started its card.
        var cards: [[String]] {
            self.timeline.phonesInOrder.map { [$0.activity, $0.start?.messageID ?? ""] }
        }
    }

    /// Each start of one device gets its own phone on the page, whether the page reads the push or the event first.
    @Test(arguments: [[true, true], [true, false], [false, true], [false, false]])
    func eachStartHasItsOwnCard(isEventFirst: [Bool]) {
        var story = Story()
        for (index, isFirst) in isEventFirst.enumerated() {
            if isFirst { story.event("order-\(index)", number: index) }
            story.push(number: index)
            if !isFirst { story.event("order-\(index)", number: index) }
        }
        #expect(story.cards == [["order-0", "start-0"], ["order-1", "start-1"]])
        let phones = story.timeline.phonesInOrder
        #expect(phones.map { $0.lastVerdict?.word } == [.shown, .shown])
        #expect(phones.map { story.timeline.cardsBeside($0) } == [[2], [1]])
        #expect(story.timeline.json(phones[0])["beside"] == .array([.integer(2)]))
        #expect(story.timeline.phone(startedBy: "start-1")?.activity == "order-1")
    }

    /// All orders in which two events and their two pushes can be read. The events may be in two partitions.
    private static let orders: [[Int]] = (0..<24).map { number in
        var (rest, left) = ([0, 1, 2, 3], number)
        return (1...4).reversed().map { count in
            defer { left /= count }
            return rest.remove(at: left % count)
        }
    }

    /// The content tells which push belongs to which start, in any order.
    /// - Parameter order: 0 and 1 are the events, 2 and 3 their pushes.
    @Test(arguments: Self.orders) func contentTellsWhichStartIsWhich(order: [Int]) {
        var story = Story()
        for step in order {
            if step < 2 { story.event("order-\(step)", number: step) } else { story.push(number: step - 2) }
        }
        #expect(Set(story.cards) == [["order-0", "start-0"], ["order-1", "start-1"]])
    }

    /// A failed attempt and its retry belong to the same card. The other card is not affected.
    @Test func aRetryIsForTheSameCard() {
        var story = Story()
        story.event("order-0", number: 0)
        story.push(number: 0)
        story.event("order-1", number: 1)
        let failed = story.push(number: 1, id: "failed", status: 503, phone: .notReached)
        #expect(story.timeline.phones[failed]?.activity == "order-1")
        #expect(story.timeline.phone(activity: "order-0")?.lastVerdict?.word == .shown)
        #expect(story.push(number: 1) == failed)
        #expect(story.cards == [["order-0", "start-0"], ["order-1", "start-1"]])
    }

    /// A start that the app cannot decode puts up no card, and is not pushed again. The same payload under another key
    /// belongs to that key.
    @Test(arguments: [true, false]) func anUndecodableStartOfAnotherKeyIsThatKeys(isEventFirst: Bool) {
        var story = Story()
        let fault = ObservedPush.Phone.couldNotDecode("“number” is the number 0")
        story.event("order-0", number: 0)
        story.push(number: 0, id: "start-0", phone: fault)
        if isEventFirst { story.event("order-1", number: 0) }
        let second = story.push(number: 0, id: "start-1", phone: fault)
        if !isEventFirst { story.event("order-1", number: 0) }
        #expect(story.cards == [["order-0", "start-0"], ["order-1", "start-1"]])
        #expect(story.timeline.phones[second]?.activity == "order-1")
        // The corrected start of the first key puts up its card.
        story.event("order-0", number: 5)
        story.push(number: 5)
        #expect(story.cards == [["order-0", "start-5"], ["order-1", "start-1"]])
    }

    /// A card that was swiped away does not stay beside a new one.
    @Test(arguments: [true, false]) func aSwipedCardIsNotUpBesideANewOne(isSwiped: Bool) {
        var story = Story()
        story.event("order-0", number: 0)
        let first = story.push(number: 0)
        if isSwiped { story.timeline.setSwiped(first) }
        story.event("order-1", number: 1)
        let second = story.push(number: 1)
        let stays = " Another card was up on the phone, and stays."
        #expect(
            story.timeline.phones[second]?.lastVerdict?.text
                == "The card shows what the push brought." + (isSwiped ? "" : stays))
    }

    /// No registration replaces a push-to-start token that is dead: the server starts again with another.
    @Test func aDeadStartTokenIsForgotten() throws {
        var story = Story()
        story.event("order-0", number: 0)
        let id = story.push(number: 0, status: 410, phone: .notReached)
        let status = try #require(story.timeline.phones[id].flatMap(story.timeline.status))
        #expect(
            status.text.hasSuffix(
                "This was a push-to-start token. Forget it, and start again (same key) with the one that the app reports now."
            ), "\(status.text)")
        #expect(status.word == .verdict(.refused) && status.remedies.isEmpty)
    }

    /// A second start of one activity adds another card.
    @Test func theSameActivityMayHaveTwoCards() {
        var story = Story()
        for number in 0..<2 {
            story.event("order-0", number: 0)
            story.push(number: 0, id: "start-\(number)")
        }
        #expect(story.cards == [["order-0", "start-0"], ["order-0", "start-1"]])
    }

    /// A start that APNs refused may be pushed again with newer content. The outcome then names its card, and the app
    /// reports the card's token.
    @Test func anOutcomeNamesACard() throws {
        var story = Story()
        story.event("order-0", number: 0)
        story.push(number: 0)
        story.event("order-1", number: 1)
        story.push(number: 1, id: "failed", status: 503, phone: .notReached)
        let card = story.push(number: 7)
        story.timeline.addToken("ab", to: card, isReported: false)
        story.timeline.oweToken(card)
        #expect(story.timeline.takeDebtors().isEmpty)
        let outcome = TimelineTests.outcome(
            "delivered", at: 1, more: #","apns-id":"start-7","status":200,"priority":10,"merged":1"#)
        let read = try #require(EventOutcome.read(outcome, topic: "events"))
        story.timeline.takeOutcome(read.outcome, of: read.position)
        #expect(story.cards == [["order-0", "start-0"], ["order-1", "failed"], ["order-1", "start-7"]])
        #expect(story.timeline.takeDebtors().map(\.id) == [card])
        #expect(story.timeline.takeDebtors().isEmpty)
    }

    /// A push whose content is in no known event is not assigned to another start. Its outcome names its activity, and
    /// no empty card is left.
    @Test func aPushWithNewerContentIsNamedByItsOutcome() throws {
        var story = Story()
        story.event("order-0", number: 0)
        story.push(number: 7)
        let delivered = TimelineTests.outcome(
            "delivered", at: 0, more: #","apns-id":"start-7","status":200,"priority":10,"merged":1"#)
        let read = try #require(EventOutcome.read(delivered, topic: "events"))
        story.timeline.takeOutcome(read.outcome, of: read.position)
        #expect(story.cards == [["order-0", "start-7"]])
    }

    /// If the worker calls a start a duplicate, no empty card is left. The event or its outcome may be read first.
    @Test(arguments: [true, false]) func aDuplicateLeavesNoCard(isEventFirst: Bool) throws {
        var story = Story()
        _ = story.timeline.meet(token: TimelineTests.token, activity: "order-0", app: "")
        let duplicate = TimelineTests.outcome(
            "duplicate", at: 0, more: #","reason":"the activity was already started and has not ended""#)
        let read = try #require(EventOutcome.read(duplicate, topic: "events"))
        if isEventFirst {
            story.event("order-0", number: 0)
            #expect(story.timeline.phones.count == 2)
        }
        story.timeline.takeOutcome(read.outcome, of: read.position)
        if !isEventFirst { story.event("order-0", number: 0) }
        #expect(story.timeline.phones.values.map(\.token) == [TimelineTests.token])
        let text = story.timeline.summary(of: try #require(story.timeline.entries.first))
        #expect(text.hasSuffix("Publish it with another key: each start needs an id of its own."), "\(text)")
        // The start token still works: another activity's start with it brings a card.
        story.event("order-1", number: 1)
        story.push(number: 1)
        #expect(story.cards.last == ["order-1", "start-1"])
    }

    /// A duplicate does not remove another start's card, whether that start was pushed already or not.
    @Test(arguments: [true, false]) func aDuplicateLeavesTheCardOfAnother(isPushed: Bool) throws {
        var story = Story()
        story.event("order-0", number: 0)
        if isPushed { story.push(number: 0) }
        story.event("order-0", number: 0)
        let read = try #require(EventOutcome.read(TimelineTests.outcome("duplicate", at: 1), topic: "events"))
        story.timeline.takeOutcome(read.outcome, of: read.position)
        if !isPushed { story.push(number: 0) }
        #expect(story.cards == [["order-0", "start-0"]])
        #expect(story.timeline.expectedStarts.isEmpty)
    }

    /// A restart of the device removes all its cards.
    @Test func aRestartIsOfAllCards() {
        var story = Story()
        for number in 0..<2 {
            story.event("order-\(number)", number: number)
            story.push(number: number)
        }
        story.timeline.setRebooting(1, true)
        #expect(story.timeline.phonesInOrder.map(\.isRebooting) == [true, true])
        story.timeline.setRebooting(2, false)
        #expect(story.timeline.phonesInOrder.map(\.isRebooting) == [false, false])
    }
}
