import DeviceModel
import PushModel

/// Computes the status of each phone from its tokens, its card and the worker's next attempt.
extension Timeline {
    /// The phone's status; `nil`: no push to it is listed, no event waits, and its app has no new token.
    public func status(of phone: SimulatedPhone) -> PhoneStatus? {
        let wait = phone.wait
        guard let verdict = phone.lastVerdict else {
            return wait.map { wait in
                PhoneStatus(
                    wait.isLeftToTheWorker ? .pending : .needsToken, self.textWithoutPush(phone), wait: wait,
                    remedies: wait.isLeftToTheWorker ? [] : self.registration(phone))
            } ?? self.statusOfNewToken(phone)
        }
        if let other = phone.replacedBy {
            return PhoneStatus(
                .replaced,
                "Pushes to its activity go to phone \(other) now, whose token was registered since. "
                    + (phone.isSwiped ? "Its card is gone." : "What this phone shows stays as it is."), wait: nil)
        }
        if ![.refused, .unanswered].contains(verdict.word), let status = self.statusOfNewToken(phone) { return status }
        switch verdict.word {
        case .shown: return self.status(ofShown: phone, verdict)
        case .refused, .unanswered: return self.failure(of: phone, verdict)
        case .undecodable:
            // If the app's type is known, the server sends something wrong. A Swift type made from what it sends would
            // hide that.
            return PhoneStatus(
                .verdict(verdict.word), verdict.text, wait: wait,
                remedies: self.schema(ofApp: phone.app) == nil ? [.copySwift(entry: phone.lastPush)] : [])
        case .ignored, .budget, .waiting, .waited, .dropped, .sent:
            return PhoneStatus(.verdict(verdict.word), verdict.text, wait: wait)
        }
    }

    /// Status of a phone that took the newest push. It may show something else by now.
    private func status(ofShown phone: SimulatedPhone, _ verdict: PushVerdict) -> PhoneStatus {
        guard phone.isCardSeen else {
            return PhoneStatus(
                .unseen, "The phone took the push. This page has not seen its card yet.", wait: phone.wait)
        }
        if phone.card == Shown.Card.dismissed.rawValue {
            guard !phone.isSwiped else {
                return PhoneStatus(.gone, self.ending(of: phone), wait: nil, remedies: self.unregistration(phone))
            }
            return PhoneStatus(
                .gone,
                "The card has ended and left the Lock Screen: at the dismissal-date of its end, or four hours after it.",
                wait: phone.wait)
        }
        if let wait = phone.wait {
            guard wait.isLeftToTheWorker else {
                return PhoneStatus(
                    .needsToken, "The card shows the previous push. A newer event cannot leave yet.", wait: wait,
                    remedies: self.registration(phone))
            }
            guard self.isNewer(phone) else { return PhoneStatus(.verdict(verdict.word), verdict.text, wait: wait) }
            return PhoneStatus(.pending, "The card shows the previous push. A newer event is on its way.", wait: wait)
        }
        if let date = self.dates(of: phone).first(where: \.isTrouble) {
            let isUnknown = self.schema(ofApp: phone.app) == nil
            let type = isUnknown ? " Give your Swift type in the tab App, and the page knows." : ""
            return PhoneStatus(
                .doubtfulDate,
                "The card shows what the push brought. Look at “\(date.path)”: \(date.advice)\(type)", wait: nil)
        }
        if phone.card == Shown.Card.stale.rawValue {
            return PhoneStatus(
                .stale, "The card shows what the push brought, and is stale: its stale-date is over.", wait: nil)
        }
        if phone.card == Shown.Card.ended.rawValue {
            return PhoneStatus(.ended, "The card shows what the push brought, and has ended.", wait: nil)
        }
        return PhoneStatus(.verdict(verdict.word), verdict.text, wait: nil)
    }

    /// Whether the waiting event brings something else than the newest push. For a moment, the event of the push itself
    /// has no outcome and seems to wait.
    private func isNewer(_ phone: SimulatedPhone) -> Bool {
        guard case .event(let event)? = self.entry(phone.waitingEvent)?.body else { return true }
        return event.reading.event?.contentState != phone.lastPushed
    }

