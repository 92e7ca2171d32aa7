import PushEngine
import PushModel
import ShardLoop

/// Judges, when everything is quiet, that starts have reached the start members that should get them.
extension SimulationWorld {
    func judgeStarts(_ audience: Int) {
        guard let start = self.phones[audience].audience?.start else { return }
        for starter in self.starters.indices {
            self.judgeStart(start, audience: audience, starter: starter)
        }
    }

    /// Judges that a start reached a start member that should get it. If the owner started one member long before the
    /// start expires, it must start the others. These are the audience's other members in the same partition and
    /// environment. If the partition has changed hands since the start was written, the member's start may be in doubt.
    /// Then an outcome must say so, where that can be judged.
    private func judgeStart(_ start: Int, audience: Int, starter: Int) {
        let phone = self.starters[starter]
        let pushes = phone.pushes[start] ?? []
        let event = self.written[self.order[start]]!
        let expires = event.expiresSeconds.map { $0 * 1_000 - self.wallOffsetMillis } ?? (event.writtenMillis + 900_000)
        self.judgeUnheardStart(start, audience: audience, starter: starter, expiresMillis: expires)
        guard pushes.isEmpty, !phone.isDead, let joined = self.stayed(starter, audience: audience, since: start)
        else { return }
        let hasEnded = self.phones[audience].audience?.ends.contains { $0.millis < event.writtenMillis + 1_000_000 }
        let unknownCount = self.unknownStarts(of: starter, besides: audience, until: expires)
        guard hasEnded == false, phone.spent.count + unknownCount < self.plan.audiences.startsPerHour else { return }
        let partition = self.home(ofStarter: starter)
        for other in self.starters.indices where other != starter && self.home(ofStarter: other) == partition {
            guard self.starters[other].isDevelopment == phone.isDevelopment,
                let push = self.starters[other].pushes[start]?.first(where: { $0.end == .accepted }),
                push.leftMillis > joined, push.leftMillis + Self.startMillisMax < expires
            else { continue }
            let until = push.leftMillis + Self.startMillisMax
            guard !self.hasMoved(partition, from: event.writtenMillis, to: until) else {
                self.judgeIsTold(start, starter: starter, since: event.writtenMillis, until: until)
                return
            }
            self.fail(
                "starter \(starter) of audience \(audience), partition \(partition): event \(start) has not started it, and has started \(other)"
            )
            return
        }
    }

    /// Number of starts of other audiences that an owner may count for the member within the hour, but that the judge
    /// does not count. Some were announced and never sent, which a new owner cannot know. Others were refused.
    private func unknownStarts(of starter: Int, besides audience: Int, until expiresMillis: Int64) -> Int {
        let partition = self.home(ofStarter: starter)
        return self.audienceNumbers.count { other in
            guard other != audience, let start = self.phones[other].audience?.start,
                self.phones[other].audience?.app == self.phones[audience].audience?.app
            else { return false }
            if let pushes = self.starters[starter].pushes[start] {
                // APNs refused the start's last push. No record says whether APNs also refused an earlier push of the
                // start.
                return self.starters[starter].spent[start] == nil
                    && pushes.contains { $0.leftMillis < expiresMillis && $0.leftMillis + 3_600_000 > expiresMillis }
            }
            guard
                self.starters[starter].movements.contains(where: { movement in
                    movement.isJoin && movement.audience.map { self.isOneAudience($0, other) } == true
                })
            else { return false }
            let written = self.written[self.order[start]]!.writtenMillis
            // The start's round had begun when its audience ended, so some members were not started. No record names
            // the members that were not started.
            let wasCut =
                self.phones[other].audience?.ends.contains { $0.millis >= written && $0.millis <= expiresMillis }
                ?? false
            if wasCut, self.wentRound(start, partition: partition, untilMillis: expiresMillis) { return true }
            // The start counts as announced until it expires. After a takeover it counts for one more hour.
            return written <= expiresMillis
                && self.moveTimes[partition]?.contains {
                    $0 >= written && $0 <= expiresMillis && $0 + 3_600_000 > expiresMillis - 900_000
                } == true
        }
    }

    private func wentRound(_ start: Int, partition: Int32, untilMillis: Int64) -> Bool {
        self.starters.indices.contains { other in
            self.home(ofStarter: other) == partition
                && self.starters[other].pushes[start]?.contains {
                    $0.leftMillis <= untilMillis && $0.leftMillis + 3_600_000 > untilMillis - 900_000
                } == true
        }
    }

    /// Longest time that a round with its retries takes, if all delays coincide.
    private static let startMillisMax: Int64 = 300_000

    /// When the member's join was committed. `nil`: the member is not in the audience, or has left some audience since
    /// the start.
    private func stayed(_ starter: Int, audience: Int, since start: Int) -> Int64? {
        let movements = self.starters[starter].movements
        guard let joined = self.joined(starter, audience: audience, upTo: movements.count),
            let committed = joined.committedMillis
        else { return nil }
        // A member that has left since the start may have been started before it left.
        let left = movements.contains {
            !$0.isJoin && $0.writtenMillis > self.written[self.order[start]]!.writtenMillis
        }
        return left ? nil : committed
    }

    private func hasMoved(_ partition: Int32, from: Int64, to: Int64) -> Bool {
        self.moveTimes[partition]?.contains { $0 >= from && $0 <= to } ?? false
    }
}
