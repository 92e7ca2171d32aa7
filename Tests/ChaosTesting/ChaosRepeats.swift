import APNSSimulator
import DeviceModel

/// Counts high-priority repeats that the simulated phones do not recognise. A worker counts a version once for a
/// member's budget, but the phone gets it twice.
///
/// - A broadcast may bring what a push brought just before the phone began to listen.
/// - The first push to a new token may bring what a push to the former token brought.
struct ChaosRepeats {
    /// Tokens of phones that have begun to listen since the last broadcast of a channel, by the channel's id.
    private var beginners: [String: Set<String>] = [:]
    /// New tokens that have replaced another token and have not got a push yet. Another partition may serve a new
    /// token. It cannot know what the former token was sent.
    private var newTokens: Set<String> = []
    /// Number of repeats by token.
    private(set) var counts: [String: Int] = [:]

    /// Takes the next entry of the journal. The phones take the entry only afterwards.
    mutating func take(_ entry: JournalEntry, on phones: JournaledPhones) {
        self.take(entry) { phones.device(token: $0)?.device.stampSeconds }
    }

    /// Takes the next entry of the journal. The phones take the entry only afterwards.
    /// - Parameter stamp: stamp of what the phone behind a token shows, seconds since 1970, or `nil` when it shows
    ///   nothing.
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
            // The phone is the same, so its earlier repeats count for its new token.
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