    /// Status of a phone whose app has a token that nobody has registered; `nil`: there is no such token, the card is
    /// gone, or an event waits, which says more.
    private func statusOfNewToken(_ phone: SimulatedPhone) -> PhoneStatus? {
        guard phone.unreportedToken != nil, phone.wait == nil, phone.card != Shown.Card.dismissed.rawValue,
            // The page is about to report the update token of a card that a push has started.
            phone.registeredToken != phone.start?.token,
            // The update token of a member's started card belongs to the member before it joins.
            self.audienceNames(ofMember: phone.unreportedToken ?? "").isEmpty
        else { return nil }
        return PhoneStatus(
            .needsToken, "The app has a new token that nobody has registered. APNs refuses the former one.", wait: nil,
            remedies: self.registration(phone))
    }

    private func registration(_ phone: SimulatedPhone) -> [PhoneStatus.Remedy] {
        phone.tokenToRegister == nil || phone.activity.isEmpty ? [] : [.registerToken]
    }

    /// The text for a card that the user has taken away: what the app and the server should do.
    private func ending(of phone: SimulatedPhone) -> String {
        if let other = phone.replacedBy {
            return "Its card is gone, and pushes to its activity go to phone \(other) now."
        }
        let isOver = phone.isUnregistered
        let rest =
            phone.wait == nil
            ? "" : " An event that still waits ends as unregistered; nothing needs to be done about it."
        guard phone.isAppRemoved else {
            let swiped = "The card was swiped away: the activity is over."
            if self.isMember(phone) { return "\(swiped) \(Self.removalOfMember) A new card joins with its own token." }
            return swiped
                + (isOver
                    ? " Its server has said so, and nothing more is sent to it. A new card needs a start.\(rest)"
                    : " The app tells its server, which publishes {\"event\": \"unregister\"} with this key. An event that waits ends as rejected when no token comes in time.")
        }
        let removed = "The app was removed: the activity is over, and no app is left to tell its server."
        if self.isMember(phone) { return "\(removed) \(Self.removalOfMember)" }
        return removed
            + (isOver
                ? " The server has unregistered it, and nothing more is sent to it.\(rest)"
                : " The server learns it from a 410 and publishes nothing more, or {\"event\": \"unregister\"} with this key.")
    }

    /// What to do about an end that APNs accepted and the phone did not show.
    /// - Returns: `nil`: the card is not up, or may still get the end.
    func remedy(ofUnshownEnd activity: String) -> String? {
        guard let phone = self.phone(activity: activity), self.isCardUp(phone.id), !phone.isUnregistered,
            [.undecodable, .ignored, .budget].contains(phone.lastVerdict?.word)
        else { return nil }
        return PushVerdict.remedyOfUnshownEnd
    }

    /// The text for an event that no token will come for, because the card is gone; `nil`: the card may be up.
    func goneText(activity: String) -> String? {
        guard let phone = self.phone(activity: activity), phone.isSwiped else { return nil }
        guard !phone.isAppRemoved else {
            return "The app was removed, and its tokens are dead: no phone shows this event. Nothing is left to do."
        }
        let renewal =
            phone.isUnregistered
            ? "A new card needs a start."
            : "For a new card, publish {\"event\": \"unregister\"} with this key, then a start."
        return "The card was swiped away, and its token is dead: no phone shows this event. \(renewal)"
    }

    /// What to do about a start that the worker takes for a second one of a living activity.
    func remedy(ofSecondStart activity: String) -> String {
        guard let phone = self.phone(activity: activity), phone.isSwiped else {
            return "Publish it with another key: each start needs an id of its own."
        }
        guard !phone.isAppRemoved else { return "The app was removed from the phone: no start reaches it." }
        return phone.isUnregistered
            ? "The card was swiped away, and its server has said so since: publish the start again."
            : "The card was swiped away, which the worker does not know: publish {\"event\": \"unregister\"} with this "
                + "key, then the start again. Or start with another key."
    }

    /// The remedy that ends a card's registration; empty: the registration has ended, or the card is a member's.
    private func unregistration(_ phone: SimulatedPhone) -> [PhoneStatus.Remedy] {
        phone.activity.isEmpty || phone.replacedBy != nil || self.isMember(phone) || phone.isUnregistered
            ? [] : [.unregister]
    }

    /// Whether a token of the phone is a member of an audience.
    private func isMember(_ phone: SimulatedPhone) -> Bool { self.membershipToRenew(of: phone) != nil }

    /// What the worker does with a member whose token is dead.
    private static let removalOfMember = "At the 410 the worker removes this member, and nothing waits for it."

    /// Marks the activity's phones as unregistered. A registration takes that back for its own phone.
    mutating func heedUnregistration(of activity: String) {
        for phone in self.phones.values where phone.activity == activity && !self.isMember(phone) {
            self.changePhone(phone.id) { $0.isUnregistered = true }
        }
    }

