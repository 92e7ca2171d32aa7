import APNSProtocol
import PushEngine
import PushModel

/// Checks what one worker reports about traced events and passes. Spans are made from these reports alone, so the check
/// does not read the engine's tables either.
struct SimulatedTraces {
    /// Maximum number of pushes that are reported for a pass. As many further pushes may be reported if APNs did not
    /// take them.
    private static let examplesMax = 8
    /// Maximum number of passes that are traced at the same time.
    private static let passesMax = 256

    /// A traced event that the worker has read.
    private struct Event {
        /// Partitions in which the worker has read the event and not finished it, once for each read. An event that was
        /// forwarded twice is read twice.
        var partitions: [Int32]
        /// The event's push that has no answer yet.
        var push: PushID?
    }
    private struct Pass {
        var location: PassLocation
        var source: SourcePosition
        var exampleCount = 0
        var failedExampleCount = 0
    }
    /// The app, audience, partition and kind of a pass. Only one pass at a time runs in each location.
    private struct PassLocation: Hashable {
        var app: UInt16
        var audience: [UInt8]
        var partition: Int32
        var isStart: Bool
    }
    /// The location and version of a pass. A second pass may have the same name only if it continues the first.
    private struct PassName: Hashable {
        var location: PassLocation
        var life: Int64
        var stampSeconds: Int64
    }

    private var events: [SourcePosition: Event] = [:]
    private var passes: [PassTraceID: Pass] = [:]
    private var lastPass: PassTraceID?
    /// Names of passes that have begun in the worker's present partitions, without those that continued an earlier
    /// pass.
    private var begun: Set<PassName> = []
    /// Ids of the broadcasts that were reported.
    private var broadcasts: Set<PushID> = []
    private(set) var tally = TraceTally()

    /// Whether no event and no pass is being traced.
    var isIdle: Bool { self.events.isEmpty && self.passes.isEmpty }
    var description: String { "\(self.events.keys.map { "\($0)" }.sorted()), \(self.passes.count) passes" }

    mutating func begin(_ source: SourcePosition, in partition: Int32) {
        self.tally.events += 1
        self.events[source, default: Event(partitions: [])].partitions.append(partition)
    }

    /// Checks a report and remembers what it says.
    /// - Parameter owns: whether the worker owns a partition.
    /// - Returns: what is wrong with the report. `nil`: nothing is.
    mutating func take(_ note: TraceNotice, owns: (Int32) -> Bool) -> String? {
        switch note.happening {
        case .sent, .answered, .ended, .forwarded: self.takeOfEvent(note)
        case .passBegan(let pass): self.begin(pass, of: note.source, owns: owns)
        case .passSkipped:
            self.passes.count < Self.passesMax ? "a pass is not traced, though only \(self.passes.count) are" : nil
        case .passAnswered(let id, let push): self.answered(id, push, of: note.source)
        case .passEnded(let id, let end, let tally): self.end(id, end, tally, of: note.source)
        case .broadcastAnswered(let broadcast, let answer): self.take(broadcast, answer, of: note.source)
        }
    }

    private mutating func takeOfEvent(_ note: TraceNotice) -> String? {
        guard var event = self.events[note.source] else { return "it is not traced, or has ended" }
        switch note.happening {
        case .sent(let push):
            if let former = event.push { return "\(push.id) leaves, and \(former) is under way" }
            event.push = push.id
            self.tally.pushes += 1
        case .answered(let answer):
            guard event.push == answer.id else { return "\(answer.id) is answered, and not under way" }
            event.push = nil
        case .forwarded(let partition):
            guard partition != note.source.partition,
                let index = event.partitions.firstIndex(of: note.source.partition)
            else { return "it is forwarded to \(partition), and was read in \(event.partitions)" }
            event.partitions.remove(at: index)
            self.tally.eventsEnded += 1
        case .ended:
            // A forwarded event has its outcome in the partition to which it was forwarded.
            let index = event.partitions.firstIndex { $0 != note.source.partition } ?? 0
            event.partitions.remove(at: index)
            self.tally.eventsEnded += 1
            if event.partitions.isEmpty, let push = event.push { return "it has ended, and \(push) is under way" }
        case .passBegan, .passSkipped, .passAnswered, .passEnded, .broadcastAnswered: return nil
        }
        self.events[note.source] = event.partitions.isEmpty ? nil : event
        return nil
    }

    // MARK: Passes

    private mutating func begin(_ pass: TracedPass, of source: SourcePosition, owns: (Int32) -> Bool) -> String? {
        let what = "pass \(pass.id.rawValue) of version \(pass.stampSeconds) in partition \(pass.partition)"
        let location = PassLocation(
            app: pass.app, audience: pass.audience, partition: pass.partition, isStart: pass.isStart)
        self.tally.passes += 1
        if pass.isResumed { self.tally.passesResumed += 1 }
        if let last = self.lastPass, last.rawValue >= pass.id.rawValue {
            return "\(what) comes behind \(last.rawValue)"
        }
        self.lastPass = pass.id
        guard owns(pass.partition) else { return "\(what), which is not the worker's" }
        guard pass.parent.isSampled, source == SimulatedTraces.source(of: pass.parent) else {
            return "\(what) is below \(pass.parent)"
        }
        if self.passes.values.contains(where: { $0.location == location }) {
            return "\(what) has begun, and another goes on"
        }
        guard self.passes.count < Self.passesMax else { return "\(what) is one too many" }
        let name = PassName(location: location, life: pass.life, stampSeconds: pass.stampSeconds)
        if !pass.isResumed, !self.begun.insert(name).inserted { return "\(what) begins a second time" }
        self.passes[pass.id] = Pass(location: location, source: source)
        return nil
    }

