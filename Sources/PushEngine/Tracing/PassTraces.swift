import APNSProtocol
import PushModel

/// The traced passes of a shard, and how many of their pushes were reported (fan-out contract: Passes). A version
/// carries its event's trace context. In `routed` as in `state` the context is stored with what is known of the event,
/// so that every release can read it.
struct PassTraces {
    /// The largest number of passes traced at a time.
    static let liveMax = 256
    /// Number of a pass's first answered pushes that are reported.
    static let examplesMax = 8
    /// Number of pushes that APNs has not taken and that are reported after the first ones.
    static let failedExamplesMax = 8
    /// Age up to which an event's passes are traced, milliseconds. A member that joins an hour after a goal does not
    /// interest anyone who looks at the goal's trace.
    static let ageMillisMax: Int64 = 3_600_000

    /// Names a pass: a crowd brings one version, and one start, at a time.
    struct Key: Hashable {
        var crowd: CrowdID
        var isStart: Bool
    }
    struct Live {
        var id: PassTraceID
        /// The event that speaks for what the pass brings.
        var source: SourcePosition
        var life: Int64
        var stampSeconds: Int64
        var exampleCount = 0
        var failedExampleCount = 0

        /// Whether a push is reported.
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

    /// Whether somebody keeps traces.
    var isOn = false
    private var live: [Key: Live] = [:]
    private var lastID: UInt64 = 0

    /// The span under which a pass of a version, or its broadcast, is reported; `nil`: it is not reported.
    static func parent(of layer: Layer, now: EngineTime) -> TraceContext? {
        guard now.wallMillis - layer.recordMillis < Self.ageMillisMax,
            let parent = TraceContext(
                traceparent: layer.blob.span.extracting(layer.keptTraceparent.range)),
            parent.isSampled
        else { return nil }
        return parent
    }

    /// Whether the version that the crowd brings is traced. Asked for each answer.
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
    /// Takes note of an answered push that brings the version or start of `key`.
    /// - Returns: the pass under which it is reported; `nil`: it is not.
    mutating func takeExample(_ key: Key, life: Int64?, stampSeconds: Int64, isAccepted: Bool) -> Live? {
        guard var live = self.live[key], live.stampSeconds == stampSeconds, live.life == life ?? live.life,
            live.takesExample(isAccepted: isAccepted)
        else { return nil }
        self.live[key] = live
        return live
    }
}

extension ShardEngine {
    /// Whether somebody keeps traces. `takeTraceNotes` then hands over notes of passes. False at first.
    public var tracesPasses: Bool {
        get { self.audiences.traces.isOn }
        set { self.audiences.traces.isOn = newValue }
    }

    // MARK: Begin
    /// Begins traces of what the crowd newly brings to its members.
    /// - Parameter stampSeconds: stamp of the version that has arrived. A trace of another stamp goes on. The new
    ///   version expired on its way, or there was none and a channel no longer brings what it was to bring.
    @inline(__always) mutating func beginPassTraces(_ crowd: CrowdID, taken stampSeconds: Int64?, now: EngineTime) {
        guard self.audiences.traces.isOn, !self.audiences.crowds[crowd].isPaused else { return }
        let isResumed = self.audiences.crowds[crowd].versions.newest?.stampSeconds != stampSeconds
        self.beginUpdateTrace(crowd, isResumed: isResumed, now: now)
        self.beginStartTrace(crowd, isResumed: false, now: now)
    }
    /// Resumes traces of what the crowd had begun to bring.
    @inline(__always) mutating func resumePassTraces(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.traces.isOn, !self.audiences.crowds[crowd].isPaused else { return }
        self.beginUpdateTrace(crowd, isResumed: true, now: now)
        self.beginStartTrace(crowd, isResumed: true, now: now)
    }
    @inline(never) private mutating func beginUpdateTrace(_ crowd: CrowdID, isResumed: Bool, now: EngineTime) {
        guard !self.audiences.traces.isTraced(crowd), let newest = self.audiences.crowds[crowd].versions.newest,
            // What is in flight belongs to an earlier version.
            self.audiences.crowds[crowd].passes.contains(where: { $0.unsentCount > 0 })
        else { return }
        _ = self.beginTrace(
            crowd, layer: newest.layer, life: newest.life, stampSeconds: newest.stampSeconds, isStart: false,
            isResumed: isResumed, now: now)
    }
    @inline(never) private mutating func beginStartTrace(_ crowd: CrowdID, isResumed: Bool, now: EngineTime) {
        guard let order = self.audiences.crowds[crowd].starts.traceLooked(),
            self.audiences.crowds[crowd].startCounts.waitingCount > 0
        else { return }
        let isTold = self.beginTrace(
            crowd, layer: order.layer, life: order.life, stampSeconds: order.stampSeconds, isStart: true,
            isResumed: isResumed, now: now)
        if isTold { self.audiences.crowds[crowd].starts.traceBegan() }
    }
    /// Begins a trace.
    /// - Returns: whether the pass is traced.
    private mutating func beginTrace(
        _ crowd: CrowdID, layer: Layer, life: Int64, stampSeconds: Int64, isStart: Bool, isResumed: Bool,
        now: EngineTime
    ) -> Bool {
        guard let parent = PassTraces.parent(of: layer, now: now) else { return false }
        guard self.audiences.traces.hasRoom else {
            self.memory.traceNotes.append(.passSkipped, of: layer.source)
            return false
        }
        let id = self.audiences.traces.begin(
            PassTraces.Key(crowd: crowd, isStart: isStart), source: layer.source, life: life,
            stampSeconds: stampSeconds)
        self.memory.traceNotes.append(
            .passBegan(
                TracedPass(
                    id: id, app: self.audiences.crowds[crowd].app, audience: self.audiences.crowds[crowd].id,
                    partition: self.memory.partitions[self.audiences.crowds[crowd].partition].number, life: life,
                    stampSeconds: stampSeconds, isStart: isStart, isResumed: isResumed,
                    recordMillis: layer.recordMillis, parent: parent)),
            of: layer.source)
        return true
    }

