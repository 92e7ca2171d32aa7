import APNSProtocol
import PushModel

/// The traced passes of a shard, and how many of their pushes were reported (fan-out contract: Passes). A version
/// carries its event's trace context. Both `routed` and `state` store the context as part of the event's facts, so that
/// every release can read it.
struct PassTraces {
    /// Maximum number of passes traced at a time.
    static let liveMax = 256
    /// Number of answers of a pass that are reported in any case: the first ones.
    static let examplesMax = 8
    /// Maximum number of failed pushes of a pass that are reported after the first `examplesMax` answers.
    static let failedExamplesMax = 8
    /// Age up to which an event's passes are traced, milliseconds. What becomes of members that join later does not
    /// belong in the event's trace.
    static let ageMillisMax: Int64 = 3_600_000

    /// Identifies a traced pass. A crowd brings one version and one start at a time.
    struct Key: Hashable {
        var crowd: CrowdID
        var isStart: Bool
    }
    struct Live {
        var id: PassTraceID
        /// The event whose content the pass brings.
        var source: SourcePosition
        var life: Int64
        var stampSeconds: Int64
        var exampleCount = 0
        var failedExampleCount = 0

        /// Counts an answered push.
        /// - Returns: whether it is reported.
        mutating func takesExample(isAccepted: Bool) -> Bool {
            if self.exampleCount < PassTraces.examplesMax {
                self.exampleCount += 1
                return true
            }
            guard !isAccepted, self.failedExampleCount < PassTraces.failedExamplesMax else { return false }
            self.failedExampleCount += 1
            return true
        }
    }

    private var live: [Key: Live] = [:]
    private var lastID: UInt64 = 0

    /// The span under which a version's pass or broadcast is reported; `nil`: it is not reported.
    static func parent(of layer: Layer, now: EngineTime) -> TraceContext? {
        guard now.wallMillis - layer.recordMillis < Self.ageMillisMax,
            let parent = TraceContext(
                traceparent: layer.blob.span.extracting(layer.keptTraceparent.range)),
            parent.isSampled
        else { return nil }
        return parent
    }

    /// Whether the crowd's version is traced. This is asked for each answer.
    @inline(__always) func isTraced(_ crowd: CrowdID) -> Bool {
        !self.live.isEmpty && self.isLive(Key(crowd: crowd, isStart: false))
    }
    @inline(never) private func isLive(_ key: Key) -> Bool { self.live[key] != nil }
    var hasRoom: Bool { self.live.count < Self.liveMax }
    mutating func begin(_ key: Key, source: SourcePosition, life: Int64, stampSeconds: Int64) -> PassTraceID {
        self.lastID += 1
        let id = PassTraceID(rawValue: self.lastID)
        self.live[key] = Live(id: id, source: source, life: life, stampSeconds: stampSeconds)
        return id
    }
    mutating func end(_ key: Key) -> Live? { self.live.removeValue(forKey: key) }
    /// Takes the answer to a push of the version or start of `key`.
    /// - Returns: the pass under which the push is reported; `nil`: it is not reported.
    mutating func takeExample(_ key: Key, life: Int64?, stampSeconds: Int64, isAccepted: Bool) -> Live? {
        guard var live = self.live[key], live.stampSeconds == stampSeconds, live.life == life ?? live.life,
            live.takesExample(isAccepted: isAccepted)
        else { return nil }
        self.live[key] = live
        return live
    }
}

extension FanOut {
    // MARK: Begin
    /// Begins traces of what the crowd newly brings to its members.
    /// - Parameter stampSeconds: stamp of the version that has arrived. If the crowd's newest version is another one,
    ///   the arrived version has already expired, and the trace counts as resumed. `nil`: none has arrived, but a
    ///   channel or tokens now bring the newest one.
    @inline(__always) mutating func beginPassTraces(
        _ crowd: CrowdID, taken stampSeconds: Int64?, in core: inout ShardCore, now: EngineTime
    ) {
        guard core.tracesPasses, !self.crowds[crowd].isPaused else { return }
        let isResumed = self.crowds[crowd].newest?.stampSeconds != stampSeconds
        self.beginUpdateTrace(crowd, isResumed: isResumed, in: &core, now: now)
        self.beginStartTrace(crowd, isResumed: false, in: &core, now: now)
    }
    /// Resumes traces of what the crowd had begun to bring.
    @inline(__always) mutating func resumePassTraces(_ crowd: CrowdID, in core: inout ShardCore, now: EngineTime) {
        guard core.tracesPasses, !self.crowds[crowd].isPaused else { return }
        self.beginUpdateTrace(crowd, isResumed: true, in: &core, now: now)
        self.beginStartTrace(crowd, isResumed: true, in: &core, now: now)
    }
    @inline(never) private mutating func beginUpdateTrace(
        _ crowd: CrowdID, isResumed: Bool, in core: inout ShardCore, now: EngineTime
    ) {
        guard !self.traces.isTraced(crowd), let newest = self.crowds[crowd].versionToTrace
        else { return }
        _ = self.beginTrace(
            crowd, layer: newest.layer, life: newest.life, stampSeconds: newest.stampSeconds, isStart: false,
            isResumed: isResumed, in: &core, now: now)
    }
    @inline(never) private mutating func beginStartTrace(
        _ crowd: CrowdID, isResumed: Bool, in core: inout ShardCore, now: EngineTime
    ) {
        guard let order = self.crowds[crowd].startToTrace() else { return }
        let isTraced = self.beginTrace(
            crowd, layer: order.layer, life: order.life, stampSeconds: order.stampSeconds, isStart: true,
            isResumed: isResumed, in: &core, now: now)
        if isTraced { self.crowds[crowd].startTraceBegan() }
    }
    /// Begins a trace.
    /// - Returns: whether the pass is traced.
    private mutating func beginTrace(
        _ crowd: CrowdID, layer: Layer, life: Int64, stampSeconds: Int64, isStart: Bool, isResumed: Bool,
        in core: inout ShardCore, now: EngineTime
    ) -> Bool {
        guard let parent = PassTraces.parent(of: layer, now: now) else { return false }
        guard self.traces.hasRoom else {
            core.memory.traceNotices.append(.passSkipped, of: layer.source)
            return false
        }
        let id = self.traces.begin(
            PassTraces.Key(crowd: crowd, isStart: isStart), source: layer.source, life: life,
            stampSeconds: stampSeconds)
        core.memory.traceNotices.append(
            .passBegan(
                self.crowds[crowd].tracedPass(
                    id, partition: core.memory.partitionNumber(self.crowds[crowd]), life: life,
                    stampSeconds: stampSeconds, isStart: isStart, isResumed: isResumed,
                    recordMillis: layer.recordMillis, parent: parent)),
            of: layer.source)
        return true
    }