    private mutating func answered(
        _ id: PassTraceID, _ push: TracedMemberPush, of source: SourcePosition
    ) -> String? {
        guard let pass = self.passes[id], pass.source == source else {
            return "a push of pass \(id.rawValue) is told, which does not go on"
        }
        self.tally.examples += 1
        if pass.exampleCount < Self.examplesMax {
            self.passes[id]?.exampleCount += 1
        } else if push.isAccepted || pass.failedExampleCount == Self.examplesMax {
            return "one push more is told of pass \(id.rawValue)"
        } else {
            self.passes[id]?.failedExampleCount += 1
        }
        return nil
    }

    private mutating func end(
        _ id: PassTraceID, _ end: PassEnd, _ tally: PassTally, of source: SourcePosition
    ) -> String? {
        guard let pass = self.passes.removeValue(forKey: id), pass.source == source else {
            return "pass \(id.rawValue) ends as \(end), and did not go on"
        }
        self.tally.passEnds["\(end)", default: 0] += 1
        let counts = tally.counts
        let told =
            counts.accepted + counts.superseded + counts.expired + counts.gone + counts.failed + counts.left
            + counts.unknown + tally.waitingCount
        if counts.due != told { return "pass \(id.rawValue): \(counts.due) members, and \(told) are told of" }
        if end == .finished, tally.waitingCount > 0 {
            return "pass \(id.rawValue) is finished, and \(tally.waitingCount) wait"
        }
        return nil
    }

    private mutating func take(
        _ broadcast: TracedBroadcast, _ answer: PushAnswer, of source: SourcePosition
    ) -> String? {
        self.tally.broadcasts += 1
        guard broadcast.source == source, broadcast.parent.isSampled,
            SimulatedTraces.source(of: broadcast.parent) == source
        else { return "a broadcast of \(broadcast.source) is below \(broadcast.parent)" }
        return self.broadcasts.insert(answer.id).inserted ? nil : "broadcast \(answer.id) is told twice"
    }

    // MARK: The end

    /// Forgets the events of partitions that the worker has lost, and checks that their passes have ended.
    /// - Returns: which passes are still open in these partitions. `nil`: none is.
    mutating func left(_ partitions: [Int32]) -> String? {
        for (source, event) in self.events {
            let rest = event.partitions.filter { !partitions.contains($0) }
            self.tally.eventsLeft += event.partitions.count - rest.count
            self.events[source] = rest.isEmpty ? nil : Event(partitions: rest, push: event.push)
        }
        self.begun = self.begun.filter { !partitions.contains($0.location.partition) }
        let late = self.passes.filter { partitions.contains($0.value.location.partition) }
        return late.isEmpty ? nil : "passes \(late.keys.map(\.rawValue).sorted()) go on in partitions that have left"
    }

    /// Ends the open traces because the process has ended: counts their events as left, and their passes as died.
    mutating func died() {
        self.tally.eventsLeft += self.events.values.map(\.partitions.count).reduce(0, +)
        self.tally.passEnds["died", default: 0] += self.passes.count
        self.events = [:]
        self.passes = [:]
    }

    // MARK: Contexts

    /// A trace context whose trace id contains the position of the event.
    static func context(of source: SourcePosition, spanID: UInt64) -> TraceContext {
        TraceContext(
            traceIDHigh: UInt64(source.partition) + 1, traceIDLow: UInt64(source.offset) + 1, spanID: spanID,
            isSampled: true)
    }
    static func source(of context: TraceContext) -> SourcePosition {
        SourcePosition(
            topic: 0, partition: Int32(clamping: context.traceIDHigh) - 1,
            offset: Int64(clamping: context.traceIDLow) - 1)
    }
}

/// Counts of what was traced.
package struct TraceTally: CustomStringConvertible {
    /// Number of events whose tracing began.
    package var events = 0
    package var eventsEnded = 0
    package var eventsLeft = 0
    /// Number of reported pushes of events.
    package var pushes = 0
    package var passes = 0
    /// Number of passes that continued an earlier pass.
    package var passesResumed = 0
    /// Number of pushes that were reported as examples of passes.
    package var examples = 0
    /// Number of passes, by the reason for their end.
    package var passEnds: [String: Int] = [:]
    /// Number of broadcasts of audiences' versions.
    package var broadcasts = 0
    /// Number of outcomes that carry a trace context.
    package var outcomes = 0

    package init() {}

    package var description: String {
        let ends = self.passEnds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return """
            \(self.events) events (\(self.eventsEnded) ended, \(self.eventsLeft) left), \(self.pushes) pushes, \(self.outcomes) outcomes; \
            \(self.passes) passes (\(self.passesResumed) resumed; \(ends)), \(self.examples) of their pushes; \(self.broadcasts) broadcasts
            """
    }

    package mutating func add(_ other: TraceTally) {
        self.events += other.events
        self.eventsEnded += other.eventsEnded
        self.eventsLeft += other.eventsLeft
        self.pushes += other.pushes
        self.passes += other.passes
        self.passesResumed += other.passesResumed
        self.examples += other.examples
        self.passEnds.merge(other.passEnds, uniquingKeysWith: +)
        self.broadcasts += other.broadcasts
        self.outcomes += other.outcomes
    }
}

extension TracedMemberPush {
    fileprivate var isAccepted: Bool {
        switch self.answer.result {
        case .accepted: true
        case .response(let response): response.verdict == .accepted
        case .channel, .notProcessed, .unknown: false
        }
    }
}
