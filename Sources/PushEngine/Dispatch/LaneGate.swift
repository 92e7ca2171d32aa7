import APNSProtocol
import PushModel

/// Stops one lane while APNs refuses the app's topic. Otherwise the lane's pushes would be refused one by one, and slow
/// the connection for all apps. A probe is sent now and then to find out when the refusals are over. Other lanes of the
/// route continue.
struct LaneGate: Sendable {
    /// Number of refusals in a row that close the gate.
    static let streakMax = 3
    static let restMillisMin: Int64 = 30_000
    static let restMillisMax: Int64 = 300_000
    /// How long a probe's answer is awaited, milliseconds. Then another probe is sent.
    static let probeMillis: Int64 = 60_000

    private var gate = RouteGate(
        streakMax: LaneGate.streakMax, restMillisMin: LaneGate.restMillisMin, restMillisMax: LaneGate.restMillisMax)
    /// Until when the current probe's answer is awaited (steady clock); `nil`: no probe is out.
    private var probeUntilMillis: Int64?

    /// Whether nothing may leave now.
    private(set) var isClosed = false
    /// Whether a push that leaves, or an answer that does not refuse the topic, could change the gate. If not, the gate
    /// need not be informed.
    private(set) var isWatching = false

    /// Closes the gate until the answer, if the push that left is the probe.
    mutating func left(now: EngineTime) {
        guard self.gate.state == .probing else { return }
        self.probeUntilMillis = now.steadyMillis + Self.probeMillis
        self.isClosed = true
    }

    /// Takes APNs' refusal of the topic.
    /// - Returns: whether the gate was open and has closed now, which an operator should know.
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

    /// Takes an answer by which APNs accepts the topic: the push was accepted, or the answer is only about its device
    /// token.
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

    /// Takes an answer that says nothing about the topic. If it was the probe's answer, another probe is sent.
    mutating func answeredOtherwise() {
        guard self.probeUntilMillis != nil else { return }
        self.probeUntilMillis = nil
        self.isClosed = false
    }

    /// When `advance` has something to do (steady clock); `nil`: never.
    var nextDeadlineMillis: Int64? { self.probeUntilMillis ?? self.gate.nextDeadlineMillis }

    /// Advances the gate to this time.
    /// - Returns: whether it opened.
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
