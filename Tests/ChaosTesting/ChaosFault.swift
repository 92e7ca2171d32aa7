import PushModel

/// Something that goes wrong, for a while or at once.
package struct ChaosFault: Equatable, Sendable {
    /// What goes wrong, and for how long. Named as in `--faults` and the summary.
    package enum Kind: String, CaseIterable, Sendable {
        /// kill -9, started again after the duration.
        case workerKilled
        /// SIGTERM, started again after the duration, counted from its end.
        case workerStopped
        /// SIGSTOP for less than the group's session timeout.
        case workerPaused
        /// SIGSTOP for longer: others take over while it sleeps, and it wakes up believing.
        case workerPausedPastSession
        /// kill -9 of the simulated APNs, started again after the duration; its phones stay.
        case apnsKilled
        /// GOAWAY at a few requests, those behind them unprocessed.
        case apnsGoAway
        /// Every connection is cut.
        case apnsCut
        /// 500, 503 and 429 for a share of the requests.
        case apnsErrors
        /// 503 for every broadcast, and for nothing else: longer than `channel.fallback`, as a rule.
        case broadcastsRefused
        /// A share of the requests is never answered, half of them although the phone gets the push.
        case apnsSilence
        /// Connections are cut at a share of the requests, half of them although the phone gets the push.
        case apnsLostAnswers
        /// Slow answers.
        case apnsLatency
        /// Brokers drop their connections and refuse new ones.
        case kafkaDown
        /// Writes, commits and heartbeats are refused now and then.
        case kafkaErrors
        /// Slow brokers.
        case kafkaLatency
        /// Kafka refuses some records for good: too large, or without a key. Workers whose partitions halt are started again afterwards.
        case kafkaRefuses
        /// Once: `events` gets more partitions while traffic goes on, and `routed` or `state` in some runs.
        case topicGrown
        /// At the very end, when all else has been judged: `events` or `state` is deleted and made anew under running workers.
        case topicMadeAnew

        /// The group has to share the partitions out anew.
        var movesPartitions: Bool {
            switch self {
            case .workerKilled, .workerStopped, .workerPausedPastSession, .kafkaRefuses, .topicGrown, .topicMadeAnew:
                true
            case .workerPaused, .apnsKilled, .apnsGoAway, .apnsCut, .apnsErrors, .broadcastsRefused, .apnsSilence,
                .apnsLostAnswers, .apnsLatency, .kafkaDown, .kafkaErrors, .kafkaLatency:
                false
            }
        }

        /// Only the embedded cluster can be told to.
        package var needsEmbeddedKafka: Bool {
            switch self {
            case .kafkaDown, .kafkaErrors, .kafkaLatency: true
            case .workerKilled, .workerStopped, .workerPaused, .workerPausedPastSession, .apnsKilled, .apnsGoAway,
                .apnsCut, .apnsErrors, .broadcastsRefused, .apnsSilence, .apnsLostAnswers, .apnsLatency,
                .kafkaRefuses, .topicGrown, .topicMadeAnew:
                false
            }
        }

        /// The embedded cluster can neither add partitions nor delete a topic.
        package var needsRealKafka: Bool { self.isOnce }

        /// It happens once a run, at a time of its own.
        var isOnce: Bool { self == .topicGrown || self == .topicMadeAnew }

        /// Former releases do not live through it as they should.
        package var needsPresentRelease: Bool {
            self.isOnce || self == .kafkaRefuses || self == .broadcastsRefused
        }
    }

    var kind: Kind
    /// When, milliseconds since the faults began.
    var atMillis: Int64
    /// How long; 0: a moment.
    var durationMillis: Int64
    /// A number for whatever is to be chosen: which worker, which error.
    var choice: Int
}

/// When what goes wrong, drawn from a seed: every kind in turn, in an order that changes each time round.
struct ChaosPlan: Sendable {
    /// Workers need this long from the start until the group has shared the partitions out.
    static let quietMillis: Int64 = 5_000

    private(set) var faults: [ChaosFault] = []

    /// - Parameters:
    ///   - durationMillis: the last fault is over by then.
    ///   - sessionTimeoutMillis: of the consumer group.
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
            // Faults overlap: the next comes while this one lasts, or soon after. A group that is never left in peace shares nothing
            // out, and then nothing happens that a fault could spoil.
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
        // Until enough requests have come to be hit.
        case .apnsGoAway: 3_000
        case .workerKilled, .workerStopped, .apnsKilled: Int64.random(in: 0...4_000, using: &random)
        case .workerPaused: Int64.random(in: 300...(sessionTimeoutMillis / 2), using: &random)
        case .workerPausedPastSession:
            sessionTimeoutMillis + Int64.random(in: 2_000...15_000, using: &random)
        // Every third time an outage is longer than any timeout of the worker but shorter than a deployment's patience.
        case .kafkaDown:
            isLong
                ? Int64.random(in: 30_000...60_000, using: &random) : Int64.random(in: 1_000...10_000, using: &random)
        case .broadcastsRefused: Int64.random(in: 4_000...15_000, using: &random)
        case .apnsErrors, .apnsSilence, .apnsLostAnswers, .apnsLatency, .kafkaErrors, .kafkaLatency:
            Int64.random(in: 2_000...10_000, using: &random)
        }
    }
}
