public import APNSProtocol
public import PushModel

/// Names one traced pass: no other of the same engine has its number.
public struct PassTraceID: Sendable, Hashable {
    /// Counted on.
    public var rawValue: UInt64
    /// The pass of that number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What is told of a pass: one partition brings a version of an audience, or a start, to the members that it has. Never a token.
public struct TracedPass: Sendable, Equatable {
    /// How what follows names it.
    public var id: PassTraceID
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The audience's id, UTF-8.
    public var audience: [UInt8]
    /// Where its members are.
    public var partition: Int32
    /// Of the audience.
    public var life: Int64
    /// Names the version within the life.
    public var stampSeconds: Int64
    /// It starts cards: its members are push-to-start tokens.
    public var isStart: Bool
    /// It goes on where it had stopped: another worker had it before, an operator has let it go on, or the version after it has expired.
    public var isResumed: Bool
    /// When the event's record was written, milliseconds since 1970.
    public var recordMillis: Int64
    /// Of the span that made the version, or of whoever published its event: what the pass is below.
    public var parent: TraceContext
}

/// One of a pass's pushes, answered.
public struct TracedMemberPush: Sendable, Equatable {
    /// The way to APNs that it has taken.
    public var route: UInt16
    /// With which it left.
    public var priority: PushPriority
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsIDHigh: UInt64
    /// See `apnsIDHigh`.
    public var apnsIDLow: UInt64
    /// When it left, steady.
    public var sentMillis: Int64
    /// How often the member had been tried before.
    public var attempt: UInt8
    /// What came back.
    public var answer: PushAnswer
}

/// Why a traced pass is traced no longer.
public enum PassEnd: Sendable, Equatable {
    /// Nobody is owed anything any more.
    case finished
    /// A newer version has taken over.
    case superseded
    /// What it brings may not be sent any more.
    case expired
    /// An operator has stopped it.
    case paused
    /// The audience is over.
    case voided
    /// The partition is another worker's, which goes on.
    case handedOver
}

/// What a pass has come to, counted as in its outcome `pass` or `start-pass`: of a pass that another worker had before, from its beginning.
public struct PassTally: Sendable, Equatable {
    /// What became of members; `waiting` is not among it.
    public var counts: MemberCounters
    /// Members that are owed it still, those without an answer included.
    public var waitingCount: UInt64
    /// How often APNs gave which reason that ended what a member was due.
    public var refusals: [Refusal]

    /// A reason, or a status where there was none.
    public struct Refusal: Sendable, Equatable {
        /// As APNs says it.
        public var reason: String
        /// Members.
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
