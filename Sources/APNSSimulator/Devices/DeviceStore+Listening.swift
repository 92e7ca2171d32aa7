import DeviceModel

/// Counts of what phones did with one or several messages.
struct Reactions {
    /// Number of phones by `Device.Reaction.rawValue`.
    var counts = Array(repeating: 0, count: Device.Reaction.allCases.count)
    /// Number of phones that could not decode the message.
    var undecodable = 0

    mutating func count(_ reaction: Device.Reaction?) {
        if let reaction { self.counts[Int(reaction.rawValue)] += 1 } else { self.undecodable += 1 }
    }
}

/// Phones that listen to channels, and phones that are away.
extension DeviceStore {
    /// What a `start` says about channels.
    enum StartChannel: Equatable {
        /// The push is not a start, or names no channel.
        case none
        case channel(Int32)
        /// The `start` names a channel that does not exist or is of another app. The phone puts up no card.
        case unknown
    }

    func startChannel(_ content: PushContent, body: Span<UInt8>, app: String?) -> StartChannel {
        guard content.event == .start, !content.inputPushChannel.isEmpty else { return .none }
        guard let id = ChannelIDCodec.read(body.extracting(content.inputPushChannel)),
            let number = self.channels.number(id: id), let channel = self.channels[number], channel.isRegistered,
            app == nil || channel.app == app
        else { return .unknown }
        return .channel(number)
    }

    /// Delivers an `update` or `end` to a card on an online phone. `content` is `nil` for a push that the phone cannot
    /// decode.
    /// - Returns: `nil` for a push that the phone cannot decode.
    mutating func change(
        _ device: Int, _ content: PushContent?, body: Span<UInt8>, by way: PhoneState.Way, priority: Int,
        nowMillis: Int64, rules: DeviceRules
    ) -> Device.Reaction? {
        guard let content else {
            self.devices[device].undecodable(priority: priority, nowMillis: nowMillis)
            return nil
        }
        let reaction = self.devices[device].apply(
            content, body: body, priority: priority, nowMillis: nowMillis, rules: rules, sharing: &self.contents)
        self.rememberWay(reaction, to: content, by: way, of: device)
        // An ended card no longer listens.
        if reaction == .shown, content.event == .end { self.stopListening(device) }
        return reaction
    }

    /// Remembers by which way a card got its content. Counts if the other way has brought the same content again.
    private mutating func rememberWay(
        _ reaction: Device.Reaction, to content: PushContent, by way: PhoneState.Way, of device: Int
    ) {
        guard let phone = self.phones[Int32(device)] else { return }
        let isTheSame: Bool
        switch reaction {
        case .shown, .shownAsSecondCard:
            self.phones[Int32(device)]?.shownBy = way
            return
        case .ignoredRepeat, .ignoredSameStamp: isTheSame = true
        case .ignoredAfterEnd: isTheSame = content.event == .end
        case .ignoredOlder, .ignoredStale, .ignoredFuture, .throttled: isTheSame = false
        }
        guard isTheSame, let shownBy = phone.shownBy, shownBy != way else { return }
        self.phones[Int32(device)]?.bothWaysCount &+= 1
        self.bothWaysCount += 1
    }

    // MARK: Listening

    /// The channel a phone listens to; `nil` for none.
    func channel(of device: Int) -> BroadcastChannel? {
        self.phones[Int32(device)].flatMap { $0.channel < 0 ? nil : self.channels[$0.channel] }
    }

    /// Makes a phone listen from now on: it does not get earlier messages of the channel.
    mutating func listen(_ device: Int, to number: Int32) {
        self.stopListening(device)
        guard let channel = self.channels[number] else { return }
        var phone = self.phones[Int32(device)] ?? PhoneState()
        phone.channel = number
        phone.listenerIndex = channel.listeners.count
        phone.heard = channel.published
        phone.shownBy = nil
        self.phones[Int32(device)] = phone
        self.channels.change(number) { channel in
            channel.listeners.append(Int32(device))
            // The activity on the channel has ended, and a new phone listens. The witness therefore starts over with a
            // new card.
            if channel.witness.phase == .ended || channel.witness.phase == .endedBySystem { channel.witness = Device() }
        }
    }

