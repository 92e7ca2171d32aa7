/// The content of `/healthz`: whether a restart would help. Pure.
enum Health {
    /// What hangs, one line each; `nil` when nothing hangs.
    /// - Parameters:
    ///   - loopSilencesMillis: time since the loop of each shard last took a turn.
    ///   - group: names partitions that make no progress, and when they were last looked at.
    static func faults(
        loopSilencesMillis: [Int64], group: GroupReport, nowMillis: Int64, loopLimitMillis: Int64,
        partitionLimitMillis: Int64
    ) -> String? {
        var lines = loopSilencesMillis.enumerated().filter { $0.element > loopLimitMillis }.map {
            "shard \($0.offset) has not taken a turn for \($0.element) ms"
        }
        lines += group.stalls.map(\.description)
        if let lookedAtMillis = group.lookedAtMillis, nowMillis - lookedAtMillis > partitionLimitMillis {
            lines.append("the partitions were not looked after for \((nowMillis - lookedAtMillis) / 1_000) s")
        }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }
}