    /// Dates in what the card shows and in the attributes of its start. A card that is gone shows none.
    private func dates(of phone: SimulatedPhone) -> [DateLens.Finding] {
        guard phone.card != Shown.Card.dismissed.rawValue else { return [] }
        guard let content = phone.content else { return [] }
        let schema = self.schema(ofApp: phone.app)
        return DateLens.findings(in: content, schema: schema)
            + (phone.attributes.map { DateLens.findings(inAttributes: $0, schema: schema) } ?? [])
    }

    /// The text for a phone without a listed push.
    private func textWithoutPush(_ phone: SimulatedPhone) -> String {
        if phone.isSwiped { return self.ending(of: phone) }
        if !phone.isCardSeen {
            return phone.wasForgotten
                ? "This page had forgotten the phone, and does not know what was pushed to it."
                : "Nothing was pushed to it yet."
        }
        if phone.card == Shown.Card.dismissed.rawValue { return "The card has left the Lock Screen." }
        if phone.channel != nil { return "Its card shows what arrived over the channel." }
        if !self.audienceNames(ofMember: phone.token).isEmpty {
            return "Its card shows a push to its audience. That push is counted there, and not listed here."
        }
        return "The push that brought its card is not listed here."
    }

    /// Status of a phone whose newest push was not taken by APNs.
    private func failure(of phone: SimulatedPhone, _ verdict: PushVerdict) -> PhoneStatus {
        let wait = phone.wait
        let word = PhoneStatus.Word.verdict(verdict.word)
        let again = self.eventToRepeat(phone).map { [PhoneStatus.Remedy.sendAgain(entry: $0)] } ?? []
        if phone.isSwiped {
            return PhoneStatus(
                word, "\(verdict.text) \(self.ending(of: phone))", wait: nil,
                remedies: self.unregistration(phone))
        }
        if phone.lastPushToken != phone.registeredToken.lowercased() {
            return PhoneStatus(
                .renewed,
                "The new token is registered, and nothing was pushed to it yet. The push to the previous token: \(verdict.text)",
                wait: wait, remedies: again)
        }
        guard phone.isTokenDead else {
            return PhoneStatus(
                wait.map(\.isLeftToTheWorker) == true ? .retrying : word, verdict.text, wait: wait, remedies: again)
        }
        guard !self.isMember(phone) else { return self.failure(ofMember: phone, verdict) }
        guard phone.lastPushToken != phone.start?.token.lowercased() else {
            return PhoneStatus(
                word,
                "\(verdict.text) This was a push-to-start token. Forget it, and start again (same key) with the one that the app reports now.",
                wait: wait)
        }
        guard phone.unreportedToken != nil else {
            let kept =
                again.isEmpty
                ? "the worker keeps the newest event for it for a while"
                : "the worker has given the newest event up, so publish it again then"
            return PhoneStatus(
                word,
                "\(verdict.text) The app has no newer token to register. If the activity is still on the phone, the app gets one, and your server registers that: \(kept). If the card or the app is gone, none will come: publish {\"event\": \"unregister\"}, or nothing more. Only a simulated phone can be given a token by a button.",
                wait: wait,
                remedies: phone.activity.isEmpty ? [] : [.renewToken])
        }
        return PhoneStatus(
            word, "\(verdict.text) The app has another token, which nobody has registered.", wait: wait,
            remedies: phone.activity.isEmpty ? [] : [.registerToken])
    }

    /// Status of a member's phone whose token is dead.
    private func failure(ofMember phone: SimulatedPhone, _ verdict: PushVerdict) -> PhoneStatus {
        let isNew = phone.unreportedToken != nil
        let rest =
            isNew
            ? "The app has another token, which has not joined the audience."
            : "If the card is still up, the app gets a new token, which joins as a member of its own. Only a simulated phone can be given a token by a button."
        return PhoneStatus(
            .verdict(verdict.word), "\(verdict.text) \(Self.removalOfMember) \(rest)", wait: nil,
            remedies: [isNew ? .registerToken : .renewToken])
    }

    /// Id of the newest event of the phone's activity, to send it again; `nil`: it is not kept, or the worker may still
    /// send it.
    private func eventToRepeat(_ phone: SimulatedPhone) -> Int? {
        guard phone.wait == nil, !phone.activity.isEmpty else { return nil }
        let newest = self.entries.last { entry in
            guard entry.activity == phone.activity, case .event(let event) = entry.body else { return false }
            return [.start, .update, .end].contains(event.reading.event?.kind)
        }
        guard let newest, case .event(let event) = newest.body, event.outcome != nil || event.isOutcomeUnread else {
            return nil
        }
        return newest.id
    }

