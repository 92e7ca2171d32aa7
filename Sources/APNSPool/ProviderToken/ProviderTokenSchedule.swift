public import PushModel

/// Decides when the provider token of one key is signed again, and with which issue time. There is one schedule for
/// each private key of a process. Tokens of another key go to new connections only, so the limit of 20 minutes starts
/// over for that key.
///
/// Apple's rules: a token is valid for 60 minutes from its issue time, and may change at most once in 20 minutes. Our
/// choices on top: tokens are renewed at 45 minutes. All workers share a grid of issue times, with a point every 45
/// minutes. So workers behind one address present one issue time at a time. A process that starts near the end of a
/// period takes a point of a finer grid, and joins the common grid 20 minutes later.
///
/// Age is counted on the steady clock, so a step of the wall clock does not change a token's age. If an issue time was
/// wrong, APNs' answers show it. A refused token is replaced at once. A connection may not change tokens that soon, so
/// the new token goes to new connections, and the old connections are retired.
public struct ProviderTokenSchedule: Equatable, Sendable {
    /// What to do about the current token.
    public enum Decision: Equatable, Sendable {
        /// Keep the current token.
        case keep
        /// Sign with this issue time (`iat`), then call `signed`. `isAheadOfSchedule`: the token came sooner than a
        /// connection may change tokens, so only connections that begin afterwards may see it.
        case sign(issuedAtSeconds: Int64, isAheadOfSchedule: Bool)
        /// Exchange the current token with the previous one, then call `exchanged`.
        case usePrevious
    }

    /// Age at which a token is renewed, and the distance between points of the grid of issue times.
    public static let renewalAgeSeconds: Int64 = 2_700
    /// Least time between two new tokens, by Apple's rules.
    public static let renewalDistanceSeconds: Int64 = 1_200
    /// Distance between points of the finer grid, for a process that starts near the end of a period.
    public static let fineGridSeconds: Int64 = 300
    /// Age up to which an older token may be used again. Apple refuses tokens older than 3,600 s.
    public static let ageSecondsMax: Int64 = 3_300
    /// Distance between points of the finest grid, for tokens that are signed because APNs refused the previous one.
    public static let exactGridSeconds: Int64 = 60
    /// Maximum time that a renewal waits for the next point of the grid.
    public static let gridPatienceSeconds: Int64 = 60
    /// The wall clock counts as set if it has moved by more than this against the steady clock since signing.
    public static let clockStepSecondsMin: Int64 = 120

    private struct Issue: Equatable, Sendable {
        /// The issue time in steady milliseconds, converted from wall time when the token was signed.
        var bornMillis: Int64
        var renewAtMillis: Int64
    }
    private var current: Issue?
    private var previous: Issue?
    /// Earliest steady time of the next regular token.
    private var notBeforeMillis: Int64 = .min
    /// Earliest steady time of the next token ahead of schedule. An answer of APNs may require such a token, for new
    /// connections.
    private var noExceptionBeforeMillis: Int64 = .min
    /// Whether our clock seems slow, because APNs called a token expired that was young by our clock. Older points of
    /// the grid may then be too old. The doubt ends when the clock is set.
    private var isClockDoubted = false
    private var wantsNewToken = false
    /// Wall time minus steady time when the newest token was signed, milliseconds.
    private var clockOffsetMillis: Int64 = 0
    /// Whether the older of two tokens is in use, because APNs said that the newer one was too soon.
    private var isReverted = false

    /// A schedule before its first token: the first call of `due` decides to sign.
    public init() {}

    /// Decides what is due now. Call it at start and then about once a second.
    public func due(now: EngineTime) -> Decision {
        guard let current = self.current else { return self.sign(now: now) }
        if self.isReverted, now.steadyMillis >= current.renewAtMillis, let newer = self.previous,
            self.ageSeconds(of: newer, now: now) < Self.renewalAgeSeconds
        {
            return .usePrevious
        }
        guard self.wantsNewToken || now.steadyMillis >= current.renewAtMillis, now.steadyMillis >= self.notBeforeMillis
        else {
            return .keep
        }
        // A small correction of the clock must not make the renewal miss the grid.
        let untilGridSeconds = Self.renewalAgeSeconds - Self.remainder(now.wallSeconds, Self.renewalAgeSeconds)
        let mayWait = now.steadyMillis < current.renewAtMillis + Self.gridPatienceSeconds * 1_000
        if !self.wantsNewToken, mayWait, untilGridSeconds <= Self.gridPatienceSeconds { return .keep }
        return self.sign(now: now)
    }

    private func sign(now: EngineTime) -> Decision {
        .sign(
            issuedAtSeconds: Self.issueTime(
                wallSeconds: now.wallSeconds, isClockDoubted: self.isClockDoubted && !self.wasClockSet(now)),
            isAheadOfSchedule: false)
    }

    /// Whether the wall clock was set since the newest token was signed.
    private func wasClockSet(_ now: EngineTime) -> Bool {
        let stepMillis = (now.wallMillis - now.steadyMillis) - self.clockOffsetMillis
        return stepMillis.magnitude > UInt64(Self.clockStepSecondsMin * 1_000)
    }

