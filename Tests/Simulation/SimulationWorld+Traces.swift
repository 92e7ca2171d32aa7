import PushEngine
import PushModel
import ShardLoop

/// The part of a world's plan about traces.
package struct TracePlan {
    /// Whether workers keep traces. Worlds without traces stay as they were.
    var isOn = false
    /// Percentage of events that somebody has sampled.
    var sampledPercent = 0
    /// Percentage of workers that keep no traces, as before an upgrade.
    var blindPercent = 0

    init() {}
}

extension SimulationPlan {
    /// One world in this many has traces.
    private static let worldsPerTracedWorld = 2

    /// Draws with a generator of its own, so that everything else in the world stays as it was.
    mutating func drawTraces(random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerTracedWorld, using: &random) == 0 else { return }
        self.traces.isOn = true
        self.traces.sampledPercent = [20, 60, 100].randomElement(using: &random)!
        self.traces.blindPercent = [0, 0, 30].randomElement(using: &random)!
    }
}

/// Events that somebody has sampled, in workers that keep traces. Tracing must not change anything else in the world,
/// and every trace must end once.
extension SimulationWorld {
    /// The record as its publisher appends it to a partition, perhaps with a sampled trace context.
    func perhapsSampled(_ record: LoggedRecord, in partition: Int32) -> LoggedRecord {
        guard self.plan.traces.isOn else { return record }
        var record = record
        if Int.random(in: 0..<100, using: &self.traceRandom) < self.plan.traces.sampledPercent {
            let offset = self.kafka.end(SimulatedKafka.LogID(topic: .events, partition: partition))
            let source = SourcePosition(topic: 0, partition: partition, offset: offset)
            let context = SimulatedTraces.context(of: source, spanID: self.nextSpanID())
            record.headers.append(("traceparent", String(decoding: context.traceparent, as: UTF8.self)))
            if Bool.random(using: &self.traceRandom) { record.headers.append(("tracestate", "vendor=\(offset)")) }
        } else if Int.random(in: 0..<4, using: &self.traceRandom) == 0 {
            // The context is not sampled, or is not a context at all.
            let texts = ["00-0000000000000000000000000000000a-000000000000000b-00", "00-what-is-this"]
            record.headers.append(("traceparent", texts.randomElement(using: &self.traceRandom)!))
        }
        return record
    }

    private func nextSpanID() -> UInt64 {
        self.spanCount += 1
        return self.spanCount
    }

    /// Draws whether a worker whose process begins keeps traces.
    func drawTracing(of worker: SimulatedWorker) {
        guard self.plan.traces.isOn,
            Int.random(in: 0..<100, using: &self.traceRandom) >= self.plan.traces.blindPercent
        else { return }
        worker.loop.tracesPasses = true
        worker.traces = SimulatedTraces()
    }

    /// Begins the trace of a record that a worker takes, if it has one.
    /// - Returns: the context that its event carries.
    func carriedContext(_ input: inout InputRecord, _ record: LoggedRecord, of worker: SimulatedWorker) -> [UInt8] {
        guard input.kind == .event, let header = record.headers.first(where: { $0.name == "traceparent" }) else {
            return []
        }
        let bytes = Array(header.value.utf8)
        guard worker.traces != nil, let parent = TraceContext(traceparent: bytes.span), parent.isSampled else {
            return bytes
        }
        let read = SourcePosition(topic: 0, partition: input.partition, offset: input.offset)
        let source = input.origin ?? read
        if SimulatedTraces.source(of: parent) != source {
            self.fail(
                "worker \(worker.number) reads \(source) with the context of \(SimulatedTraces.source(of: parent))")
        }
        input.isTraced = true
        worker.traces?.begin(source, in: input.partition)
        let state = record.headers.first { $0.name == "tracestate" }?.value ?? ""
        return SimulatedTraces.context(of: source, spanID: self.nextSpanID()).traceparent + Array(state.utf8)
    }

    /// Takes the reports about traces after each turn, as the worker does.
    func hearTraces(_ worker: SimulatedWorker) {
        guard worker.isAlive else { return }
        worker.loop.takeTraceNotices { note in
            guard worker.traces != nil else {
                return self.fail("worker \(worker.number) keeps no traces, and tells of \(note)")
            }
            if let text = note.happening.passText { self.log("worker \(worker.number) \(text)") }
            let fault = worker.traces?.take(note) { worker.partitions[$0] != nil }
            if let fault { self.fail("trace of \(note.source) in worker \(worker.number): \(fault)") }
        }
    }

    /// Ends traces in partitions that another worker has from here on.
    func forgetTraces(_ partitions: [Int32], worker: SimulatedWorker) {
        if let fault = worker.traces?.left(partitions) { self.fail("worker \(worker.number): \(fault)") }
    }

    /// Ends all traces of a process that has ended.
    func abandonTraces(_ worker: SimulatedWorker) {
        worker.traces?.died()
        if let traces = worker.traces { self.traceTally.add(traces.tally) }
    }

    /// Remembers the trace of an outcome: a reader of outcomes continues the event's trace.
    func rememberTraceOfOutcome(_ record: LoggedRecord) {
        guard self.plan.traces.isOn, let header = record.headers.first(where: { $0.name == "traceparent" }) else {
            return
        }
        self.traceTally.outcomes += 1
        let bytes = Array(header.value.utf8)
        let text = String(decoding: record.value, as: UTF8.self)
        guard let context = TraceContext(traceparent: bytes.span), context.isSampled,
            SimulationEvidence.position(ofOutcome: text) == SimulatedTraces.source(of: context),
            text.contains("\"traceparent\":\"\(header.value)\"")
        else { return self.fail("an outcome goes on with \(header.value): \(text)") }
    }

    /// Judges, when everything has settled, that no trace is still open.
    func judgeTraces() {
        for worker in self.workers {
            guard let traces = worker.traces else { continue }
            if !traces.isIdle { self.fail("worker \(worker.number) traces without end: \(traces.description)") }
            self.traceTally.add(traces.tally)
        }
    }
}

extension TraceNotice.Happening {
    /// The notice's text if it is about a pass. `nil`: the notice is about something else.
    fileprivate var passText: String? {
        switch self {
        case .passBegan(let pass):
            """
            begins to trace pass \(pass.id.rawValue): \(pass.isResumed ? "the rest of " : "")\(pass.isStart ? "start" : "version") \
            \(pass.stampSeconds) of \(String(decoding: pass.audience, as: UTF8.self)), life \(pass.life), in partition \(pass.partition)
            """
        case .passEnded(let id, let end, let tally):
            "traces pass \(id.rawValue) no longer: \(end), \(tally.counts.due) due, \(tally.waitingCount) waiting"
        case .sent, .answered, .ended, .forwarded, .passSkipped, .passAnswered, .broadcastAnswered: nil
        }
    }
}