    /// Relates a refused or unanswered push to the waiting event with the same content. An outcome names only the last
    /// attempt, and arrives after all attempts.
    mutating func relate(failedPush push: Int, of phone: Int, _ content: JSONTree?) {
        guard let activity = self.phones[phone]?.activity, !activity.isEmpty else { return }
        let event = self.entries.last { entry in
            guard entry.activity == activity, case .event(let event) = entry.body, event.outcome == nil else {
                return false
            }
            return event.reading.event.map { $0.contentState == content && $0.target == .activity } ?? false
        }
        if let event { self.relate(event: event.id, push: push) }
    }

    // MARK: Waits

    /// Stores in the event's phone what the event waits for.
    /// - Parameter wait: `nil`: the event does not wait.
    mutating func setPhoneWait(_ wait: EventWait?, ofEvent id: Int) {
        guard let entry = self.entry(id), case .event(let event) = entry.body,
            [.activity, .token].contains(event.reading.event?.target),
            let phone = self.phone(activity: entry.activity)
        else { return }
        // The newest event decides.
        guard wait == nil ? phone.waitingEvent == id : phone.waitingEvent <= id else { return }
        self.changePhone(phone.id) { ($0.wait, $0.waitingEvent) = (wait, wait == nil ? 0 : id) }
    }

    /// Phones that wait for an event whose line is gone. Its outcome ends no wait here, so the worker must be asked.
    public var phonesOfForgottenWaits: [SimulatedPhone] {
        self.phonesInOrder.filter { $0.wait != nil && self.entry($0.waitingEvent) == nil && !$0.activity.isEmpty }
    }

    /// Sets what a phone waits for, if the timeline no longer has the line of its waiting event.
    /// - Parameter wait: `nil`: no event waits.
    public mutating func setWait(_ wait: EventWait?, ofPhone id: Int) {
        guard let phone = self.phones[id], self.entry(phone.waitingEvent) == nil else { return }
        let wait = wait.map { self.completed($0, activity: phone.activity) }
        guard wait.map({ !$0.saysTheSame(as: phone.wait) }) ?? (phone.wait != nil) else { return }
        self.changePhone(id) { ($0.wait, $0.waitingEvent) = (wait, 0) }
    }

    /// Ends the wait of a phone for an event that has its outcome. A phone whose push failed changes, too: the event
    /// can be sent again now.
    mutating func endPhoneWait(ofEvent id: Int) {
        let activity = self.entry(id)?.activity ?? ""
        for phone in self.phones.values {
            if phone.waitingEvent == id {
                self.changePhone(phone.id) { ($0.wait, $0.waitingEvent) = (nil, 0) }
            } else if phone.activity == activity, [.refused, .unanswered].contains(phone.lastVerdict?.word) {
                self.changePhone(phone.id) { _ in }
            }
        }
    }

    // MARK: Phones that pushes go to

    /// Makes a newly registered phone its activity's phone. Pushes of the activity go to this phone only.
    mutating func heedRegistration(of activity: String, by id: Int) {
        for phone in self.phones.values where phone.activity == activity {
            let other = phone.id == id ? nil : id
            // Members of an audience have its name for their activity.
            guard phone.replacedBy != other, self.audienceNames(ofMember: phone.token).isEmpty else { continue }
            self.changePhone(phone.id) { $0.replacedBy = other }
        }
        self.changePhone(id) { $0.isUnregistered = false }
    }

    /// The audience of a member's phone, and the member's number in it, counted from 1; null: the phone is not a
    /// member's.
    private func membership(of phone: SimulatedPhone) -> JSONTree {
        guard let found = self.audiences.memberships(token: phone.token).first else { return .null }
        return [
            "audience": .string(self.audiences.audiences[found.audience].name), "number": .integer(found.member + 1),
        ]
    }

    /// A phone for the page and the API, without its tokens.
    public func json(_ phone: SimulatedPhone) -> JSONTree {
        guard case .object(var members) = phone.json(dates: self.dates(of: phone)) else { return .null }
        let status = self.status(of: phone)
        members.append(.init("verdict", status?.json ?? .null))
        members.append(.init("beside", .array(self.cardsBeside(phone).map { .integer($0) })))
        members.append(.init("member", self.membership(of: phone)))
        members.append(.init("isTypeKnown", .bool(self.schema(ofApp: phone.app)?.source == .swift)))
        members.append(.init("textWithoutPush", status == nil ? .string(self.textWithoutPush(phone)) : .null))
        return .object(members)
    }
}