    /// Takes a newly signed token with this issue time. It is used from now on.
    public mutating func signed(issuedAtSeconds: Int64, now: EngineTime) {
        let bornMillis = now.steadyMillis - (now.wallMillis - issuedAtSeconds * 1_000)
        let distanceMillis = Self.renewalDistanceSeconds * 1_000
        let isOnGrid = issuedAtSeconds.isMultiple(of: Self.renewalAgeSeconds)
        if self.wasClockSet(now) { self.isClockDoubted = false }
        self.clockOffsetMillis = now.wallMillis - now.steadyMillis
        // A token that APNs refuses is not used again.
        self.previous = self.wantsNewToken ? nil : self.current
        self.current = Issue(
            bornMillis: bornMillis,
            renewAtMillis: isOnGrid ? bornMillis + Self.renewalAgeSeconds * 1_000 : now.steadyMillis + distanceMillis)
        self.notBeforeMillis = now.steadyMillis + distanceMillis
        self.wantsNewToken = false
        self.isReverted = false
    }

    /// Handles APNs' answer that the current token is expired. A new token is due at once if the current one was signed
    /// 20 minutes ago or earlier. Otherwise the new token is ahead of schedule, for new connections only. There is at
    /// most one such token in 20 minutes.
    public mutating func expiredReported(now: EngineTime) -> Decision {
        guard self.current != nil else { return self.due(now: now) }
        if self.isReverted {
            // The older of two tokens has expired, so the newer one returns.
            self.current?.renewAtMillis = now.steadyMillis
            return self.due(now: now)
        }
        self.wantsNewToken = true
        self.isClockDoubted = !self.wasClockSet(now)
        return self.signAfterRefusal(now: now)
    }

    /// Handles APNs' refusal of our credentials. If the wall clock was set since signing, the token's issue time was
    /// wrong, and a new token may help. Otherwise the key is at fault, and no token would help.
    public mutating func invalidReported(now: EngineTime) -> Decision {
        guard self.current != nil, self.wasClockSet(now) else { return .keep }
        self.wantsNewToken = true
        return self.signAfterRefusal(now: now)
    }

    private mutating func signAfterRefusal(now: EngineTime) -> Decision {
        guard now.steadyMillis < self.notBeforeMillis else { return self.sign(now: now) }
        guard now.steadyMillis >= self.noExceptionBeforeMillis else { return .keep }
        self.noExceptionBeforeMillis = now.steadyMillis + Self.renewalDistanceSeconds * 1_000
        return .sign(
            issuedAtSeconds: now.wallSeconds - Self.remainder(now.wallSeconds, Self.exactGridSeconds),
            isAheadOfSchedule: true)
    }

    /// Handles APNs' answer that the token was changed too often. The previous token is used again while it is young
    /// enough. The newer token returns after 20 minutes, or when the older token is too old. Nothing is signed for 20
    /// minutes.
    public mutating func tooManyUpdatesReported(now: EngineTime) -> Decision {
        self.notBeforeMillis = max(self.notBeforeMillis, now.steadyMillis + Self.renewalDistanceSeconds * 1_000)
        self.wantsNewToken = false
        guard !self.isReverted, let previous = self.previous,
            self.ageSeconds(of: previous, now: now) < Self.ageSecondsMax
        else {
            return .keep
        }
        return .usePrevious
    }

    /// Exchanges the current token and the previous one, as `usePrevious` asked.
    public mutating func exchanged(now: EngineTime) {
        swap(&self.current, &self.previous)
        self.isReverted.toggle()
        guard self.isReverted, let older = self.current else { return }
        self.current?.renewAtMillis = min(
            now.steadyMillis + Self.renewalDistanceSeconds * 1_000, older.bornMillis + Self.ageSecondsMax * 1_000)
    }

    /// Age of the current token, seconds; `nil` before the first. APNs sees the same age if the wall clock was right at
    /// signing.
    public func ageSeconds(now: EngineTime) -> Int64? { self.current.map { self.ageSeconds(of: $0, now: now) } }

    private func ageSeconds(of issue: Issue, now: EngineTime) -> Int64 { (now.steadyMillis - issue.bornMillis) / 1_000 }

    /// The issue time of a token that is signed now. It is the newest point of the grid if renewal is then at least 20
    /// minutes away. Otherwise it is the newest point of the fine grid. If the clock seems slow, it is the newest point
    /// of the exact grid.
    static func issueTime(wallSeconds: Int64, isClockDoubted: Bool = false) -> Int64 {
        if isClockDoubted { return wallSeconds - Self.remainder(wallSeconds, Self.exactGridSeconds) }
        let onGrid = wallSeconds - Self.remainder(wallSeconds, Self.renewalAgeSeconds)
        if wallSeconds - onGrid <= Self.renewalAgeSeconds - Self.renewalDistanceSeconds { return onGrid }
        return wallSeconds - Self.remainder(wallSeconds, Self.fineGridSeconds)
    }

    /// The remainder, never negative, even before 1970.
    private static func remainder(_ value: Int64, _ divisor: Int64) -> Int64 {
        let remainder = value % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
