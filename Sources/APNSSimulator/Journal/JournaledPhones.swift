public import DeviceModel

/// The phones of a journal, as the simulator that wrote it has them.
public struct JournaledPhones {
    var store: DeviceStore
    private let rules: DeviceRules
    /// When the last push arrived. A rotation of a token is taken to happen at this time, because its entry has no
    /// time.
    private var newestMillis: Int64 = 0

    /// - Parameter rules: those of the simulator that wrote the journal.
    public init(rules: DeviceRules = .phone) {
        self.init(configuration: SimulatorConfiguration(), rules: rules)
    }

    init(configuration: SimulatorConfiguration, rules: DeviceRules) {
        self.store = DeviceStore(devicesMax: configuration.devicesMax)
        self.rules = rules
    }

    /// Reads a journal to its present end.
    public mutating func read(_ reader: inout JournalReader) throws(JournalReader.Fault) {
        while let entry = try reader.next() { self.apply(entry) }
    }

    /// - Returns: the phone's reaction to a push that it could decode; `nil` otherwise.
    @discardableResult
    public mutating func apply(_ entry: JournalEntry) -> Device.Reaction? {
        switch entry {
        case .push(let atMillis, let token, let topic, let priority, let body):
            return self.push(atMillis: atMillis, token: token, topic: topic, priority: priority, body: body)
        case .status(let token, let status):
            if let bytes = TokenHex.decode(token) { self.store.setToken(bytes, status) }
        case .rotation(let old, let new, let status):
            if let oldBytes = TokenHex.decode(old), let newBytes = TokenHex.decode(new) {
                self.store.rotate(from: oldBytes, to: newBytes, oldStatus: status, nowMillis: self.newestMillis)
            }
        case .channel(let atMillis, let id, let app, let storage):
            guard self.store.channels.number(id: Array(id.utf8)) == nil else { return nil }
            _ = self.store.channels.add(id: Array(id.utf8), app: app, storage: storage, atMillis: atMillis)
        case .channelDeletion(let atMillis, let id):
            if let number = self.store.channels.number(id: Array(id.utf8)) {
                self.store.deleteChannel(number, atMillis: atMillis)
            }
        case .broadcast(let atMillis, let channel, let priority, let expirationSeconds, let body):
            guard let number = self.store.channels.number(id: Array(channel.utf8)) else { return nil }
            _ = self.store.publish(
                try? PayloadReader.read(body.span), body: body, to: number, priority: priority,
                expirationSeconds: expirationSeconds, nowMillis: atMillis, rules: self.rules)
        case .listening(let token, let channel):
            guard let device = self.deviceIndex(token) else { return nil }
            if let channel {
                if let number = self.store.channels.number(id: Array(channel.utf8)) {
                    self.store.listen(device, to: number)
                }
            } else {
                self.store.stopListening(device)
            }
        case .presence(let atMillis, let token, let isOnline):
            guard let bytes = TokenHex.decode(token), let index = self.store.findOrAdd(bytes) else { return nil }
            for card in self.store.devicesOfPhone(withToken: index) {
                if isOnline {
                    _ = self.store.comeBack(card, nowMillis: atMillis, rules: self.rules)
                } else {
                    self.store.leave(card)
                }
            }
        }
        return nil
    }

    private mutating func deviceIndex(_ token: String) -> Int? {
        guard let bytes = TokenHex.decode(token) else { return nil }
        return self.store.findOrAdd(bytes).map { Int(self.store.tokens[$0].device) }
    }

    private mutating func push(atMillis: Int64, token: String, topic: String, priority: Int, body: [UInt8])
        -> Device.Reaction?
    {
        guard let bytes = TokenHex.decode(token), let index = self.store.findOrAdd(bytes) else { return nil }
        if self.store.tokens[index].topic < 0, let topic = self.store.topicIndex(Array(topic.utf8).span) {
            self.store.tokens[index].topic = topic
        }
        self.newestMillis = atMillis
        self.store.tokens[index].accepted &+= 1
        self.store.tokens.pushed(index, nowMillis: atMillis)
        return self.store.push(
            try? PayloadReader.read(body.span), body: body.span, toToken: index, app: nil,
            priority: priority, nowMillis: atMillis, rules: self.rules)
    }

    /// The phone behind a token, in hex; `nil` if the journal does not have the token.
    public func device(token: String) -> SimulatedDevice? {
        guard let bytes = TokenHex.decode(token) else { return nil }
        return self.store.tokens.find(bytes.span, hash: TokenTable.hash(bytes.span)).map {
            self.store.simulatedDevice($0)
        }
    }

    /// Number of tokens in the journal.
    public var tokenCount: Int { self.store.tokens.count }
}
