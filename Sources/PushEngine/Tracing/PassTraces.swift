import APNSProtocol
import PushModel

/// The passes of a shard of which is told, and how many of their pushes were (fan-out contract: Passes). A version has brought the context along that its event carries:
/// in `routed` as in `state` it lies among what is known of the event, so that every release can read it.
struct PassTraces {
    /// More are not traced at a time.
    static let liveMax = 256
    /// Of each pass the first pushes that are answered are told,
    static let examplesMax = 8
    /// and then so many that APNs has not taken.
    static let failedExamplesMax = 8
    /// Of what was published longer ago no trace begins: who joins an hour after a goal is of no interest to whoever looks at its trace.
    static let ageMillisMax: Int64 = 3_600_000

    /// A crowd brings one version, and one start, at a time.
    struct Key: Hashable {
        var crowd: CrowdID
        var isStart: Bool
    }
    struct Live {
        var id: PassTraceID
        /// Of the event that speaks for it.
        var source: SourcePosition
        var life: Int64
        var stampSeconds: Int64
        var exampleCount = 0
        var failedExampleCount = 0

        /// Whether a push is to be told.
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

    /// Somebody keeps traces.
    var isOn = false
    private var live: [Key: Live] = [:]
    private var lastID: UInt64 = 0

    /// What a pass of a version, or its broadcast, is below; `nil`: it is not told.
    static func parent(of layer: Layer, now: EngineTime) -> TraceContext? {
        guard now.wallMillis - layer.recordMillis < Self.ageMillisMax,
            let parent = TraceContext(
                traceparent: layer.blob.span.extracting(layer.keptTraceparent.range)),
            parent.isSampled
        else { return nil }
        return parent
    }

    /// Whether the version is told that the crowd brings. Asked for each answer.
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
    /// A push that brings this has been answered.
    /// - Returns: `nil`: it is not told.
    mutating func takeExample(_ key: Key, life: Int64?, stampSeconds: Int64, isAccepted: Bool) -> Live? {
        guard var live = self.live[key], live.stampSeconds == stampSeconds, live.life == life ?? live.life,
            live.takesExample(isAccepted: isAccepted)
        else { return nil }
        self.live[key] = live
        return live
    }
}

extension ShardEngine {
    /// Whether somebody keeps traces: passes are told of among what `takeTraceNotes` hands over. False at first.
    public var tracesPasses: Bool {
        get { self.audiences.traces.isOn }
        set { self.audiences.traces.isOn = newValue }
    }

    // MARK: Begin
    /// The crowd has something new to bring to its members.
    /// - Parameter stampSeconds: of the version that has come. Another goes on: that one has expired on its way, or there was none, and a channel does
    ///   not bring any more what it was to bring.
    @inline(__always) mutating func beginPassTraces(_ crowd: CrowdID, taken stampSeconds: Int64?, now: EngineTime) {
        guard self.audiences.traces.isOn, !self.audiences.crowds[crowd].isPaused else { return }
        let isResumed = self.audiences.crowds[crowd].newest?.stampSeconds != stampSeconds
        self.beginUpdateTrace(crowd, isResumed: isResumed, now: now)
        self.beginStartTrace(crowd, isResumed: false, now: now)
    }
    /// The crowd goes on with what it had.
    @inline(__always) mutating func resumePassTraces(_ crowd: CrowdID, now: EngineTime) {
        guard self.audiences.traces.isOn, !self.audiences.crowds[crowd].isPaused else { return }
        self.beginUpdateTrace(crowd, isResumed: true, now: now)
        self.beginStartTrace(crowd, isResumed: true, now: now)
    }
    @inline(never) private mutating func beginUpdateTrace(_ crowd: CrowdID, isResumed: Bool, now: EngineTime) {
        guard !self.audiences.traces.isTraced(crowd), let newest = self.audiences.crowds[crowd].newest,
            // What is on its way is of a version before.
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
    /// - Returns: whether it is traced.
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
    /// A push of a crowd that is traced was answered.
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
    /// Nobody may be owed anything any more.
    @inline(__always) mutating func endFinishedPassTraces(_ crowd: CrowdID) {
        if self.audiences.traces.isTraced(crowd), self.audiences.crowds[crowd].isFinished {
            self.endPassTrace(crowd, .finished)
        }
        // Its rounds also know pushes of a start before, and know of an answer before it is counted.
        if self.audiences.crowds[crowd].starts.trace == .told,
            self.audiences.crowds[crowd].startCounts.waitingCount == 0
        {
            self.endStartTrace(crowd, .finished)
        }
    }
    /// Neither a version nor a start goes on here.
    mutating func endPassTraces(_ crowd: CrowdID, _ end: PassEnd) {
        self.endPassTrace(crowd, end)
        self.endStartTrace(crowd, end, mayGoOn: true)
    }
    /// The version that is traced goes on no longer.
    @inline(__always) mutating func endPassTrace(_ crowd: CrowdID, _ end: PassEnd) {
        if self.audiences.traces.isTraced(crowd) { self.endUpdateTrace(crowd, end) }
    }
    @inline(never) private mutating func endUpdateTrace(_ crowd: CrowdID, _ end: PassEnd) {
        guard let live = self.audiences.traces.end(PassTraces.Key(crowd: crowd, isStart: false)) else { return }
        // A newer one may be counted already.
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
