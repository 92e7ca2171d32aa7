import Foundation

/// A turn of a shard that took long, as its worker measured it. Pushes count as sent when the turn begins, but may
/// leave up to its end.
struct WorkerStall: Equatable {
    /// When the turn began, milliseconds since 1970.
    var beganMillis: Int64
    var endedMillis: Int64

    /// Reads a line of a worker's log. `nil` means that the line is about something else.
    init?(line: some StringProtocol) {
        guard line.contains("a turn took long") else { return nil }
        var numbers: [Substring: Int64] = [:]
        for word in line.split(separator: " ") {
            let parts = Substring(word).split(separator: "=")
            if parts.count == 2, let number = Int64(parts[1]) { numbers[parts[0]] = number }
        }
        guard let millis = numbers["ms"], let ended = numbers["ended-ms"] else { return nil }
        (self.beganMillis, self.endedMillis) = (ended - millis, ended)
    }

    /// Whether a push that APNs took at `millis` may have left in this turn, long after the time at which it counts as
    /// sent.
    func covers(_ millis: Int64) -> Bool {
        (self.beganMillis...self.endedMillis + BroadcastRules.transitMillisMax).contains(millis)
    }

    /// All long turns in a log.
    static func read(_ path: String) -> [WorkerStall] {
        guard let log = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return log.split(separator: "\n").compactMap { WorkerStall(line: $0) }
    }
}
