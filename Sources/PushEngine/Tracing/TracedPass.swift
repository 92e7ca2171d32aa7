public import APNSProtocol
public import PushModel

/// Names one traced pass. No other pass of the same engine has this number.
public struct PassTraceID: Sendable, Hashable {
    /// The number, which grows by one for each pass.
    public var rawValue: UInt64
    /// Names the pass with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What is reported of a pass: one partition brings a version of an audience, or a start, to its members. It never
/// contains a token.
public struct TracedPass: Sendable, Equatable {
    /// The identifier by which later notices name the pass.
    public var id: PassTraceID
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// The partition of the members.
    public var partition: Int32
    /// The audience's life.
    public var life: Int64
    /// Stamp that names the version within the life.
    public var stampSeconds: Int64
    /// Whether the pass starts cards: its members are push-to-start tokens.
    public var isStart: Bool
    /// Whether the pass continues where it had stopped. Another worker may have had it before, or an operator may have
    /// let it continue. Or the newer version that had replaced it has expired.
    public var isResumed: Bool
    /// When the event's record was written, milliseconds since 1970.
    public var recordMillis: Int64
    /// Context of the span that made the version, or of the event's publisher. The pass's span is its child.
    public var parent: TraceContext
}

/// One answered push of a pass.
public struct TracedMemberPush: Sendable, Equatable {
    /// The route to APNs that the push took.
    public var route: UInt16
    /// The priority with which the push left.
    public var priority: PushPriority
    /// The upper half of the UUID in `apns-id`, big-endian.
    public var apnsIDHigh: UInt64
    /// The lower half of the UUID in `apns-id`, big-endian.
    public var apnsIDLow: UInt64
    /// When the push left (steady clock).
    public var sentMillis: Int64
    /// Number of earlier attempts for this member.
    public var attempt: UInt8
    /// APNs' answer to the push.
    public var answer: PushAnswer
}

/// Why a pass is no longer traced.
public enum PassEnd: Sendable, Equatable {
    /// No member is owed what the pass brings.
    case finished
    /// A newer version has replaced what the pass brings, or a start's audience is over.
    case superseded
    /// What the pass brings has expired.
    case expired
    /// An operator has stopped the pass.
    case paused
    /// The life of the audience is over.
    case voided
    /// The partition has left. Its next owner continues the pass.
    case handedOver
}

/// The result of a pass, counted as in its outcome `pass` or `start-pass`. If another worker had the pass before, its
/// part is included.
public struct PassTally: Sendable, Equatable {
    /// Number of members by result. Use `waitingCount` instead of `MemberCounters.waiting`.
    public var counts: MemberCounters
    /// Number of members that still wait, including those whose push is unanswered.
    public var waitingCount: UInt64
    /// How often APNs gave each reason for which members were not served.
    public var refusals: [Refusal]

    /// A reason, or a status if the answer had no reason.
    public struct Refusal: Sendable, Equatable {
        /// The reason as APNs gives it.
        public var reason: String
        /// Number of members that were not served for this reason.
        public var count: UInt64
    }
}

extension PassTally {
    init(_ counts: MemberCounters, waitingCount: UInt64, refusals: RefusalCounts) {
        self.counts = counts
        self.waitingCount = waitingCount
        self.refusals = refusals.all.map {
            Refusal(reason: $0.reason.isEmpty ? "\($0.status)" : $0.reason, count: $0.count)
        }
    }
    init(_ report: CrowdReport) {
        self.init(report.counts, waitingCount: report.waitingCount, refusals: report.refusals)
    }
    init(_ report: StartReport) {
        self.init(report.counts, waitingCount: report.waitingCount, refusals: report.refusals)
    }
}
