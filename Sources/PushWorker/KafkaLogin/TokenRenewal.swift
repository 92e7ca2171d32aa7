import APNSProtocol

/// Decides when a source is asked for the next token, and says how the one before stands. Told the time and given its random numbers; asks nobody.
///
/// A token is renewed in the last tenth before four fifths of its life, at a moment drawn for each process. A source that fails is asked again within
/// three seconds, for as long as it fails: when it is back, clients log in within ten.
struct TokenRenewal: Equatable, Sendable {
    /// How a token stands.
    enum Validity: Equatable, Sendable {
        /// Nobody has been asked yet.
        case unknown
        /// It is good, and so was its source when it was last asked.
        case good
        /// It is good, and there is no other.
        case worn(TokenFault)
        /// There is none that is good.
        case missing(TokenFault)
    }

    /// The share of a token's life after which it is renewed, at the latest and at the earliest.
    static let latestShare = 0.8
    static let earliestShare = 0.7
    /// The share after which a token that somebody else should have replaced is worth a word. Kubernetes replaces its own after four fifths, and
    /// looks once in one or two minutes.
    static let lateShare = 0.95
    /// A watched source is looked at so often.
    static let watchMillis: Int64 = 2_000
    /// No source is asked more often, however short its tokens live.
    static let distanceMillis: Int64 = 1_000
    static let backoffMillisMax: Int64 = 3_000

    private struct Life: Equatable {
        var expiresAtMillis: Int64
        var lateAtMillis: Int64
    }

    private var life: Life?
    private var fault: TokenFault?
    private var dueAtMillis = Int64.min
    private var backoff = JitteredBackoff(millisMin: Self.distanceMillis, millisMax: Self.backoffMillisMax)

    /// 0: now. All times are steady.
    func millisUntilDue(nowMillis: Int64) -> Int64 {
        self.dueAtMillis <= nowMillis ? 0 : self.dueAtMillis - nowMillis
    }

    /// How long the token is good for; negative: since when it is not; `nil`: there has been none.
    func leftMillis(nowMillis: Int64) -> Int64? { self.life.map { $0.expiresAtMillis - nowMillis } }

    /// The source gave a token.
    /// - Parameters:
    ///   - leftMillis: until it ends.
    ///   - isNew: it is another than before.
    ///   - isWatched: somebody else decides when the next one comes.
    mutating func got(
        leftMillis: Int64, isNew: Bool, isWatched: Bool, nowMillis: Int64,
        using random: inout some RandomNumberGenerator
    ) {
        self.backoff.succeeded()
        self.fault = nil
        let late = Int64(Double(leftMillis) * Self.lateShare)
        let lateAtMillis = isNew ? nowMillis + late : self.life?.lateAtMillis ?? nowMillis + late
        self.life = Life(expiresAtMillis: nowMillis + leftMillis, lateAtMillis: lateAtMillis)
        let share = Double.random(in: Self.earliestShare...Self.latestShare, using: &random)
        let renewMillis = isWatched ? Self.watchMillis : Int64(Double(leftMillis) * share)
        self.dueAtMillis = nowMillis + max(Self.distanceMillis, renewMillis)
    }

    /// The source gave none.
    mutating func failed(_ fault: TokenFault, nowMillis: Int64, using random: inout some RandomNumberGenerator) {
        self.fault = fault
        self.dueAtMillis = nowMillis + self.backoff.failed(using: &random)
    }

    /// - Parameter late: what is wrong with a watched source that still holds an old token.
    func validity(nowMillis: Int64, late: TokenFault) -> Validity {
        guard let life = self.life else { return self.fault.map { .missing($0) } ?? .unknown }
        let fault = self.fault ?? (nowMillis >= life.lateAtMillis ? late : nil)
        guard nowMillis < life.expiresAtMillis else { return .missing(fault ?? late) }
        return fault.map { .worn($0) } ?? .good
    }
}
