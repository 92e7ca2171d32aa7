import DeviceModel

/// Push-to-start: phones, the cards that starts put up on them, and the cards' update tokens.
extension DeviceStore {
    static let hourMillis: Int64 = 3_600_000
    /// Maximum number of earlier starts that are examined. No sender should start that many cards on one phone.
    private static let startsLookedAtMax = 1_024

    /// Delivers a push to the phone behind a token. `content` is `nil` for a push that the phone cannot decode.
    ///
    /// If phones have a budget, all cards that starts have put up on one phone share it. Apple grants a budget to an
    /// app on a device. Without a budget, each card counts its own pushes, as a worker does.
    /// - Returns: `nil` if the phone cannot decode the push, the token is of the other kind, or the `start` names an
    ///   unknown channel.
    mutating func push(
        _ content: PushContent?, body: Span<UInt8>, toToken token: Int, app: String?, priority: Int,
        messageID: (UInt64, UInt64) = (0, 0), nowMillis: Int64, rules: DeviceRules
    ) -> Device.Reaction? {
        let reaction = self.pushToCard(
            content, body: body, toToken: token, app: app, priority: priority, messageID: messageID,
            nowMillis: nowMillis, rules: rules)
        guard rules.budgetPerHour != nil, priority == 10 else { return reaction }
        let card = Int(self.tokens[token].device)
        for other in self.devicesOfPhone(withToken: token) where other != card {
            self.devices[other].spendOnAnotherCard(nowMillis: nowMillis)
        }
        return reaction
    }

    private mutating func pushToCard(
        _ content: PushContent?, body: Span<UInt8>, toToken token: Int, app: String?, priority: Int,
        messageID: (UInt64, UInt64), nowMillis: Int64, rules: DeviceRules
    ) -> Device.Reaction? {
        let entry = self.tokens[token]
        let isStart = content?.event == .start
        let isOfOtherKind = entry.kind == (isStart ? .update : .start) && content != nil
        if let content, isStart, !isOfOtherKind {
            return self.start(
                content, body: body, with: token, app: app, priority: priority, messageID: messageID,
                nowMillis: nowMillis, rules: rules)
        }
        return self.change(
            Int(entry.device), isOfOtherKind ? nil : content, body: body, by: .token, priority: priority,
            nowMillis: nowMillis, rules: rules)
    }

    private mutating func start(
        _ content: PushContent, body: Span<UInt8>, with token: Int, app: String?, priority: Int,
        messageID: (UInt64, UInt64), nowMillis: Int64, rules: DeviceRules
    ) -> Device.Reaction? {
        let device = Int(self.tokens[token].device)
        let channel = self.startChannel(content, body: body, app: app)
        guard channel != .unknown else {
            self.devices[device].undecodable(priority: priority, nowMillis: nowMillis)
            return nil
        }
        var record = StartRecord(
            atMillis: nowMillis, stampSeconds: content.stampSeconds, messageID: messageID, token: Int32(token),
            previous: self.tokens[token].start,
            startsWithinHour: UInt16(clamping: self.startCount(token, since: nowMillis - Self.hourMillis) + 1))
        guard !self.isOverStartBudget(token, nowMillis: nowMillis, rules: rules) else {
            self.devices[device].undecodable(priority: priority, nowMillis: nowMillis)
            self.add(record)
            self.startsOverBudgetCount += 1
            return .throttled
        }
        let isFirstCard = self.devices[device].phase == .untouched
        var card = isFirstCard ? self.devices[device] : self.devices[device].nextCard()
        var reaction = card.apply(
            content, body: body, priority: priority, nowMillis: nowMillis, rules: rules, sharing: &self.contents)
        guard reaction == .shown || reaction == .shownAsSecondCard else {
            self.devices[device].undecodable(priority: priority, nowMillis: nowMillis)
            return reaction
        }
        if self.hasLivingCard(token, nowMillis: nowMillis, rules: rules) { reaction = .shownAsSecondCard }
        // Without room for another card, the new card replaces the newest.
        let reusesDevice = isFirstCard || self.devices.count >= self.devicesMax
        let index = reusesDevice ? device : self.devices.count
        if reusesDevice { self.devices[device] = card } else { self.devices.append(card) }
        self.tokens[token].device = Int32(index)
        record.card = Int32(index)
        self.add(record)
        switch channel {
        case .channel(let number): self.listen(index, to: number)
        // A new card listens to nothing.
        case .none, .unknown: self.stopListening(index)
        }
        return reaction
    }

    private mutating func add(_ record: StartRecord) {
        self.starts.append(record)
        self.tokens[Int(record.token)].start = Int32(self.starts.count - 1)
    }

    // MARK: Looking back

    /// Passes the starts with a token to `body`, newest first, until `body` returns `false`.
    private func eachStart(_ token: Int, _ body: (StartRecord) -> Bool) {
        guard self.isStartToken(token) else { return }
        var index = self.tokens[token].start
        for _ in 0..<Self.startsLookedAtMax where index >= 0 {
            let record = self.starts[Int(index)]
            guard body(record) else { return }
            index = record.previous
        }
    }

