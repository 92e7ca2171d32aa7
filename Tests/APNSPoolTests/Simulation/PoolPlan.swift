import PushModel

@testable import APNSPool
@testable import PushEngine

/// The plan of one history, drawn from its seed. In each history some faults are off and others are frequent.
struct PoolPlan {
    enum Fault: CaseIterable {
        // Faults during connecting.
        case connectFails, connectHangs, tlsFails, settingsNeverCome
        // Faults of one request.
        case refusedStream, streamReset, answerLost, serverBusy, throttled, tokenDead, messageRefused
        case tokenCalledExpired, tooManyTokenUpdates, shutdownReason
        // Faults of a connection.
        case goAway, goAwayInTwoSteps, goAwayWithError, connectionLost, silent, stalled, frozen
        case limitZero, limitOne, limitHigh, limitAny
        // Faults of APNs, of keys and of clocks as a whole.
        case outage, clockStep, keyWithdrawn, addressesChange
        // A key is added beside the key in use. APNs accepts a good key, and refuses a bad one.
        case goodKeyAppears, badKeyAppears

        /// Faults that are drawn after all others, so that seeds from before these faults keep their histories.
        static let drawnLast: [Fault] = [.goodKeyAppears, .badKeyAppears]
    }

    let seed: UInt64
    var configuration = ConnectionPoolConfiguration()
    var shardCount: Int
    var pushCount: Int
    var faultsEndMillis: Int64
    /// Chance of each fault at each occasion, in thousandths.
    var weights: [Fault: Int] = [:]
    /// Whether APNs refuses the topic of app 2 until the faults end.
    var hasWrongTopic: Bool
    var latencyMillis: ClosedRange<Int64>
    /// Share of a CPU core that the loops claim to use, percent.
    var busyPercent: Int64 = 0

    init(seed: UInt64) {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        self.shardCount = Int.random(in: 1...2, using: &random)
        self.pushCount = Int.random(in: 50...200, using: &random)
        // One history in ten is long enough for tokens to be renewed.
        self.faultsEndMillis = Int.random(in: 0..<10, using: &random) == 0 ? 7_200_000 : 60_000
        self.hasWrongTopic = Int.random(in: 0..<4, using: &random) == 0
        self.latencyMillis = 1...Int64.random(in: 1...40, using: &random)
        for fault in Fault.allCases
        where !Fault.drawnLast.contains(fault) && Int.random(in: 0..<3, using: &random) == 0 {
            self.weights[fault] = Int.random(in: 1...(Bool.random(using: &random) ? 30 : 300), using: &random)
        }
        self.configuration.connectionsMax = Int.random(in: 1...4, using: &random)
        self.configuration.connectionsWarm = Int.random(in: 0...self.configuration.connectionsMax, using: &random)
        self.configuration.streamsPerConnectionMax = Int.random(in: 1...60, using: &random)
        self.configuration.requestsPerConnectionMax =
            Int.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 2...50, using: &random) : 1 << 30
        self.configuration.requestTimeoutMillis = 2_000
        self.configuration.connectTimeoutMillis = 1_000
        self.configuration.drainTimeoutMillis = 500
        self.configuration.pingAfterSilenceMillis = 500
        self.configuration.pingTimeoutMillis = 300
        self.configuration.pingAfterIdleMillis = 20_000
        self.configuration.idleCloseMillis = Int64.random(in: 3_000...60_000, using: &random)
        self.configuration.backoffMinMillis = 20
        self.configuration.backoffMaxMillis = 2_000
        self.configuration.refusedProbeMinMillis = 100
        self.configuration.refusedProbeMaxMillis = 2_000
        self.busyPercent = Int64.random(in: 0...100, using: &random)
        if Bool.random(using: &random) {
            self.configuration.inFlightMin = Int.random(in: 1...10, using: &random)
            self.configuration.inFlightAtFirst = Int.random(in: 1...30, using: &random)
        }
        for fault in Fault.drawnLast where Int.random(in: 0..<3, using: &random) == 0 {
            self.weights[fault] = Int.random(in: 1...30, using: &random)
        }
    }

    /// Whether the history has a fault of the provider token. The effects of such a fault may last Apple's 20 minutes.
    private var touchesToken: Bool {
        [.clockStep, .tokenCalledExpired, .tooManyTokenUpdates, .keyWithdrawn, .badKeyAppears].contains {
            self.weights[$0] != nil
        }
    }

    /// Longest time from the last fault until every push has its result, milliseconds. In that time open requests time
    /// out and drain, and the longest pause ends. Then a connection is made, and a probe is answered. Several pushes
    /// may need all of these steps one after the other.
    var resumeMillisMax: Int64 {
        let configuration = self.configuration
        let once =
            2 * configuration.requestTimeoutMillis + configuration.drainTimeoutMillis
            + configuration.connectTimeoutMillis + configuration.refusedProbeMaxMillis + configuration.backoffMaxMillis
        return 10 * once + (self.hasWrongTopic ? LaneGate.restMillisMax + LaneGate.probeMillis : 0)
            + (self.touchesToken ? 1_300_000 : 0)
    }
}
