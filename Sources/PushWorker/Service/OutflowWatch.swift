import PushEngine
import PushModel

/// Notices that events arrive and no push leaves, although each event has its outcome and every partition makes
/// progress. Possible causes are a lost `state`, tokens that were registered elsewhere, and a publisher that repeats an
/// old log.
///
/// The caller passes the time and the counters regularly. The watch considers the last ten minutes.
struct OutflowWatch {
    static let windowMillis: Int64 = 600_000
    /// The watch complains only if more updates and starts than this arrive within the window.
    static let takenMax: UInt64 = 100
    /// The watch complains only if at least this percentage of the outcomes came without a push.
    static let unsentPercent: UInt64 = 95
    /// Outcomes of events that no push was made for. `applied` is left out, because an applied event needs no push.
    static let unsentOutcomes: [Outcome] = [.unregistered, .duplicate, .expired, .superseded]
    /// The least time between samples, so that their number is bounded.
    private static let distanceMillis: Int64 = 10_000

    /// The worker's counters that matter here.
    struct Counts: Equatable {
        /// Number of updates and starts taken.
        var taken: UInt64 = 0
        var accepted: UInt64 = 0
        /// Number of events by `Outcome.rawValue`.
        var outcomes = [UInt64](repeating: 0, count: Outcome.allCases.count)

        init() {}
        init(_ engine: EngineCounters) {
            self.taken = engine.updatesTaken
            self.accepted = engine.pushesAccepted + engine.channelBroadcastsAccepted
            self.outcomes = engine.outcomes
        }
    }

    /// The samples, oldest first. From the time before the window, only the newest sample is kept.
    private var samples: [(millis: Int64, counts: Counts)] = []

    /// Takes the counters of this moment.
    /// - Returns: the complaint; `nil` when nothing is wrong, or the samples do not cover the window yet.
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
            "events arrive and nothing is pushed: of \(taken) updates and starts in ten minutes APNs accepted none (\(names))"
    }
}
