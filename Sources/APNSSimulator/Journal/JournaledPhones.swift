public import DeviceModel

/// The phones a journal tells of, as the simulator that wrote it has them.
public struct JournaledPhones {
    var store: DeviceStore
    private let rules: DeviceRules

    /// - Parameter rules: those of the simulator that wrote the journal.
    public init(rules: DeviceRules = .phone) {
        self.init(configuration: SimulatorConfiguration(), rules: rules)
    }

    init(configuration: SimulatorConfiguration, rules: DeviceRules) {
        self.store = DeviceStore(devicesMax: configuration.devicesMax)
        self.rules = rules
    }

    /// Reads a journal to its end, as it is now.
    public mutating func read(_ reader: inout JournalReader) throws(JournalReader.Fault) {
        while let entry = try reader.next() { self.apply(entry) }
    }

    /// - Returns: what the phone made of a push it could decode; `nil`: it was none, or it could not.
    @discardableResult
    public mutating func apply(_ entry: JournalEntry) -> Device.Reaction? {
        switch entry {
        case .standing(let token, let standing):
            if let bytes = TokenText.decode(token) { self.store.setToken(bytes, standing) }
            return nil
        case .rotation(let old, let new, let standing):
            if let oldBytes = TokenText.decode(old), let newBytes = TokenText.decode(new) {
                self.store.rotate(from: oldBytes, to: newBytes, oldStanding: standing)
            }
            return nil
        case .push(let atMillis, let token, let topic, let priority, let body):
            return self.push(atMillis: atMillis, token: token, topic: topic, priority: priority, body: body)
        }
    }

    private mutating func push(atMillis: Int64, token: String, topic: String, priority: Int, body: [UInt8])
        -> Device.Reaction?
    {
        guard let bytes = TokenText.decode(token) else { return nil }
        let hash = TokenTable.hash(bytes.span)
        guard let index = self.store.tokens.find(bytes.span, hash: hash) ?? self.store.addDevice(bytes.span, hash: hash)
        else { return nil }
        if self.store.tokens[index].topic < 0, let topic = self.store.topicIndex(Array(topic.utf8).span) {
            self.store.tokens[index].topic = topic
        }
        self.store.tokens[index].accepted &+= 1
        self.store.tokens[index].lastPushMillis = atMillis
        let device = Int(self.store.tokens[index].device)
        guard let content = try? PayloadReader.read(body.span) else {
            self.store.devices[device].undecodable(priority: priority, nowMillis: atMillis)
            return nil
        }
        return self.store.devices[device].apply(
            content, body: body.span, priority: priority, nowMillis: atMillis, rules: self.rules)
    }

    /// The phone behind a token, in hex. `nil`: the journal knows no such token.
    public func device(token: String) -> SimulatedDevice? {
        guard let bytes = TokenText.decode(token) else { return nil }
        return self.store.tokens.find(bytes.span, hash: TokenTable.hash(bytes.span)).map {
            self.store.simulatedDevice($0)
        }
    }

    /// Tokens the journal tells of.
    public var tokenCount: Int { self.store.tokens.count }
}
