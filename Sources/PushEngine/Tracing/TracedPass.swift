public import APNSProtocol
public import PushModel

/// Names one traced pass. No other pass of the same engine has its number.
public struct PassTraceID: Sendable, Hashable {
    /// The number, one more for each pass.
    public var rawValue: UInt64
    /// Names the pass with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What is reported of a pass: one partition brings a version of an audience, or a start, to its members. It never
/// contains a token.
public struct TracedPass: Sendable, Equatable {
    /// The identifier by which later notes name the pass.
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
    /// Whether the pass continues where it had stopped. Another worker had it before, an operator has let it go on, or
    /// the version after it has expired.
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
    /// The priority that it left with.
    public var priority: PushPriority
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsIDHigh: UInt64
    /// See `apnsIDHigh`.
    public var apnsIDLow: UInt64
    /// When it left, steady.
    public var sentMillis: Int64
    /// Number of attempts for this member before this one.
    public var attempt: UInt8
    /// The answer.
    public var answer: PushAnswer
}

/// Why a pass is no longer traced.
public enum PassEnd: Sendable, Equatable {
    /// Every member has what it was due.
    case finished
    /// A newer version has taken over.
    case superseded
    /// What the pass brings has expired.
    case expired
    /// An operator has stopped it.
    case paused
    /// The audience is over.
    case voided
    /// The partition belongs to another worker, which continues the pass.
    case handedOver
}

/// The result of a pass, counted as in its outcome `pass` or `start-pass`. A pass that another worker had before is
/// counted from its beginning.
public struct PassTally: Sendable, Equatable {
    /// Number of members by result. `waiting` is not used here.
    public var counts: MemberCounters
    /// Number of members still waiting, those without an answer included.
    public var waitingCount: UInt64
    /// How often APNs gave each reason that ended what a member was due.
    public var refusals: [Refusal]

    /// A reason, or a status where the answer had no reason.
    public struct Refusal: Sendable, Equatable {
        /// The reason as APNs gives it.
        public var reason: String
        /// Number of members.
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
