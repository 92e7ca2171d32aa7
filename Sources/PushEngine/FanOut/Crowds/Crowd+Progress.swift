import PushModel

/// Writes down how far a crowd's passes are (fan-out contract: Progress).
extension Crowd {
    /// Makes the progress record of the crowd's passes, and counts it as written.
    /// - Parameters:
    ///   - epoch: epoch of the partition's owner.
    ///   - nextStateOffset: offset of the next record in `state`. The progress covers all joins below that offset. If a
    ///     late member is not served yet, the progress covers only joins before the join of that member. After a
    ///     takeover, members whose joins are covered are not late.
    ///   - pushes: all unanswered pushes to members.
    ///   - table: members of the partition.
    mutating func writeProgress(
        epoch: Int64, nextStateOffset: Int64, pushes: borrowing MemberPushStore, table: borrowing MemberTable,
        nowMillis: Int64
    ) -> PassesRecord {
        self.progressWritten(in: table, nowMillis: nowMillis)
        var progress = PassesRecord()
        progress.epoch = epoch
        progress.life = self.versions.life
        progress.stampSeconds = self.versions.stampSeconds
        progress.alertStampSeconds = self.versions.alert?.stampSeconds ?? 0
        progress.lastJoinSeconds = self.lastJoinSeconds
        progress.delayedMovesUntilSeconds = self.delayedMovesUntilSeconds
        self.report(into: &progress)
        progress.servedJoins = nextStateOffset
        for pass in self.passes.indices {
            if let first = self.passes[pass].apart.late.first, first.offset >= 0 {
                progress.servedJoins = min(progress.servedJoins, first.offset)
            }
            progress.passes.append(self.part(ofPass: pass, pushes: pushes, table: table))
        }
        return progress
    }
    private func part(
        ofPass pass: Int, pushes: borrowing MemberPushStore, table: borrowing MemberTable
    ) -> PassesRecord.PassPart {
        var part = PassesRecord.PassPart()
        let ring = self.passes[pass].ring
        let laps = self.passes[pass].course.position & ~(PassCourse.circle - 1)
        func from(_ position: Int64) -> Int64 { max(0, position - laps) }
        part.environment = self.passes[pass].environment
        part.listening = self.passes[pass].channelNumber.map { number in
            PassesRecord.Listening(
                number: number, id: self.passes[pass].channelID, isServed: self.passes[pass].isServedByChannel)
        }
        part.position = from(self.passes[pass].course.position)
        for (index, target) in self.passes[pass].course.targets.enumerated() {
            part.untils.append((self.versions.kept[index].stampSeconds, from(target.until)))
        }
        part.aloneUntil = self.passes[pass].course.alone.map { from($0.until) }
        part.alertUntil = from(self.passes[pass].course.alertUntil)
        part.highUntil = from(self.passes[pass].course.highUntil)
        part.frequentHighUntil = from(self.passes[pass].course.frequentHighUntil)
        part.horizon = from(self.passes[pass].course.nextHorizon)
        for member in self.passes[pass].apart.retries.members where table.ring(of: member).isSome {
            part.waiting.append(
                (Int64(table.position(of: member)), self.passes[pass].awaitsAlert(member)))
        }
        for member in self.passes[pass].apart.skipped where table.ring(of: member).isSome {
            part.skipped.append(Int64(table.position(of: member)))
        }
        // While a channel brings the version, no round skips members. The record's `skipped` then lists the members
        // that were served by token.
        for member in self.passes[pass].channel.byToken.served where table.ring(of: member) == ring {
            part.skipped.append(Int64(table.position(of: member)))
        }
        part.skipped.sort()
        for member in self.passes[pass].apart.quiet where table.ring(of: member) == ring {
            part.quiet.append(Int64(table.position(of: member)))
        }
        part.quiet.sort()
        var push = self.passes[pass].inFlight.first
        while push.isSome {
            let member = pushes[push].member
            if table.ring(of: member) == ring {
                // The member of a detached push has left the ring and come back since. That push is not repeated.
                var owesAlert = pushes[push].hasAlert && !pushes[push].isDetached
                let isLeft = self.isLeftToChannel(pushes[push])
                if isLeft, owesAlert { owesAlert = self.owesAlertBesideChannel(pushes[push], in: table) }
                // A member that only the channel still serves is not listed. If it were listed, a next owner would
                // send it the version by token. Its phone would then ignore the broadcast, and with it an alert.
                if !isLeft || owesAlert { part.waiting.append((Int64(table.position(of: member)), owesAlert)) }
            }
            push = pushes[push].next
        }
        return part
    }
}
