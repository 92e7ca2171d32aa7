import DeviceModel
import PushModel

/// Cards that starts put up. Each start puts up a card of its own, with its own update token, so each is a phone of the
/// page. Several of them may be on one device, which their push-to-start token names.
extension Timeline {
    /// A start whose push is still to come, to a device that has cards of other starts.
    struct ExpectedStart: Sendable {
        var token: String
        var activity: String
        var app: String
        var content: JSONTree?
    }

    /// Maximum number of starts whose pushes are still to come. The oldest are dropped.
    private static let expectedStartsMax = 64

    /// Phones whose cards were started with a push-to-start token, oldest first.
    private func cards(startToken: String) -> [SimulatedPhone] {
        self.phonesInOrder.filter { $0.start?.token == startToken }
    }

    /// Other cards on the device of a phone's card, oldest first.
    func cardsBeside(_ phone: SimulatedPhone) -> [Int] {
        guard let start = phone.start else { return [] }
        return self.cards(startToken: start.token).map(\.id).filter { $0 != phone.id }
    }

    /// Whether the phone's device has other cards, and all of them were swiped away.
    func areOthersSwiped(_ id: Int) -> Bool {
        let others = self.phones[id].map(self.cardsBeside) ?? []
        return !others.isEmpty && others.allSatisfy { self.phones[$0]?.isSwiped == true }
    }

    /// The phone whose card a push has started; `nil`: none is kept.
    public func phone(startedBy messageID: String) -> SimulatedPhone? {
        messageID.isEmpty ? nil : self.phones.values.first { $0.start?.messageID == messageID }
    }

    // MARK: Events and pushes

    /// Takes an event that starts a card on one device. Its push may have been seen before.
    mutating func heedStart(_ event: EventReading.Event, activity: String) {
        // A member's starts go to its audience, and the page draws the newest card.
        guard self.audienceNames(ofMember: event.token).isEmpty else {
            self.meet(token: event.token, activity: activity, app: event.app)
            return
        }
        let cards = self.cards(startToken: event.token)
        if cards.isEmpty {
            let id = self.meet(token: event.token, activity: activity, app: event.app)
            if self.phones[id]?.start == nil {
                let start = SimulatedPhone.Start(token: event.token, content: event.contentState)
                return self.changePhone(id) { $0.start = start }
            }
        }
        // A card with other content may belong to another start, whose event is read later. An outcome names the card
        // then.
        if let card = cards.first(where: { $0.activity.isEmpty && $0.start?.content == event.contentState }) {
            self.name(card.id, activity, app: event.app)
        } else if let card = cards.first(where: { $0.activity == activity && $0.start?.messageID == "" }) {
            // The newer start replaces one that was not pushed yet.
            self.changePhone(card.id) { $0.start?.content = event.contentState }
        } else {
            if self.expectedStarts.count >= Self.expectedStartsMax { self.expectedStarts.removeFirst() }
            self.expectedStarts.append(
                ExpectedStart(
                    token: event.token, activity: activity, app: event.app, content: event.contentState))
        }
    }

    /// Forgets the card that a start was to put up, because the worker took the start for a duplicate.
    mutating func forgetCard(ofDuplicate id: Int) {
        guard let entry = self.entry(id), let event = Self.start(in: entry) else { return }
        let expected = self.expectedStarts.lastIndex {
            $0.token == event.token && $0.activity == entry.activity && $0.content == event.contentState
        }
        if let expected {
            self.expectedStarts.remove(at: expected)
            return
        }
        // The card may belong to another start, which is still to be pushed.
        let isAwaited = self.entries.contains { other in
            guard other.id != id, other.activity == entry.activity, case .event(let listed) = other.body else {
                return false
            }
            return Self.start(in: other)?.token == event.token && listed.outcome?.isDuplicate != true
        }
        guard let empty = self.emptyCard(of: entry.activity, startToken: event.token), !isAwaited,
            self.activitiesByToken[ByteKey(token: event.token)] == nil
        else { return }
        self.forget(empty)
    }

    /// The newest card of an activity whose start was never pushed.
    private func emptyCard(of activity: String, startToken: String) -> SimulatedPhone? {
        self.cards(startToken: startToken).last {
            $0.activity == activity && $0.start?.messageID == "" && $0.lastPush == 0
        }
    }

    private mutating func forget(_ empty: SimulatedPhone) {
        self.remove(empty)
        self.phonesMetCount -= 1
    }

    /// The event of an entry, if it starts a card on one device.
    private static func start(in entry: TimelineEntry) -> EventReading.Event? {
        guard case .event(let listed) = entry.body, let event = listed.reading.event, event.kind == .start,
            event.target == .startToken
        else { return nil }
        return event
    }

