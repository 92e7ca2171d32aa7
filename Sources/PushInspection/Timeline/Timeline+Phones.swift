public import DeviceModel

/// Adds and changes phones, and decides which give way to others.
extension Timeline {
    /// The phone of a token. Adds the phone if it is new.
    /// - Parameter isReported: whether the app has reported the token.
    /// - Returns: the phone's id.
    @discardableResult
    public mutating func meet(token: String, activity: String, app: String, isReported: Bool = true) -> Int {
        let id: Int
        if let known = self.phonesByToken[ByteKey(token: token)] {
            id = known
        } else {
            if let forgotten = self.forgottenPhones[activity], forgotten.tokens.contains(token) {
                id = self.recall(forgotten)
            } else {
                id = self.addPhone(token: token, activity: activity)
            }
        }
        let onlyApp = self.app
        self.changePhone(id) { phone in
            if !activity.isEmpty { phone.activity = activity }
            if !app.isEmpty { phone.app = app }
            if phone.app.isEmpty { phone.app = onlyApp }
            if phone.unreportedToken == token, !activity.isEmpty, isReported { phone.unreportedToken = nil }
        }
        if !activity.isEmpty { self.forgottenPhones[activity] = nil }
        return id
    }

    /// The phone that shows an activity; `nil`: none does. If several do, it is the newest of those that receive
    /// the activity's pushes. Members of an audience with the activity's name are the last choice.
    public func phone(activity: String) -> SimulatedPhone? {
        let named = self.phones.values.filter { $0.activity == activity }
        guard named.count > 1 else { return named.first }
        let own = named.filter { self.audienceNames(ofMember: $0.token).isEmpty }
        let registered = own.filter { $0.replacedBy == nil }
        return [registered, own, named].first { !$0.isEmpty }?.max { $0.id < $1.id }
    }

    /// Records until when the phone showed the earlier push, in that push's line.
    mutating func replaceWhatIsShown(on phone: Int, by push: Int, atMillis: Int64) {
        if let before = self.phones[phone]?.lastShownPush, before > 0 {
            self.change(before) { entry in
                guard case .push(var earlier) = entry.body else { return }
                earlier.shownUntilMillis = atMillis
                entry.body = .push(earlier)
            }
        }
        self.changePhone(phone) { $0.lastShownPush = push }
    }

    /// Adds a phone. Others may have its token: cards on the same device.
    mutating func addPhone(token: String, activity: String) -> Int {
        self.makeRoom()
        let id = self.nextPhoneID
        self.nextPhoneID += 1
        self.phonesMetCount += 1
        self.phones[id] = SimulatedPhone(id: id, activity: activity, token: token)
        self.phonesByToken[ByteKey(token: token)] = id
        return id
    }

    private mutating func makeRoom() {
        guard self.phones.count >= self.limits.phonesMax else { return }
        let all = Array(self.phones.values)
        let idle = all.filter { !self.attention.holds($0.activity) }
        let well = idle.filter { !$0.isInTrouble }
        let gone = well.filter { $0.card == Shown.Card.dismissed.rawValue }
        let nameless = well.filter { $0.activity.isEmpty }
        let first = [gone, nameless, well, idle, all].first { !$0.isEmpty } ?? []
        guard let forgotten = first.min(by: { $0.revision < $1.revision }) else { return }
        self.remove(forgotten)
        if !forgotten.activity.isEmpty {
            if self.forgottenPhones.count >= self.limits.slotsMax { self.forgottenPhones.removeAll() }
            self.forgottenPhones[forgotten.activity] = forgotten.remembered
        }
    }

    /// Removes a phone. Its tokens lead to the other cards on its device, if there are any.
    mutating func remove(_ removed: SimulatedPhone) {
        self.phones[removed.id] = nil
        for token in removed.tokens where self.phonesByToken[ByteKey(token: token)] == removed.id {
            self.phonesByToken[ByteKey(token: token)] = self.phones.values.first { $0.tokens.contains(token) }?.id
        }
    }

    /// Restores an activity's phone that gave way to others, because somebody asks for it. What it shows is not
    /// known yet.
    mutating func recallPhone(activity: String) {
        guard let forgotten = self.forgottenPhones[activity], self.phone(activity: activity) == nil else { return }
        self.meet(token: forgotten.token, activity: activity, app: forgotten.app, isReported: false)
    }

    private mutating func recall(_ forgotten: SimulatedPhone) -> Int {
        self.makeRoom()
        self.phones[forgotten.id] = forgotten
        for token in forgotten.tokens { self.phonesByToken[ByteKey(token: token)] = forgotten.id }
        return forgotten.id
    }

