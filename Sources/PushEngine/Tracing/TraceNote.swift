public import APNSProtocol
public import PushModel

/// Something that happened to a traced event (`InputRecord.isTraced`). The engine only reports it: it knows nothing of
/// spans. Its time is that of the call in which it happened.
public struct TraceNote: Sendable, Equatable {
    /// What happened.
    public enum Happening: Sendable, Equatable {
        /// A push left whose newest event this is.
        case sent(TracedPush)
        /// The push was answered. If no outcome follows, the event waits again.
        case answered(PushAnswer)
        /// The event has its outcome, published or not. The reason is empty if there is none. `into`: the event that
        /// superseded it.
        case ended(Outcome, reason: String, into: SourcePosition?)
        /// The event was on the wrong partition and goes to this one. It has no outcome here.
        case forwarded(partition: Int32)
        /// A partition begins or resumes a pass that brings the event's version, or its start, to the members there.
        case passBegan(TracedPass)
        /// A pass is not traced: the largest number of passes is traced already.
        case passSkipped
        /// A push of a pass was answered. Most pushes are not reported.
        case passAnswered(PassTraceID, TracedMemberPush)
        /// The pass is over, or continues elsewhere.
        case passEnded(PassTraceID, PassEnd, PassTally)
        /// A broadcast of the event's version to its audience's kept channel was answered.
        case broadcastAnswered(TracedBroadcast, PushAnswer)
    }

    /// Where the event first lay. For a pass: the event that speaks for what it brings.
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
    /// Whether it goes to a phone or to a channel.
    public var kind: RequestKind
    /// The priority that it left with.
    public var priority: PushPriority
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsIDHigh: UInt64
    /// See `apnsIDHigh`.
    public var apnsIDLow: UInt64
    /// Number of events that went into the push.
    public var mergedCount: UInt32
}

/// What happened to traced events since the loop last took the notes.
struct TraceNotes {
    /// The largest number of notes between two takings. Few events are traced at a time.
    static let countMax = 16_384

    private(set) var notes: [TraceNote] = []

    /// Adds a note. Out of line, because nearly no event is traced.
    @inline(never) mutating func append(_ happening: TraceNote.Happening, of source: SourcePosition) {
        guard self.notes.count < Self.countMax else { return }
        self.notes.append(TraceNote(source: source, happening: happening))
    }

    mutating func take(_ body: (TraceNote) -> Void) {
        for note in self.notes { body(note) }
        self.notes.removeAll(keepingCapacity: true)
    }
}

extension ShardEngine {
    /// Whether traced events have had something happen since the last call of `takeTraceNotes`.
    public var hasTraceNotes: Bool { !self.memory.traceNotes.notes.isEmpty }

    /// Hands over what happened to traced events since the last call, in order.
    public mutating func takeTraceNotes(_ body: (TraceNote) -> Void) { self.memory.traceNotes.take(body) }

    /// Notes that the update leaves in `request`.
    @inline(never) mutating func noteSent(_ update: UpdateID, _ request: borrowing PushRequest, route: UInt16) {
        // The slot is live, so its bytes are valid.
        let idBytes = unsafe self.memory.slots.idBytes(self.memory.updates[update].slot)
        var slotID: [UInt8] = []
        slotID.append(copying: unsafe Span(_unsafeElements: idBytes))
        self.memory.traceNotes.append(
            .sent(
                TracedPush(
                    id: request.id, route: route, app: request.app, slotID: slotID, kind: request.kind,
                    priority: request.priority, apnsIDHigh: request.apnsID.0, apnsIDLow: request.apnsID.1,
                    mergedCount: self.memory.updates[update].mergedCount)),
            of: self.memory.updates[update].top.source)
    }
}

extension ShardMemory {
    /// Notes that a traced event has its outcome.
    @inline(never) mutating func noteOutcome(
        _ outcome: Outcome, _ details: borrowing OutcomeDetails, kind: SlotKind, of source: SourcePosition
    ) {
        let reason = details.reason.isEmpty ? details.cause.text(of: kind).map { "\($0)" } ?? "" : details.reason
        self.traceNotes.append(.ended(outcome, reason: reason, into: details.into), of: source)
    }
}

extension Journal {
    /// Writes the headers of an outcome. A traced event's outcome has its trace context, which readers of the outcome
    /// continue as instrumentation of Kafka clients expects. Others have no headers.
    @inline(__always) mutating func traceHeader(_ isTraced: Bool, _ traceparent: Span<UInt8>) -> Range<Int> {
        isTraced && !traceparent.isEmpty ? self.appendTraceHeader(traceparent) : 0..<0
    }

    @inline(never) private mutating func appendTraceHeader(_ carried: Span<UInt8>) -> Range<Int> {
        let first = self.batch.headers.count
        self.batch.appendTrace(carried, isTraced: true)
        return first..<self.batch.headers.count
    }
}
