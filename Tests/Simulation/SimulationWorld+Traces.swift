import PushEngine
import PushModel
import ShardLoop

/// The plan of traces in a world.
package struct TracePlan {
    /// Whether workers trace events.
    var isOn = false
    /// Percentage of events whose publisher has sampled them.
    var sampledPercent = 0
    /// Percentage of workers that trace nothing, like workers before an upgrade.
    var blindPercent = 0

    init() {}
}

extension SimulationPlan {
    /// On average, one in this number of worlds has traces.
    private static let worldsPerTracedWorld = 2

    /// Draws the plan of traces with a separate generator, so that the rest of the world does not change.
    mutating func drawTraces(random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerTracedWorld, using: &random) == 0 else { return }
        self.traces.isOn = true
        self.traces.sampledPercent = [20, 60, 100].randomElement(using: &random)!
        self.traces.blindPercent = [0, 0, 30].randomElement(using: &random)!
    }
}

/// Events that their publisher has sampled, and workers that trace them. Tracing must not change anything else in the
/// world, and every trace must end exactly once.
extension SimulationWorld {
    /// The record as its publisher appends it to a partition. It may have a trace context.
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
            // The context is not sampled, or cannot be read.
            let texts = ["00-0000000000000000000000000000000a-000000000000000b-00", "00-what-is-this"]
            record.headers.append(("traceparent", texts.randomElement(using: &self.traceRandom)!))
        }
        return record
    }

    private func nextSpanID() -> UInt64 {
        self.spanCount += 1
        return self.spanCount
    }

    /// Draws whether a worker that begins traces events.
    func drawTracing(of worker: SimulatedWorker) {
        guard self.plan.traces.isOn,
            Int.random(in: 0..<100, using: &self.traceRandom) >= self.plan.traces.blindPercent
        else { return }
        worker.loop.tracesPasses = true
        worker.traces = SimulatedTraces()
    }

    /// Begins the trace of a record that a worker reads, if the record has a sampled context.
    /// - Returns: the trace context and state that the engine gets with the record's event. Empty: it gets none.
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

    /// Takes the loop's reports about traces. A real worker does this after each turn.
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

    /// Ends the traces in partitions that belong to another worker from now on.
    func forgetTraces(_ partitions: [Int32], worker: SimulatedWorker) {
        if let fault = worker.traces?.left(partitions) { self.fail("worker \(worker.number): \(fault)") }
    }

    /// Ends all traces of a process that has ended.
    func abandonTraces(_ worker: SimulatedWorker) {
        worker.traces?.died()
        if let traces = worker.traces { self.traceTally.add(traces.tally) }
    }

    /// Judges the trace context of an outcome. A reader of outcomes continues the event's trace with this context.
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

    /// Judges at the end of the run that no trace is open.
    func judgeTraces() {
        for worker in self.workers {
            guard let traces = worker.traces else { continue }
            if !traces.isIdle { self.fail("worker \(worker.number) traces without end: \(traces.description)") }
            self.traceTally.add(traces.tally)
        }
    }
}

extension TraceNotice.Happening {
    /// The notice's text if it is about the beginning or end of a pass. `nil`: it is about something else.
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
