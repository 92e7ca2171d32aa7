import APNSProtocol

/// Decides when a source is asked for the next token, and judges the present token. The caller passes the time and
/// random numbers, and asks the source.
///
/// A token is renewed after seven to eight tenths of its life, at a random moment for each process. A file is read
/// every two seconds instead. A source that fails is asked again within three seconds. So clients can log in within ten
/// seconds after the source works again.
struct TokenRenewal: Equatable, Sendable {
    /// The state of a token and its source.
    enum Validity: Equatable, Sendable {
        /// The source has not answered yet.
        case unknown
        /// The token is valid, and the source worked when it was last asked.
        case good
        /// The token is valid, but the source gives no new one.
        case worn(TokenFault)
        /// There is no valid token.
        case missing(TokenFault)
    }

    /// The latest renewal of a token, as a share of its life.
    static let latestShare = 0.8
    /// The earliest renewal of a token, as a share of its life.
    static let earliestShare = 0.7
    /// The share of a token's life after which a warning says that the token should have been replaced. Kubernetes
    /// replaces its own tokens after four fifths of their lives, and checks them every one or two minutes.
    static let overdueShare = 0.95
    /// Interval at which a watched source, such as a file, is asked.
    static let watchMillis: Int64 = 2_000
    /// Minimum interval between two requests, even if tokens live for a shorter time.
    static let distanceMillis: Int64 = 1_000
    static let backoffMillisMax: Int64 = 3_000

    private struct Life: Equatable {
        var expiresAtMillis: Int64
        var overdueAtMillis: Int64
    }

    private var life: Life?
    private var fault: TokenFault?
    private var dueAtMillis = Int64.min
    private var backoff = JitteredBackoff(millisMin: Self.distanceMillis, millisMax: Self.backoffMillisMax)

    /// Time until the source is asked, milliseconds; 0: now. All times are on the steady clock.
    func millisUntilDue(nowMillis: Int64) -> Int64 {
        self.dueAtMillis <= nowMillis ? 0 : self.dueAtMillis - nowMillis
    }

    /// Remaining life of the token; negative: time since it expired; `nil`: there was none yet.
    func leftMillis(nowMillis: Int64) -> Int64? { self.life.map { $0.expiresAtMillis - nowMillis } }

    /// Remembers that the source gave a token.
    /// - Parameters:
    ///   - leftMillis: remaining life of the token.
    ///   - isNew: whether it differs from the previous one.
    ///   - isWatched: whether somebody else decides when the next one arrives.
    mutating func got(
        leftMillis: Int64, isNew: Bool, isWatched: Bool, nowMillis: Int64,
        using random: inout some RandomNumberGenerator
    ) {
        self.backoff.succeeded()
        self.fault = nil
        let overdue = Int64(Double(leftMillis) * Self.overdueShare)
        let overdueAtMillis = isNew ? nowMillis + overdue : self.life?.overdueAtMillis ?? nowMillis + overdue
        self.life = Life(expiresAtMillis: nowMillis + leftMillis, overdueAtMillis: overdueAtMillis)
        let share = Double.random(in: Self.earliestShare...Self.latestShare, using: &random)
        let renewMillis = isWatched ? Self.watchMillis : Int64(Double(leftMillis) * share)
        self.dueAtMillis = nowMillis + max(Self.distanceMillis, renewMillis)
    }

    /// Remembers that the source gave no token.
    mutating func failed(_ fault: TokenFault, nowMillis: Int64, using random: inout some RandomNumberGenerator) {
        self.fault = fault
        self.dueAtMillis = nowMillis + self.backoff.failed(using: &random)
    }

    /// The state of the token.
    /// - Parameter late: the fault to show if the source has given no new token in time.
    func validity(nowMillis: Int64, late: TokenFault) -> Validity {
        guard let life = self.life else { return self.fault.map { .missing($0) } ?? .unknown }
        let fault = self.fault ?? (nowMillis >= life.overdueAtMillis ? late : nil)
        guard nowMillis < life.expiresAtMillis else { return .missing(fault ?? late) }
        return fault.map { .worn($0) } ?? .good
    }
}
