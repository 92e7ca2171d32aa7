public import APNSProtocol
public import PushModel

/// Something that happened to a traced event (`InputRecord.isTraced`). The engine only reports what happened, and does
/// not know spans. A notice has no time: what it reports happened during the call that made the notice.
public struct TraceNotice: Sendable, Equatable {
    /// What happened.
    public enum Happening: Sendable, Equatable {
        /// A push left with this event as its newest.
        case sent(TracedPush)
        /// The push with this event was answered. If no outcome follows, the event waits again.
        case answered(PushAnswer)
        /// The event has its outcome, whether or not the outcome is published. `reason` is empty if the outcome has
        /// none. `into`: the event that superseded this one.
        case ended(Outcome, reason: String, into: SourcePosition?)
        /// The event was on the wrong partition, and is forwarded to `partition`. Its outcome is written by the owner
        /// of `partition`.
        case forwarded(partition: Int32)
        /// A partition begins or resumes a pass that brings the event's version, or its start, to the partition's
        /// members.
        case passBegan(TracedPass)
        /// A pass is not traced, because the maximum number of passes is traced already.
        case passSkipped
        /// A push of a pass was answered. Most pushes are not reported.
        case passAnswered(PassTraceID, TracedMemberPush)
        /// The pass is no longer traced, for the reason that `PassEnd` gives.
        case passEnded(PassTraceID, PassEnd, PassTally)
        /// A broadcast of the event's version to its audience's kept channel was answered.
        case broadcastAnswered(TracedBroadcast, PushAnswer)
    }

    /// First position of the event. A notice about a pass names the event whose content the pass brings.
    public var source: SourcePosition
    /// What happened to the event.
    public var happening: Happening
}

/// What is reported of a push whose newest event is traced. It never contains a token.
public struct TracedPush: Sendable, Equatable {
    /// The attempt that `PushAnswer.id` names.
    public var id: PushID
    /// The route to APNs that the push takes.
    public var route: UInt16
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The id of the activity or channel, UTF-8.
    public var slotID: [UInt8]
    /// Whether the push goes to a phone or to a channel.
    public var kind: RequestKind
    /// The priority with which the push left.
    public var priority: PushPriority
    /// The upper half of the UUID in `apns-id`, big-endian.
    public var apnsIDHigh: UInt64
    /// The lower half of the UUID in `apns-id`, big-endian.
    public var apnsIDLow: UInt64
    /// Number of events that went into the push.
    public var mergedCount: UInt32
}

/// What happened to traced events since the loop last took the notices.
struct TraceNotices {
    /// Maximum number of notices that wait until the loop takes them. Further notices are dropped. Few events are
    /// traced at a time.
    static let countMax = 16_384

    private(set) var notices: [TraceNotice] = []

    /// Adds a notice. It is not inlined, because very few events are traced.
    @inline(never) mutating func append(_ happening: TraceNotice.Happening, of source: SourcePosition) {
        guard self.notices.count < Self.countMax else { return }
        self.notices.append(TraceNotice(source: source, happening: happening))
    }

    mutating func take(_ body: (TraceNotice) -> Void) {
        for notice in self.notices { body(notice) }
        self.notices.removeAll(keepingCapacity: true)
    }
}

extension ShardMemory {
    /// Adds to the trace that the update leaves in `request`.
    @inline(never) mutating func addSent(_ update: UpdateID, _ request: borrowing PushRequest, route: UInt16) {
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe self.slots.idBytes(self.updates[update].slot)
        var slotID: [UInt8] = []
        slotID.append(copying: unsafe Span(_unsafeElements: idBytes))
        self.traceNotices.append(
            .sent(
                TracedPush(
                    id: request.id, route: route, app: request.app, slotID: slotID, kind: request.kind,
                    priority: request.priority, apnsIDHigh: request.apnsID.0, apnsIDLow: request.apnsID.1,
                    mergedCount: self.updates[update].mergedCount)),
            of: self.updates[update].top.source)
    }

    /// Adds to the trace that an event has its outcome.
    @inline(never) mutating func addOutcome(
        _ outcome: Outcome, _ details: borrowing OutcomeDetails, kind: SlotKind, of source: SourcePosition
    ) {
        let reason = details.reason.isEmpty ? details.cause.text(of: kind).map { "\($0)" } ?? "" : details.reason
        self.traceNotices.append(.ended(outcome, reason: reason, into: details.into), of: source)
    }
}

extension Journal {
    /// Writes the headers of an outcome. The outcome of a traced event carries the event's trace context. Readers of
    /// the outcome continue the trace, as instrumentation of Kafka clients expects. Other outcomes have no headers.
    @inline(__always) mutating func traceHeader(_ isTraced: Bool, _ traceparent: Span<UInt8>) -> Range<Int> {
        isTraced && !traceparent.isEmpty ? self.appendTraceHeader(traceparent) : 0..<0
    }

    @inline(never) private mutating func appendTraceHeader(_ carried: Span<UInt8>) -> Range<Int> {
        let first = self.batch.headers.count
        self.batch.appendTrace(carried, isTraced: true)
        return first..<self.batch.headers.count
    }
}
