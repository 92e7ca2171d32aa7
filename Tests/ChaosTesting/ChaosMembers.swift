import APNSSimulator
import DeviceModel

/// Collects what the simulator's journal says about the members of audiences: what was pushed to each token, and when.
struct ChaosMembers {
    struct Token {
        var lastPushMillis: Int64 = .min
        /// `content-state` of the last push that the phone could read. The phone may have ignored that push.
        var lastContent: [UInt8] = []
        /// Whether the last push that the phone could read was an `end`.
        var lastWasEnd = false
        /// Number of readable pushes whose content the token had already got in a push of the same kind (`end` or not).
        var repeatedCount = 0
    }

    /// Two pushes to one token, milliseconds since 1970.
    struct Pair: Equatable {
        var token: String
        var firstMillis: Int64
        var secondMillis: Int64
    }

    /// Members' tokens, in hex, and what was pushed to each.
    private(set) var tokens: [String: Token] = [:]
    private(set) var pushCount = 0
    /// Number of readable pushes whose content their token had already got in a push of the same kind (`end` or not).
    private(set) var repeatedCount = 0
    /// Number of repeated alerts that a phone showed.
    private(set) var repeatedAlertCount = 0
    /// Pairs of pushes to one token that are closer than half of the configured distance.
    private(set) var tooClose: [Pair] = []
    private let leastMillis: Int64
    private var seen: Set<Seen> = []

    /// What was pushed to a token, as hashes. The chance that two differing pushes count as equal is about one in
    /// 10^19.
    private struct Seen: Hashable {
        let token: Int
        let what: Int
    }

    /// Begins without tokens.
    /// - Parameter distanceMillis: shortest time between two pushes to a token, as the workers are configured.
    init(distanceMillis: Int64) {
        // Half of the distance is left for differences in transit, because one push may be on its way for longer than
        // the next. Hundreds of pushes leave at once, and test machines are shared.
        self.leastMillis = distanceMillis / 2
    }

    /// Registers a member's token, before anything is pushed to it.
    mutating func know(token: String) { if self.tokens[token] == nil { self.tokens[token] = Token() } }

    /// Counts a push that APNs accepted.
    /// - Parameter reaction: the phone's reaction to the push, or `nil` when it could not read the push.
    /// - Returns: `false` when the token is not a member's.
    mutating func take(token: String, atMillis: Int64, body: [UInt8], reaction: Device.Reaction?) -> Bool {
        guard var known = self.tokens[token] else { return false }
        self.pushCount += 1
        if known.lastPushMillis != .min, atMillis - known.lastPushMillis < self.leastMillis {
            self.tooClose.append(Pair(token: token, firstMillis: known.lastPushMillis, secondMillis: atMillis))
        }
        known.lastPushMillis = atMillis
        if let reaction, let content = try? PayloadReader.read(body.span) {
            known.lastContent = Array(body[content.contentState])
            known.lastWasEnd = content.event == .end
            let (end, state) = (content.event == .end, known.lastContent)
            if !self.remembers(token, end ? [1] + state : [0] + state) {
                self.repeatedCount += 1
                known.repeatedCount += 1
            }
            if reaction == .shown, !content.alert.isEmpty, !self.remembers(token, [2] + Array(body[content.alert])) {
                self.repeatedAlertCount += 1
            }
        }
        self.tokens[token] = known
        return true
    }

    /// Remembers what was pushed to a token.
    /// - Returns: `false` when the token had already got a push with this content.
    private mutating func remembers(_ token: String, _ what: [UInt8]) -> Bool {
        self.seen.insert(Seen(token: token.hashValue, what: what.hashValue)).inserted
    }
}