    private mutating func name(_ id: Int, _ activity: String, app: String) {
        self.changePhone(id) { phone in
            phone.activity = activity
            if !app.isEmpty { phone.app = app }
        }
        self.forgottenPhones[activity] = nil
    }

    /// Gives the card of a push the activity of the event whose outcome names the push. Does nothing unless the push
    /// started the card and the card's activity is unknown.
    mutating func nameCard(of push: Int, by event: Int) {
        guard case .push(let pushed)? = self.entry(push)?.body, let card = self.phones[pushed.phone],
            card.activity.isEmpty, card.start?.messageID == pushed.messageID, let named = self.entry(event),
            case .event(let started) = named.body, started.reading.event?.target == .startToken
        else { return }
        self.name(card.id, named.activity, app: started.reading.event?.app ?? "")
        // The push of this start is known now. Forget the expected start, and the empty card that was to show it.
        guard let startToken = card.start?.token else { return }
        self.expectedStarts.removeAll { $0.token == startToken && $0.activity == named.activity }
        if let empty = self.emptyCard(of: named.activity, startToken: startToken) { self.forget(empty) }
    }

    /// Whether an event of the activity is listed that has this content. The worker may have merged it into the start.
    private func isListed(_ content: JSONTree?, of activity: String) -> Bool {
        self.entries.contains { entry in
            guard entry.activity == activity, case .event(let listed) = entry.body else { return false }
            return listed.reading.event?.contentState == content
        }
    }

    /// The phone of a push: the phone that has its token, or for a start the phone that shows its card.
    mutating func phone(ofPush push: ObservedPush, isStart: Bool, content: JSONTree?, app: String) -> Int {
        let key = ByteKey(token: push.token)
        guard isStart, self.audienceNames(ofMember: push.token).isEmpty else {
            return self.meet(
                token: push.token, activity: self.phonesByToken[key] == nil ? self.activitiesByToken[key] ?? "" : "",
                app: app)
        }
        let id = self.card(ofStart: push, content, app: app)
        let start = SimulatedPhone.Start(token: push.token, content: content, messageID: push.messageID)
        self.changePhone(id) { phone in
            if phone.app.isEmpty { phone.app = app }
            phone.start = start
        }
        // The other cards on the device have changed, because each is beside one more card now.
        for other in self.cards(startToken: push.token) where other.id != id { self.changePhone(other.id) { _ in } }
        return id
    }

    private mutating func card(ofStart push: ObservedPush, _ content: JSONTree?, app: String) -> Int {
        let cards = self.cards(startToken: push.token)
        let awaited = cards.filter { !$0.isCardStarted }
        // The card is known if this is another attempt of a known push, or a push that had waited for the phone.
        // A start that APNs has accepted is not pushed again: the same content belongs to another start.
        let known =
            self.phone(startedBy: push.messageID)
            ?? awaited.first { $0.start?.content == content && !self.isStartAccepted($0) }
        if let known { return known.id }
        let expected = self.expectedStarts.indices.filter { self.expectedStarts[$0].token == push.token }
        let index =
            expected.first { self.expectedStarts[$0].content == content }
            ?? expected.first { self.isListed(content, of: self.expectedStarts[$0].activity) }
        if let index {
            let start = self.expectedStarts.remove(at: index)
            // An earlier start with this key put up no card.
            if let same = awaited.last(where: { $0.activity == start.activity }) { return same.id }
            let id = self.addPhone(token: push.token, activity: start.activity)
            self.name(id, start.activity, app: start.app)
            return id
        }
        if let card = awaited.first(where: { $0.start?.messageID == "" && self.isListed(content, of: $0.activity) }) {
            return card.id
        }
        return cards.isEmpty
            ? self.meet(token: push.token, activity: "", app: app) : self.addPhone(token: push.token, activity: "")
    }

    /// Whether APNs accepted the push of the card's start.
    private func isStartAccepted(_ card: SimulatedPhone) -> Bool {
        guard card.start?.messageID != "", case .push(let push)? = self.entry(card.lastPush)?.body else { return false }
        return push.status == 200
    }

    // MARK: Update tokens

    /// Remembers that the app of a card cannot report its update token yet: its activity is not known.
    public mutating func oweToken(_ id: Int) { self.changePhone(id) { $0.owesToken = true } }

    /// Cards whose activity has become known, and whose apps can now report their update tokens.
    public mutating func takeDebtors() -> [SimulatedPhone] {
        let debtors = self.phonesInOrder.filter { $0.owesToken && !$0.activity.isEmpty }
        for phone in debtors { self.changePhone(phone.id) { $0.owesToken = false } }
        return debtors
    }
}