    mutating func stopListening(_ device: Int) {
        guard var phone = self.phones[Int32(device)], phone.channel >= 0 else { return }
        var moved: Int32?
        self.channels.change(phone.channel) { channel in
            let last = channel.listeners.removeLast()
            guard phone.listenerIndex < channel.listeners.count else { return }
            channel.listeners[phone.listenerIndex] = last
            moved = last
        }
        if let moved { self.phones[moved]?.listenerIndex = phone.listenerIndex }
        phone.channel = -1
        self.keep(phone, of: device)
    }

    private mutating func keep(_ phone: PhoneState, of device: Int) {
        self.phones[Int32(device)] = phone.isOrdinary ? nil : phone
    }

    mutating func deleteChannel(_ number: Int32, atMillis: Int64) {
        guard let forgotten = self.channels.delete(number, atMillis: atMillis) else { return }
        for device in forgotten.listeners {
            guard var phone = self.phones[device] else { continue }
            phone.channel = -1
            self.keep(phone, of: Int(device))
        }
    }

    /// Takes a broadcast. Listening phones that are online get it, and a channel that stores keeps it. `content` is
    /// `nil` if no phone can decode it.
    mutating func publish(
        _ content: PushContent?, body: [UInt8], to number: Int32, priority: Int, expirationSeconds: Int64,
        nowMillis: Int64, rules: DeviceRules
    ) -> Reactions {
        var reactions = Reactions()
        var listeners: [Int32] = []
        var sequence = 0
        self.channels.change(number) { channel in
            channel.published += 1
            channel.lastPublishedMillis = nowMillis
            sequence = channel.published
            if channel.storage == .mostRecent, expirationSeconds * 1_000 > nowMillis {
                let latest = nowMillis / 1_000 + ChannelStorage.storedSecondsMax
                channel.stored = StoredMessage(
                    body: body, priority: priority, sequence: sequence,
                    expirationSeconds: min(expirationSeconds, latest))
            }
            listeners = channel.listeners
        }
        for device in listeners where self.phones[device]?.isOnline ?? false {
            reactions.count(
                self.hear(
                    content, body: body.span, sequence: sequence, Int(device), priority: priority,
                    nowMillis: nowMillis, rules: rules))
        }
        return reactions
    }

    private mutating func hear(
        _ content: PushContent?, body: Span<UInt8>, sequence: Int, _ device: Int, priority: Int, nowMillis: Int64,
        rules: DeviceRules
    ) -> Device.Reaction? {
        self.phones[Int32(device)]?.heard = sequence
        self.phones[Int32(device)]?.messageCount &+= 1
        return self.change(
            device, content, body: body, by: .channel, priority: priority, nowMillis: nowMillis, rules: rules)
    }

    // MARK: Being away

    func isOnline(_ device: Int) -> Bool { self.phones[Int32(device)]?.isOnline ?? true }

    /// Stores a push for a phone that is away, and drops the previous one. An expired push is lost.
    mutating func keepWaiting(_ push: PhoneState.WaitingPush, for device: Int, nowMillis: Int64) {
        guard push.expirationSeconds * 1_000 > nowMillis else { return }
        self.phones[Int32(device)]?.waiting = push
    }

    mutating func leave(_ device: Int) {
        var phone = self.phones[Int32(device)] ?? PhoneState()
        phone.isOnline = false
        self.phones[Int32(device)] = phone
    }

    /// Takes the push that waited for a returning phone, unless it has expired.
    mutating func takeWaiting(_ device: Int, nowMillis: Int64) -> PhoneState.WaitingPush? {
        guard let push = self.phones[Int32(device)]?.waiting else { return nil }
        self.phones[Int32(device)]?.waiting = nil
        return push.expirationSeconds * 1_000 > nowMillis ? push : nil
    }

    /// Handles the return of a phone: it gets its channel's stored message, unless it has that or a newer one, or the
    /// message has expired.
    mutating func comeBack(_ device: Int, nowMillis: Int64, rules: DeviceRules) -> Reactions {
        var reactions = Reactions()
        guard var phone = self.phones[Int32(device)], !phone.isOnline else { return reactions }
        phone.isOnline = true
        self.keep(phone, of: device)
        guard let stored = self.channels[phone.channel]?.stored, stored.sequence > phone.heard,
            stored.expirationSeconds * 1_000 > nowMillis
        else { return reactions }
        let content = try? PayloadReader.read(stored.body.span)
        reactions.count(
            self.hear(
                content, body: stored.body.span, sequence: stored.sequence, device, priority: stored.priority,
                nowMillis: nowMillis, rules: rules))
        return reactions
    }
}