    // MARK: Pushes
    /// Reports the answer to a push of a traced crowd.
    @inline(never) mutating func traceAnswer(_ answer: PushAnswer, push: MemberPush) {
        let isAccepted =
            switch answer.result {
            case .accepted: true
            case .response(let response): response.verdict == .accepted
            case .channel, .notProcessed, .unknown: false
            }
        let live = self.audiences.traces.takeExample(
            PassTraces.Key(crowd: push.crowd, isStart: push.isStart), life: push.isStart ? push.life : nil,
            stampSeconds: push.stampSeconds, isAccepted: isAccepted)
        guard let live else { return }
        self.memory.traceNotes.append(
            .passAnswered(
                live.id,
                TracedMemberPush(
                    route: self.dispatch.lanes[push.lane].route ?? .max, priority: push.priority,
                    apnsIDHigh: push.apnsID.0, apnsIDLow: push.apnsID.1, sentMillis: push.sentMillis,
                    attempt: push.tries, answer: answer)),
            of: live.source)
    }

    // MARK: End
    /// Ends traces of passes whose members are all served.
    @inline(__always) mutating func endFinishedPassTraces(_ crowd: CrowdID) {
        if self.audiences.traces.isTraced(crowd), self.audiences.crowds[crowd].isFinished {
            self.endPassTrace(crowd, .finished)
        }
        // Its rounds also know pushes of an earlier start, and know of an answer before it is counted.
        if self.audiences.crowds[crowd].starts.trace == .told,
            self.audiences.crowds[crowd].startCounts.waitingCount == 0
        {
            self.endStartTrace(crowd, .finished)
        }
    }
    /// Ends the traces of the crowd: neither its version nor its start goes on here.
    mutating func endPassTraces(_ crowd: CrowdID, _ end: PassEnd) {
        self.endPassTrace(crowd, end)
        self.endStartTrace(crowd, end, mayGoOn: true)
    }
    /// Ends the trace of the crowd's version, which goes on no longer.
    @inline(__always) mutating func endPassTrace(_ crowd: CrowdID, _ end: PassEnd) {
        if self.audiences.traces.isTraced(crowd) { self.endUpdateTrace(crowd, end) }
    }
    @inline(never) private mutating func endUpdateTrace(_ crowd: CrowdID, _ end: PassEnd) {
        guard let live = self.audiences.traces.end(PassTraces.Key(crowd: crowd, isStart: false)) else { return }
        // A newer version may be counted already.
        let counted = self.audiences.crowds[crowd].counts(of: live.stampSeconds)
        self.memory.traceNotes.append(.passEnded(live.id, end, PassTally(counted)), of: live.source)
    }
    @inline(__always) mutating func endStartTrace(_ crowd: CrowdID, _ end: PassEnd, mayGoOn: Bool = false) {
        if self.audiences.crowds[crowd].starts.trace == .told { self.endTraceOfStart(crowd, end, mayGoOn: mayGoOn) }
    }
    @inline(never) private mutating func endTraceOfStart(_ crowd: CrowdID, _ end: PassEnd, mayGoOn: Bool) {
        self.audiences.crowds[crowd].starts.traceEnded(mayGoOn: mayGoOn)
        guard let live = self.audiences.traces.end(PassTraces.Key(crowd: crowd, isStart: true)) else { return }
        let tally = PassTally(self.audiences.crowds[crowd].startCounts)
        self.memory.traceNotes.append(.passEnded(live.id, end, tally), of: live.source)
    }
}
