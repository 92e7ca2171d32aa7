import APNSProtocol
import PushModel

/// Holds back one app on one route while APNs refuses its topic: its pushes would be refused one by one, slow the
/// connection for everybody and tell nothing new. A probe now and then finds out when it is over. The other apps of the
/// route go on.
struct LaneGate: Sendable {
    /// Refusals in a row that close it.
    static let streakMax = 3
    static let restMillisMin: Int64 = 30_000
    static let restMillisMax: Int64 = 300_000
    /// A probe whose answer has not come after this long is given up for another.
    static let probeMillis: Int64 = 60_000

    private var gate = RouteGate(
        streakMax: LaneGate.streakMax, restMillisMin: LaneGate.restMillisMin, restMillisMax: LaneGate.restMillisMax)
    /// Until when the probe that is out is waited for.
    private var probeUntilMillis: Int64?

    /// Nothing may leave now.
    private(set) var isClosed = false
    /// An answer or a departure would change something: without it neither need be told.
    private(set) var isWatching = false

    /// A push left.
    mutating func left(now: EngineTime) {
        guard self.gate.state == .probing else { return }
        self.probeUntilMillis = now.steadyMillis + Self.probeMillis
        self.isClosed = true
    }

    /// APNs refused the topic. `true`: the lane is closed by it, which an operator should know.
    mutating func refused(now: EngineTime, using random: inout some RandomNumberGenerator) -> Bool {
        self.isWatching = true
        switch self.gate.failed(now: now, using: &random) {
        case .none:
            return false
        case .trip:
            self.close()
            return true
        case .restAgain:
            self.close()
            return false
        }
    }

    /// APNs took the topic: the push was accepted, or only its device token refused.
    mutating func accepted() {
        switch self.gate.succeeded() {
        case .none:
            self.isWatching = self.gate.state != .flowing
        case .resume:
            self.gate.reset()
            self.probeUntilMillis = nil
            self.isClosed = false
            self.isWatching = false
        }
    }

    /// An answer that says nothing about the topic: the probe, if it was one, is tried again.
    mutating func answeredOtherwise() {
        guard self.probeUntilMillis != nil else { return }
        self.probeUntilMillis = nil
        self.isClosed = false
    }

    /// When `advance` has something to do.
    var nextDeadlineMillis: Int64? { self.probeUntilMillis ?? self.gate.nextDeadlineMillis }

    /// `true`: it opened.
    mutating func advance(now: EngineTime) -> Bool {
        if let until = self.probeUntilMillis {
            guard now.steadyMillis >= until else { return false }
            self.answeredOtherwise()
            return true
        }
        guard self.gate.advance(now: now) else { return false }
        self.isClosed = false
        return true
    }

    private mutating func close() {
        self.probeUntilMillis = nil
        self.isClosed = true
    }
}
