import PushEngine
import PushModel

/// Notices that events come and nothing leaves: each event has its outcome, no partition stands still, and no phone shows anything of it. A lost
/// `state`, tokens that were registered elsewhere, or a publisher that repeats an old log look like that.
///
/// It is told the time and the counters now and then, and looks at the last ten minutes.
struct OutflowWatch {
    static let windowMillis: Int64 = 600_000
    /// So few events say nothing.
    static let takenMax: UInt64 = 100
    /// How many of a hundred outcomes say that nothing was to be sent.
    static let unsentPercent: UInt64 = 95
    /// Outcomes of events that no push was made for. Of an `applied` event none is expected.
    static let unsentOutcomes: [Outcome] = [.unregistered, .duplicate, .expired, .superseded]
    /// Samples lie no nearer, so that their number is bounded.
    private static let distanceMillis: Int64 = 10_000

    /// What of a worker's counters matters here.
    struct Counts: Equatable {
        /// Updates and starts.
        var taken: UInt64 = 0
        var accepted: UInt64 = 0
        /// By `Outcome.rawValue`.
        var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)

        init() {}
        init(_ engine: EngineCounters) {
            self.taken = engine.updatesTaken
            self.accepted = engine.pushesAccepted + engine.channelBroadcastsAccepted
            self.outcomes = engine.outcomes
        }
    }

    /// Oldest first; of those from before the window only the newest.
    private var samples: [(millis: Int64, counts: Counts)] = []

    /// - Returns: the complaint; `nil`: something leaves, too little comes, or it is not known for so long.
    mutating func look(_ counts: Counts, nowMillis: Int64) -> String? {
        if nowMillis - (self.samples.last?.millis ?? .min / 2) >= Self.distanceMillis {
            self.samples.append((nowMillis, counts))
        }
        let begin = nowMillis - Self.windowMillis
        while self.samples.count > 1, self.samples[1].millis <= begin { self.samples.removeFirst() }
        guard let first = self.samples.first, first.millis <= begin else { return nil }
        let taken = counts.taken &- first.counts.taken
        guard taken > Self.takenMax, counts.accepted == first.counts.accepted else { return nil }
        func became(_ outcome: Outcome) -> UInt64 {
            counts.outcomes[Int(outcome.rawValue)] &- first.counts.outcomes[Int(outcome.rawValue)]
        }
        let all = Outcome.allCases.reduce(0) { $1 == .applied ? $0 : $0 + became($1) }
        let unsent = Self.unsentOutcomes.filter { became($0) > 0 }
        let unsentCount = unsent.reduce(0) { $0 + became($1) }
        guard all > 0, unsentCount * 100 >= all * Self.unsentPercent else { return nil }
        let names = unsent.map { "\(became($0)) \($0.name)" }.joined(separator: ", ")
        return
            "events come and nothing leaves: of \(taken) updates and starts in ten minutes APNs accepted none (\(names))"
    }
}
