import APNSSimulator
import DeviceModel

/// What the simulator's journal tells of the members of audiences: what each token was pushed, and when.
struct ChaosMembers {
    struct Token {
        var lastPushMillis: Int64 = .min
        /// `content-state` of the last push, and whether it was an `end`, whatever the phone made of it.
        var lastContent: [UInt8] = []
        var lastWasEnd = false
        /// Pushes that brought it what it had been brought before.
        var repeatedCount = 0
    }

    /// Two pushes to one token, milliseconds since 1970.
    struct Pair: Equatable {
        var token: String
        var firstMillis: Int64
        var secondMillis: Int64
    }

    /// By token, in hex.
    private(set) var tokens: [String: Token] = [:]
    private(set) var pushCount = 0
    /// Pushes that brought a token what it had been brought before, and alerts among them that a phone showed.
    private(set) var repeatedCount = 0
    private(set) var repeatedAlertCount = 0
    /// Pushes that came sooner after the one before than they may.
    private(set) var tooClose: [Pair] = []
    private let leastMillis: Int64
    private var seen: Set<Seen> = []

    /// Two of the same are taken for one with a chance of one in 10^19 or so.
    private struct Seen: Hashable {
        let token: Int
        let what: Int
    }

    /// - Parameter distanceMillis: the least time between two pushes to a token, as the workers are told.
    init(distanceMillis: Int64) {
        // By the other half one push may be on its way for longer than the next: hundreds leave at once, and machines are shared.
        self.leastMillis = distanceMillis / 2
    }

    /// Tells of a member's token, before anything is pushed to it.
    mutating func know(token: String) { if self.tokens[token] == nil { self.tokens[token] = Token() } }

    /// Takes a push that APNs took.
    /// - Parameter reaction: what the phone made of it; `nil`: it could not read it.
    /// - Returns: `false`: it was to nobody's member.
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
            if !self.notes(token, end ? [1] + state : [0] + state) {
                self.repeatedCount += 1
                known.repeatedCount += 1
            }
            if reaction == .shown, !content.alert.isEmpty, !self.notes(token, [2] + Array(body[content.alert])) {
                self.repeatedAlertCount += 1
            }
        }
        self.tokens[token] = known
        return true
    }

    /// - Returns: `false`: it had this before.
    private mutating func notes(_ token: String, _ what: [UInt8]) -> Bool {
        self.seen.insert(Seen(token: token.hashValue, what: what.hashValue)).inserted
    }
}
