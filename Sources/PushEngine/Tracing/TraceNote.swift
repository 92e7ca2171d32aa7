public import APNSProtocol
public import PushModel

/// Something that happened to an event whose way is traced (`InputRecord.isTraced`). The engine only says so: it knows nothing of spans. The time
/// is that of the call in which it happened.
public struct TraceNote: Sendable, Equatable {
    /// What happened.
    public enum Happening: Sendable, Equatable {
        /// A push left whose newest event it is.
        case sent(TracedPush)
        /// That push was answered. Without an outcome behind it the event waits again.
        case answered(PushAnswer)
        /// The event has its outcome, published or not. The reason is empty where there is none; `into`: the event that took its place.
        case ended(Outcome, reason: String, into: SourcePosition?)
        /// It lay on the wrong partition and goes to this one. It has no outcome here.
        case forwarded(partition: Int32)
        /// A partition begins to bring its version, or its start, to the members there, or goes on with it.
        case passBegan(TracedPass)
        /// As many passes are traced as may be: this one is not.
        case passSkipped
        /// A push of a pass was answered. Of most pushes nothing is told.
        case passAnswered(PassTraceID, TracedMemberPush)
        /// The pass is over, or goes on elsewhere.
        case passEnded(PassTraceID, PassEnd, PassTally)
        /// A broadcast of its version to a channel that is kept for the audience was answered.
        case broadcastAnswered(TracedBroadcast, PushAnswer)
    }

    /// Where the event first lay. Of a pass: the event that speaks for what it brings.
    public var source: SourcePosition
    /// What happened to it.
    public var happening: Happening
}

/// What is told of a push whose newest event is traced. Never a token.
public struct TracedPush: Sendable, Equatable {
    /// The attempt that `PushAnswer.id` names.
    public var id: PushID
    /// The way to APNs it takes.
    public var route: UInt16
    /// Index into `EngineConfiguration.apps`.
    public var app: UInt16
    /// The activity's id or the channel's, UTF-8.
    public var slotID: [UInt8]
    /// To a phone or to a channel.
    public var kind: RequestKind
    /// With which it left.
    public var priority: PushPriority
    /// `apns-id`: the UUID's two halves, big-endian order.
    public var apnsIDHigh: UInt64
    /// See `apnsIDHigh`.
    public var apnsIDLow: UInt64
    /// How many events went into it.
    public var mergedCount: UInt32
}

/// What happened to traced events since the loop last took it.
struct TraceNotes {
    /// More are not kept between two takings: few events are traced at a time.
    static let countMax = 16_384

    private(set) var notes: [TraceNote] = []

    /// Out of line: nearly all events pass by without being traced.
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
    /// Whether something happened to traced events since the last call of `takeTraceNotes`.
    public var hasTraceNotes: Bool { !self.memory.traceNotes.notes.isEmpty }

    /// Hands over what happened to traced events since the last call, in order.
    public mutating func takeTraceNotes(_ body: (TraceNote) -> Void) { self.memory.traceNotes.take(body) }

    /// The update leaves in `request`.
    @inline(never) mutating func noteSent(_ update: UpdateID, _ request: borrowing PushRequest, route: UInt16) {
        // The slot lives, so its bytes do.
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
    /// A traced event has its outcome.
    @inline(never) mutating func noteOutcome(
        _ outcome: Outcome, _ details: borrowing OutcomeDetails, kind: SlotKind, of source: SourcePosition
    ) {
        let reason = details.reason.isEmpty ? details.cause.text(of: kind).map { "\($0)" } ?? "" : details.reason
        self.traceNotes.append(.ended(outcome, reason: reason, into: details.into), of: source)
    }
}

extension Journal {
    /// The headers of an outcome: of a traced event the context in which whoever reads the outcome goes on, in the way that instrumentation of
    /// Kafka clients expects. Others have none.
    @inline(__always) mutating func traceHeader(_ isTraced: Bool, _ traceparent: Span<UInt8>) -> Range<Int> {
        isTraced && !traceparent.isEmpty ? self.appendTraceHeader(traceparent) : 0..<0
    }

    @inline(never) private mutating func appendTraceHeader(_ carried: Span<UInt8>) -> Range<Int> {
        let first = self.batch.headers.count
        self.batch.appendTrace(carried, isTraced: true)
        return first..<self.batch.headers.count
    }
}
