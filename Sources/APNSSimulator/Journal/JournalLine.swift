import DeviceModel

/// The line of words at the beginning of a journal's entry.
struct JournalLine {
    private static let bodyByteCountMax = 1 << 20

    /// Number of bytes of the body that follows the line; -1 for none.
    let bodyByteCount: Int
    /// The entry without its body.
    private let bare: JournalEntry

    /// Parses a line; `nil` if it begins no entry.
    init?(_ line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        var bodyByteCount = -1
        switch (words.first, words.count) {
        case ("push", 6):
            guard let atMillis = Int64(words[1]), let priority = Int(words[4]), let count = Self.byteCount(words[5])
            else { return nil }
            bodyByteCount = count
            self.bare = .push(
                atMillis: atMillis, token: String(words[2]), topic: String(words[3]), priority: priority, body: [])
        case ("token", 4):
            guard let status = Self.status(words[2], words[3]) else { return nil }
            self.bare = .status(token: String(words[1]), status)
        case ("rotate", 5):
            guard let status = Self.status(words[3], words[4]) else { return nil }
            self.bare = .rotation(old: String(words[1]), new: String(words[2]), status)
        case ("channel", 5):
            guard let atMillis = Int64(words[1]),
                let storage = UInt8(words[4]).flatMap(ChannelStorage.init(rawValue:))
            else { return nil }
            self.bare = .channel(atMillis: atMillis, id: String(words[2]), app: String(words[3]), storage: storage)
        case ("delete-channel", 3):
            guard let atMillis = Int64(words[1]) else { return nil }
            self.bare = .channelDeletion(atMillis: atMillis, id: String(words[2]))
        case ("broadcast", 6):
            guard let atMillis = Int64(words[1]), let priority = Int(words[3]), let expiration = Int64(words[4]),
                let count = Self.byteCount(words[5])
            else { return nil }
            bodyByteCount = count
            self.bare = .broadcast(
                atMillis: atMillis, channel: String(words[2]), priority: priority, expirationSeconds: expiration,
                body: [])
        case ("listen", 3):
            self.bare = .listening(token: String(words[1]), channel: words[2] == "-" ? nil : String(words[2]))
        case ("online", 3), ("offline", 3):
            guard let atMillis = Int64(words[1]) else { return nil }
            self.bare = .presence(atMillis: atMillis, token: String(words[2]), isOnline: words[0] == "online")
        default: return nil
        }
        self.bodyByteCount = bodyByteCount
    }

    /// Returns the entry with `body`. The body is ignored if the kind of entry has none.
    func entry(body: [UInt8]) -> JournalEntry {
        switch self.bare {
        case .push(let atMillis, let token, let topic, let priority, _):
            .push(atMillis: atMillis, token: token, topic: topic, priority: priority, body: body)
        case .broadcast(let atMillis, let channel, let priority, let expirationSeconds, _):
            .broadcast(
                atMillis: atMillis, channel: channel, priority: priority, expirationSeconds: expirationSeconds,
                body: body)
        case .status, .rotation, .channel, .channelDeletion, .listening, .presence: self.bare
        }
    }

    private static func byteCount(_ word: Substring) -> Int? {
        Int(word).flatMap { (0...Self.bodyByteCountMax).contains($0) ? $0 : nil }
    }

    private static func status(_ state: Substring, _ since: Substring) -> TokenStatus? {
        guard let state = UInt8(state).flatMap(TokenState.init(rawValue:)), let since = Int64(since) else { return nil }
        return TokenStatus(state: state, sinceMillis: since)
    }
}
