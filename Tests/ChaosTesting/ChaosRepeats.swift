import APNSSimulator
import DeviceModel

/// Counts the broadcasts that bring a phone at high priority what it was pushed by its token just before it began to listen, and the first push to a
/// new token that brings what the one before has brought. The phones themselves count what comes both ways only from there on. Each version is within the budget once, and reaches such a phone twice.
struct ChaosRepeats {
    /// Tokens of phones that have begun to listen since the last broadcast of a channel, by its id.
    private var beginners: [String: Set<String>] = [:]
    /// Tokens that phones have got in place of another one, and that nothing was pushed to yet. Another partition has them, which cannot know what
    /// the token before was sent.
    private var newTokens: Set<String> = []
    /// By token.
    private(set) var counts: [String: Int] = [:]

    /// Takes what happens next, before the phones do.
    mutating func take(_ entry: JournalEntry, on phones: JournaledPhones) {
        self.take(entry) { phones.device(token: $0)?.device.stampSeconds }
    }

    /// The same.
    /// - Parameter stamp: of what the phone behind a token shows, seconds since 1970; `nil`: it shows nothing.
    mutating func take(_ entry: JournalEntry, stamp: (_ token: String) -> Int64?) {
        switch entry {
        case .listening(let token, let channel):
            for id in self.beginners.keys { self.beginners[id]?.remove(token) }
            if let channel { self.beginners[channel, default: []].insert(token) }
        case .broadcast(_, let channel, let priority, _, let body):
            guard let beginners = self.beginners.removeValue(forKey: channel), priority == 10,
                let content = try? PayloadReader.read(body.span)
            else { return }
            for token in beginners {
                guard let shown = stamp(token), shown >= content.stampSeconds else { continue }
                self.counts[token, default: 0] += 1
            }
        case .rotation(let old, let new, _):
            self.newTokens.insert(new)
            // The phone is the same: what came to it twice before counts for its new token.
            self.counts[new] = self.counts[old]
            for id in self.beginners.keys where self.beginners[id]?.remove(old) != nil {
                self.beginners[id]?.insert(new)
            }
        case .push(_, let token, _, let priority, let body):
            guard self.newTokens.remove(token) != nil, priority == 10, let shown = stamp(token),
                let content = try? PayloadReader.read(body.span), shown >= content.stampSeconds
            else { return }
            self.counts[token, default: 0] += 1
        case .status, .channel, .channelDeletion, .presence: break
        }
    }
}
