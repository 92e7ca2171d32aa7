import PushModel

/// Something that the run makes go wrong, for a while or for a moment.
package struct ChaosFault: Equatable, Sendable {
    /// What goes wrong. The names are those of `--faults` and the summary.
    package enum Kind: String, CaseIterable, Sendable {
        /// kill -9 of a worker, which is started again after the duration.
        case workerKilled
        /// SIGTERM to a worker, which is started again when it has ended and the duration is over.
        case workerStopped
        /// SIGSTOP of a worker for less than the group's session timeout.
        case workerPaused
        /// SIGSTOP of a worker for longer than the session timeout. Other workers take over meanwhile. The paused
        /// worker then continues as if it still owned its partitions.
        case workerPausedPastSession
        /// kill -9 of the simulated APNs, which is started again after the duration. Its phones stay.
        case apnsKilled
        /// GOAWAY of APNs at a few requests. APNs does not process requests that were sent after these on the same
        /// connections.
        case apnsGoAway
        /// A cut of every connection to APNs.
        case apnsCut
        /// 500, 503 or 429 for a share of the requests.
        case apnsErrors
        /// 503 for every broadcast, and for nothing else. It usually lasts longer than `channel.fallback`.
        case broadcastsRefused
        /// No answer to a share of the requests. In half of these faults the phone still gets the push.
        case apnsSilence
        /// A cut of connections at a share of the requests. In half of these faults the phone still gets the push.
        case apnsLostAnswers
        /// Slow answers of APNs.
        case apnsLatency
        /// Brokers that drop their connections and refuse new ones.
        case kafkaDown
        /// Writes, commits and heartbeats that are refused now and then.
        case kafkaErrors
        /// Slow brokers.
        case kafkaLatency
        /// Kafka refuses some records for good, for example because they are too large or have no key. Workers whose
        /// partitions halt are started again afterwards.
        case kafkaRefuses
        /// `events` gets more partitions under traffic, and in some runs `routed` or `state` does, too. This happens
        /// once.
        case topicGrown
        /// `events` or `state` is deleted and made anew under running workers, at the very end, after everything else
        /// has been judged.
        case topicMadeAnew

        /// Whether the group may have to distribute the partitions again.
        var movesPartitions: Bool {
            switch self {
            case .workerKilled, .workerStopped, .workerPausedPastSession, .kafkaRefuses, .topicGrown, .topicMadeAnew:
                true
            case .workerPaused, .apnsKilled, .apnsGoAway, .apnsCut, .apnsErrors, .broadcastsRefused, .apnsSilence,
                .apnsLostAnswers, .apnsLatency, .kafkaDown, .kafkaErrors, .kafkaLatency:
                false
            }
        }

        /// Whether only the embedded cluster can have this fault.
        package var needsEmbeddedKafka: Bool {
            switch self {
            case .kafkaDown, .kafkaErrors, .kafkaLatency: true
            case .workerKilled, .workerStopped, .workerPaused, .workerPausedPastSession, .apnsKilled, .apnsGoAway,
                .apnsCut, .apnsErrors, .broadcastsRefused, .apnsSilence, .apnsLostAnswers, .apnsLatency,
                .kafkaRefuses, .topicGrown, .topicMadeAnew:
                false
            }
        }

        /// Whether the fault needs a real Kafka. The embedded cluster can neither add partitions nor delete a topic.
        package var needsRealKafka: Bool { self.isOnce }

        /// Whether the fault happens once in a run, at a time of its own.
        var isOnce: Bool { self == .topicGrown || self == .topicMadeAnew }

        /// Whether the fault needs the present release, because former releases do not handle it correctly.
        package var needsPresentRelease: Bool {
            self.isOnce || self == .kafkaRefuses || self == .broadcastsRefused
        }
    }

    var kind: Kind
    /// When the fault begins, milliseconds since the faults began.
    var atMillis: Int64
    /// How long the fault lasts. 0 means a moment.
    var durationMillis: Int64
    /// A random number that chooses details of the fault, such as the worker or the error.
    var choice: Int
}