    // MARK: Pushes
    /// Reports the answer to a push, if its version or start is traced and the answer is one of the examples.
    @inline(never) mutating func traceAnswer(_ answer: PushAnswer, push: MemberPush, in core: inout ShardCore) {
        let isAccepted =
            switch answer.result {
            case .accepted: true
            case .response(let response): response.verdict == .accepted
            case .channel, .notProcessed, .unknown: false
            }
        let live = self.traces.takeExample(
            PassTraces.Key(crowd: push.crowd, isStart: push.isStart), life: push.isStart ? push.life : nil,
            stampSeconds: push.stampSeconds, isAccepted: isAccepted)
        guard let live else { return }
        core.memory.traceNotices.append(
            .passAnswered(
                live.id,
                TracedMemberPush(
                    route: core.dispatch.lanes[push.lane].route ?? .max, priority: push.priority,
                    apnsIDHigh: push.apnsID.0, apnsIDLow: push.apnsID.1, sentMillis: push.sentMillis,
                    attempt: push.failures.count, answer: answer)),
            of: live.source)
    }

    // MARK: End
    /// Ends traces of passes whose members are all served.
    @inline(__always) mutating func endFinishedPassTraces(_ crowd: CrowdID, in core: inout ShardCore) {
        if self.traces.isTraced(crowd), self.crowds[crowd].isFinished {
            self.endPassTrace(crowd, .finished, in: &core)
        }
        // The start's counts decide, because rounds may still have pushes of an earlier start, or drop a push before
        // its answer is counted.
        if self.crowds[crowd].isStartTraced, self.crowds[crowd].startCounts.waitingCount == 0 {
            self.endStartTrace(crowd, .finished, in: &core)
        }
    }
    /// Ends the traces of the crowd's version and start, because their pushes stop here. After a pause,
    /// `resumePassTraces` begins new traces.
    mutating func endPassTraces(_ crowd: CrowdID, _ end: PassEnd, in core: inout ShardCore) {
        self.endPassTrace(crowd, end, in: &core)
        self.endStartTrace(crowd, end, mayGoOn: true, in: &core)
    }
    /// Ends the trace of the crowd's version, if the version is traced.
    @inline(__always) mutating func endPassTrace(_ crowd: CrowdID, _ end: PassEnd, in core: inout ShardCore) {
        if self.traces.isTraced(crowd) { self.endUpdateTrace(crowd, end, in: &core) }
    }
    @inline(never) private mutating func endUpdateTrace(_ crowd: CrowdID, _ end: PassEnd, in core: inout ShardCore) {
        guard let live = self.traces.end(PassTraces.Key(crowd: crowd, isStart: false)) else { return }
        // The crowd may already count a newer version.
        let counted = self.crowds[crowd].counts(of: live.stampSeconds)
        core.memory.traceNotices.append(.passEnded(live.id, end, PassTally(counted)), of: live.source)
    }
    @inline(__always) mutating func endStartTrace(
        _ crowd: CrowdID, _ end: PassEnd, mayGoOn: Bool = false, in core: inout ShardCore
    ) {
        if self.crowds[crowd].isStartTraced { self.endTraceOfStart(crowd, end, mayGoOn: mayGoOn, in: &core) }
    }
    @inline(never) private mutating func endTraceOfStart(
        _ crowd: CrowdID, _ end: PassEnd, mayGoOn: Bool, in core: inout ShardCore
    ) {
        let counts = self.crowds[crowd].endStartTrace(mayGoOn: mayGoOn)
        guard let live = self.traces.end(PassTraces.Key(crowd: crowd, isStart: true)) else { return }
        core.memory.traceNotices.append(.passEnded(live.id, end, PassTally(counts)), of: live.source)
    }
}
