import Foundation
import KafkaLog

/// Collects what the outcomes topic says about starts as a whole: `start-pass` records, and `starts` in `audience`
/// records.
struct StartRecords {
    /// A version that brought a start.
    struct Version: Hashable {
        var audience: String
        var life: Int64
        var version: Int64
    }

    /// Numbers of start members by the result of a start.
    struct Counts: Decodable, Equatable {
        var members = 0
        var accepted = 0
        var superseded = 0
        var expired = 0
        var gone = 0
        var failed = 0
        var unknown = 0
        var left = 0
        var waiting = 0

        /// Whether every due member is counted once: by its outcome, or as waiting.
        var isConserved: Bool {
            self.members == self.accepted + self.superseded + self.expired + self.gone + self.failed + self.unknown
                + self.left + self.waiting
        }

        static func + (a: Self, b: Self) -> Self {
            Self(
                members: a.members + b.members, accepted: a.accepted + b.accepted,
                superseded: a.superseded + b.superseded, expired: a.expired + b.expired, gone: a.gone + b.gone,
                failed: a.failed + b.failed, unknown: a.unknown + b.unknown, left: a.left + b.left,
                waiting: a.waiting + b.waiting)
        }
    }

    private struct Head: Decodable {
        var outcome: String
        var audience: String?
        var life: Int64?
        var version: Int64?
        var partition: Int32?
        var starts: Counts?
    }

    /// All counts that each partition reported, by version, the newest last.
    private(set) var passes: [Version: [Int32: [Counts]]] = [:]
    /// Last counts of the audience's owner, by version.
    private(set) var sums: [Version: Counts] = [:]

    /// Reads the records. A record that Kafka took late may be stored behind a newer one, but keeps its earlier time.
    /// - Parameter outcomes: records of the topic, partition by partition, in order.
    init(_ outcomes: [OwnedRecord]) throws {
        let decoder = JSONDecoder()
        for record in outcomes.sorted(by: { $0.timestampMillis < $1.timestampMillis }) {
            let key = record.key ?? []
            guard key.starts(with: Array("start-pass/".utf8)) || key.starts(with: Array("audience/".utf8)) else {
                continue
            }
            let data = Data(record.value ?? [])
            let head = try decoder.decode(Head.self, from: data)
            guard let audience = head.audience, let life = head.life, let number = head.version else { continue }
            let version = Version(audience: audience, life: life, version: number)
            if head.outcome == "start-pass", let partition = head.partition {
                self.passes[version, default: [:]][partition, default: []].append(
                    try decoder.decode(Counts.self, from: data))
            } else if let starts = head.starts {
                self.sums[version] = starts
            }
        }
    }

    /// Last counts of a partition for an audience's newest start.
    func newest(of audience: String, partition: Int32) -> Counts {
        let newest = self.passes.keys.filter { $0.audience == audience }.max {
            ($0.life, $0.version) < ($1.life, $1.version)
        }
        return newest.flatMap { self.passes[$0]?[partition]?.last } ?? Counts()
    }

    /// Sum of the last counts of all partitions.
    var total: Counts {
        self.passes.values.flatMap(\.values).compactMap(\.last).reduce(Counts(), +)
    }

    /// Sum of the last counts of the audiences' owners.
    var summed: Counts { self.sums.values.reduce(Counts(), +) }
}
