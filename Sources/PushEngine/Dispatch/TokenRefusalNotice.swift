/// What APNs has said about one token, for a log line. It names the token only by its hash.
public struct TokenRefusalNotice: Sendable, Equatable {
    /// What follows for the token.
    public enum Standing: Sendable, Hashable {
        /// APNs says that the token died before it was registered. The token is kept, and the push is tried again.
        case diedBeforeRegistration
        /// The token may be wrong through a fault of this worker, so it is kept for the next event.
        case doubted
        /// The token gets no more pushes.
        case dead
    }

    /// What follows for the token.
    public var standing: Standing
    /// The app's bundle id.
    public var app: String
    /// The activity, or the audience whose member has the token. Anything that looks like a token is shortened.
    public var id: String
    /// Whether the token is that of a member of an audience.
    public var isOfMember: Bool
    /// The token's hash, as outcomes have it.
    public var tokenHash: UInt64
    /// Status of APNs' answer.
    public var status: UInt16
    /// Reason in APNs' answer, as APNs spells it.
    public var reason: String
    /// When the token died, as APNs says, milliseconds since 1970; `nil`: APNs does not say.
    public var diedMillis: Int64?
    /// When the token was registered, milliseconds since 1970.
    public var registeredMillis: Int64
    /// Number of consecutive verdicts that the token died before its registration, this one included; 0: this verdict
    /// says something else.
    public var earlierDeaths: Int
    /// Time until the push is tried again; `nil`: it is not tried with this token.
    public var retryMillis: Int64?

    /// Maximum number of consecutive verdicts "the token died before its registration" that are not believed. The next
    /// one counts like any other verdict about a token.
    public static var earlierDeathsIgnoredMax: Int { Int(ShardCore.earlierDeathsIgnoredMax) }
}

/// Notices about refused tokens that the loop has not taken yet. A few are enough for a log, so further ones are
/// dropped: thousands of tokens may die in one turn.
struct TokenRefusalNotices {
    static let countMax = 8

    private(set) var waiting: [TokenRefusalNotice] = []
    var hasRoom: Bool { self.waiting.count < Self.countMax }

    /// Keeps a notice if there is room.
    mutating func keep(_ notice: TokenRefusalNotice) {
        if self.hasRoom { self.waiting.append(notice) }
    }

    /// Hands over the notices.
    mutating func take() -> [TokenRefusalNotice] {
        defer { self.waiting.removeAll(keepingCapacity: true) }
        return self.waiting
    }
}

extension TokenRefusal {
    /// What follows for the token, for the log.
    var noticed: TokenRefusalNotice.Standing {
        switch self {
        case .dead: .dead
        case .doubted: .doubted
        case .earlier: .diedBeforeRegistration
        }
    }
}