    /// Whether a token is for starts, by its kind or because starts were sent to it.
    func isStartToken(_ token: Int) -> Bool {
        let entry = self.tokens[token]
        return entry.kind == .start || (entry.kind == .any && entry.start >= 0)
    }

    /// The kind of a token, as it was set. A token without a set kind counts as a push-to-start token after its first
    /// `start`.
    func kind(ofToken token: Int) -> TokenKind { self.isStartToken(token) ? .start : self.tokens[token].kind }

    private func startCount(_ token: Int, since millis: Int64) -> Int {
        var count = 0
        self.eachStart(token) { record in
            guard record.atMillis > millis else { return false }
            count += 1
            return true
        }
        return count
    }

    /// Whether the phone would silently drop a further start.
    func isOverStartBudget(_ token: Int, nowMillis: Int64, rules: DeviceRules) -> Bool {
        guard let budget = rules.startBudget else { return false }
        var shown = 0
        self.eachStart(token) { record in
            guard record.atMillis > nowMillis - rules.startWindowSeconds * 1_000, shown < budget else { return false }
            if record.card >= 0 { shown += 1 }
            return true
        }
        return shown >= budget
    }

    private func hasLivingCard(_ token: Int, nowMillis: Int64, rules: DeviceRules) -> Bool {
        let ownDevice = Int(self.tokens[token].device)
        if self.devices[ownDevice].isActive(atSeconds: nowMillis / 1_000, rules: rules) { return true }
        var lives = false
        self.eachStart(token) { record in
            if record.card >= 0, self.devices[Int(record.card)].isActive(atSeconds: nowMillis / 1_000, rules: rules) {
                lives = true
            }
            return !lives
        }
        return lives
    }

    /// Moves the starts of a phone to its new push-to-start token.
    mutating func moveStarts(from old: Int, to new: Int) {
        guard self.isStartToken(old) else { return }
        var index = self.tokens[old].start
        for _ in 0..<Self.startsLookedAtMax where index >= 0 {
            self.starts[Int(index)].token = Int32(new)
            index = self.starts[Int(index)].previous
        }
        self.tokens[old].start = -1
    }

    /// The device of a token, and the other cards on the same phone.
    func devicesOfPhone(withToken token: Int) -> [Int] {
        let entry = self.tokens[token]
        var devices = [Int(entry.device)]
        guard entry.start >= 0 else { return devices }
        let startToken = Int(self.starts[Int(entry.start)].token)
        self.eachStart(startToken) { record in
            if record.card >= 0, !devices.contains(Int(record.card)) { devices.append(Int(record.card)) }
            return true
        }
        return devices
    }

    /// Whether the card of an update token belongs to a push-to-start token that is alive.
    func isCountedWithItsPhone(_ token: Int) -> Bool {
        let start = self.tokens[token].start
        return start >= 0 && self.tokens[Int(self.starts[Int(start)].token)].state == .alive
    }

    /// The results of the starts with one token.
    struct StartSummary {
        var cardCount = 0
        var overBudgetCount = 0
        var startsPerHourPeak = 0
    }

    /// - Parameter body: called with the device index of each card that a start has put up. If there is none, called
    ///   with the token's own device.
    func eachCard(ofToken token: Int, _ body: (Int) -> Void) -> StartSummary {
        var summary = StartSummary()
        self.eachStart(token) { record in
            summary.startsPerHourPeak = max(summary.startsPerHourPeak, Int(record.startsWithinHour))
            if record.card >= 0 {
                summary.cardCount += 1
                body(Int(record.card))
            } else {
                summary.overBudgetCount += 1
            }
            return true
        }
        if summary.cardCount == 0 { body(Int(self.tokens[token].device)) }
        return summary
    }

    // MARK: Update tokens

    /// Gives a card's app an update token, which it reports to its server at `dueMillis`. Does nothing for a start that
    /// put up no card.
    mutating func giveUpdateToken(_ token: Int, toCardOf start: Int32, dueMillis: Int64) {
        guard start >= 0, self.starts[Int(start)].card >= 0 else { return }
        self.starts[Int(start)].updateToken = Int32(token)
        self.updateTokens.add(UpdateTokenFeed.Entry(dueMillis: dueMillis, token: Int32(token), start: start))
    }

    /// Copies of the starts with a push-to-start token, oldest first. Empty for any other token.
    func simulatedStarts(ofToken token: Int) -> [SimulatedStart] {
        var starts: [SimulatedStart] = []
        var number = Int(self.tokens[token].start)
        self.eachStart(token) { record in
            starts.append(
                SimulatedStart(
                    activity: number + 1, atMillis: record.atMillis, stampSeconds: record.stampSeconds,
                    messageID: MessageID.text(record.messageID),
                    card: record.card < 0 ? nil : self.devices[Int(record.card)],
                    updateToken: record.updateToken < 0
                        ? nil : TokenHex.encode(self.tokens.token(Int(record.updateToken))),
                    startsWithinHour: Int(record.startsWithinHour)))
            number = Int(record.previous)
            return true
        }
        return starts.reversed()
    }
}