/// Which faults happen when, drawn from a seed. Faults come in rounds. Each round has every kind once, in an order of
/// its own. Only the last round may be incomplete.
struct ChaosPlan: Sendable {
    /// How long workers need from the start until the group has distributed the partitions.
    static let quietMillis: Int64 = 5_000

    private(set) var faults: [ChaosFault] = []

    /// Draws a plan.
    /// - Parameters:
    ///   - durationMillis: time by which the last fault is over.
    ///   - sessionTimeoutMillis: session timeout of the consumer group.
    init(
        seed: UInt64, durationMillis: Int64, sessionTimeoutMillis: Int64, kinds: [ChaosFault.Kind]
    ) {
        var random = SplitMix64(seed: seed)
        if kinds.contains(.topicGrown) {
            self.faults = [
                ChaosFault(
                    kind: .topicGrown, atMillis: max(Self.quietMillis, durationMillis / 2), durationMillis: 0,
                    choice: Int.random(in: 0..<1_000, using: &random))
            ].filter { $0.atMillis <= durationMillis }
        }
        defer { self.faults.sort { $0.atMillis < $1.atMillis } }
        let kinds = kinds.filter { !$0.isOnce }
        var atMillis = Self.quietMillis
        var round: [ChaosFault.Kind] = []
        var roundCount = 0
        while !kinds.isEmpty {
            if round.isEmpty {
                round = kinds.shuffled(using: &random)
                roundCount += 1
            }
            let kind = round.removeLast()
            let isLong = roundCount % 3 == 0
            let duration = Self.durationMillis(
                kind, isLong: isLong, sessionTimeoutMillis: sessionTimeoutMillis, random: &random)
            let fault = ChaosFault(
                kind: kind, atMillis: atMillis, durationMillis: duration,
                choice: Int.random(in: 0..<1_000, using: &random))
            guard atMillis < durationMillis else { return }
            if atMillis + duration <= durationMillis { self.faults.append(fault) }
            // Faults overlap: the next one begins during this one, or soon after. It comes later after a fault that
            // moves partitions, because a group without rest never distributes them. Then no work is done that a fault
            // could disturb.
            atMillis +=
                kind.movesPartitions
                ? Int64.random(in: 2_000...(4 * sessionTimeoutMillis), using: &random)
                : Int64.random(in: 1_000...6_000, using: &random)
        }
    }

    private static func durationMillis(
        _ kind: ChaosFault.Kind, isLong: Bool, sessionTimeoutMillis: Int64, random: inout SplitMix64
    ) -> Int64 {
        switch kind {
        case .apnsCut, .topicGrown, .topicMadeAnew: 0
        case .kafkaRefuses: Int64.random(in: 6_000...12_000, using: &random)
        // This is long enough for some requests to meet the fault.
        case .apnsGoAway: 3_000
        case .workerKilled, .workerStopped, .apnsKilled: Int64.random(in: 0...4_000, using: &random)
        case .workerPaused: Int64.random(in: 300...(sessionTimeoutMillis / 2), using: &random)
        case .workerPausedPastSession:
            sessionTimeoutMillis + Int64.random(in: 2_000...15_000, using: &random)
        // In every third round an outage is longer than any timeout of the worker, but shorter than a deployment would
        // wait.
        case .kafkaDown:
            isLong
                ? Int64.random(in: 30_000...60_000, using: &random) : Int64.random(in: 1_000...10_000, using: &random)
        case .broadcastsRefused: Int64.random(in: 4_000...15_000, using: &random)
        case .apnsErrors, .apnsSilence, .apnsLostAnswers, .apnsLatency, .kafkaErrors, .kafkaLatency:
            Int64.random(in: 2_000...10_000, using: &random)
        }
    }
}