    /// Whether the worker takes an event that names this app.
    /// - Parameter app: bundle id; empty: the event names none.
    public func isTaken(app: String) -> Bool {
        self.apps.isEmpty || (app.isEmpty ? self.apps.count == 1 : self.apps.contains(app))
    }

    /// Whether the phone's card may be up: it has neither ended nor gone, and the phone is no member of an audience.
    func isCardUp(_ id: Int) -> Bool {
        guard let phone = self.phones[id], phone.replacedBy == nil else { return false }
        return ![Shown.Card.ended.rawValue, Shown.Card.dismissed.rawValue].contains(phone.card)
            && self.audienceNames(ofMember: phone.token).isEmpty
    }

    // MARK: Events of phones

    /// Draws cards with these templates from now on.
    public mutating func setTemplates(_ templates: [CardTemplate]) {
        self.templates = templates
        for id in self.phones.keys { self.changePhone(id) { $0.layOut(by: templates) } }
    }

    /// Decodes content with these schemas from now on.
    /// - Parameter schemas: by bundle id. An empty id means all apps without a schema of their own.
    public mutating func setSchemas(_ schemas: [String: ContentSchema]) {
        self.schemas = schemas
        for id in self.phones.keys { self.changePhone(id) { _ in } }
    }

    func schema(ofApp app: String) -> ContentSchema? { self.schemas[app] ?? self.schemas[""] }

    /// Adds a new token of the app on a phone.
    public mutating func addToken(_ token: String, to id: Int, isReported: Bool) {
        guard self.phones[id] != nil else { return }
        self.phonesByToken[ByteKey(token: token)] = id
        var old: [String] = []
        self.changePhone(id) { phone in
            phone.tokens.append(token)
            phone.unreportedToken = isReported ? nil : token
            if isReported { phone.isUnregistered = false }
            // The token belongs to a new card, so it no longer matters whether the old one was swiped away.
            (phone.isSwiped, phone.isAppRemoved) = (false, false)
            old = Array(phone.tokens.dropLast(SimulatedPhone.tokensMax))
            phone.tokens.removeFirst(old.count)
        }
        for token in old { self.phonesByToken[ByteKey(token: token)] = nil }
    }

    /// Takes what the phone shows now.
    /// - Returns: whether that differs from before.
    /// - Parameters:
    ///   - channel: the channel that the phone listens to; `nil`: none.
    ///   - nowMillis: the clock, milliseconds since 1970, for a line that says that a card has gone; `nil`: no line is
    ///     written.
    @discardableResult
    public mutating func setShown(
        _ shown: Shown, isOnline: Bool, channel: String? = nil, attributesType: String = "", of id: Int,
        nowMillis: Int64? = nil
    ) -> Bool {
        // A card that was swiped away shows nothing new: what APNs had kept for it arrives after that.
        let shown = self.phones[id].flatMap { $0.isSwiped ? $0.shown : nil } ?? shown
        guard let phone = self.phones[id],
            phone.shown != shown || phone.isOnline != isOnline || phone.channel != channel
                || phone.attributesType != attributesType
        else { return false }
        let templates = self.templates
        self.changePhone(id) { phone in
            phone.shown = shown
            phone.attributesType = attributesType
            phone.isOnline = isOnline
            phone.channel = channel
            phone.content = shown.contentState.isEmpty ? nil : try? JSONTree.parse(shown.contentState)
            phone.layOut(by: templates)
        }
        if isOnline, !phone.isOnline { self.heedReturn(of: id) }
        if let nowMillis, phone.isCardSeen, phone.shown?.card != .dismissed, shown.card == .dismissed {
            self.addNote("The card has left the Lock Screen.", phone: id, nowMillis: nowMillis)
        }
        return true
    }

    /// Marks the card as swiped away.
    public mutating func setSwiped(_ id: Int) { self.changePhone(id) { $0.isSwiped = true } }

    /// Marks the app as removed from the phone, with all cards of it on the same device.
    /// - Returns: the cards.
    public mutating func removeApp(from id: Int) -> [SimulatedPhone] {
        let ids = [id] + (self.phones[id].map(self.cardsBeside) ?? [])
        for id in ids { self.changePhone(id) { ($0.isSwiped, $0.isAppRemoved) = (true, true) } }
        return ids.compactMap { self.phones[$0] }
    }

    /// Marks the phone, with all its cards, as starting up or as started.
    public mutating func setRebooting(_ id: Int, _ isRebooting: Bool) {
        let cards = [id] + (self.phones[id].map(self.cardsBeside) ?? [])
        for card in cards { self.changePhone(card) { $0.isRebooting = isRebooting } }
    }
}
