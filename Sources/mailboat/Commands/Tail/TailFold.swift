import CommandSupport
import KafkaLog

/// Shortens outcomes that an audience brings by the hundred, such as the joins before a match. Shows the first one, and
/// counts those like it that follow.
struct TailFold {
    /// What folded outcomes have in common.
    private struct Kind: Equatable {
        var outcome: String
        var app: String?
        var audience: String
        var version: Int64?
        var reason: String?
        var status: Int?
    }

    /// How long outcomes are counted before the count is shown.
    static let countingMax = Duration.seconds(1)

    private let isColoured: Bool
    private var kind: Kind?
    private var counted: (count: Int, since: ContinuousClock.Instant, line: OutcomeLine, record: OwnedRecord)?

    init(isColoured: Bool) { self.isColoured = isColoured }

    /// The lines to show now.
    mutating func take(_ line: OutcomeLine, _ record: OwnedRecord, now: ContinuousClock.Instant) -> [String] {
        let kind = Self.kind(line)
        guard let kind, kind == self.kind else {
            let rest = self.settle()
            self.kind = kind
            return rest + [TailText.line(line, record, isColoured: self.isColoured)]
        }
        self.counted = ((self.counted?.count ?? 0) + 1, self.counted?.since ?? now, line, record)
        return self.tick(now: now)
    }

    /// The count, if it is old enough to be shown.
    mutating func tick(now: ContinuousClock.Instant) -> [String] {
        guard let counted, now - counted.since >= Self.countingMax else { return [] }
        return self.settle()
    }

    /// The count to show, if there is one. Counting starts over.
    mutating func settle() -> [String] {
        guard let counted else { return [] }
        self.counted = nil
        return [
            TailText.line(counted.line, counted.record, isColoured: self.isColoured, alikeCount: counted.count)
        ]
    }

    /// The kind of an outcome that comes by the hundred; `nil`: the outcome is always shown. An `audience` record sums
    /// up a version with new numbers each time, so it is always shown.
    private static func kind(_ line: OutcomeLine) -> Kind? {
        guard let audience = line.audience, line.outcome != "audience" else { return nil }
        return Kind(
            outcome: line.outcome, app: line.app, audience: audience, version: line.version, reason: line.reason,
            status: line.status)
    }
}
