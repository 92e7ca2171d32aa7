import PushModel

/// What members of a crowd's passes are owed as versions are taken and expire.
extension Crowd {
    /// How many members of a pass are owed something: before the newest version expired, and afterwards.
    struct ExpiredRound {
        /// Number of members that were owed something before the newest version expired, except those whose push is
        /// unanswered.
        var owed: Int
        /// Number of members that are owed the previous version now.
        var left: Int
        var effects = CrowdReports.Effects()
    }
    /// By how much a change has lowered the number of members of a pass that are owed something.
    struct Settled: Equatable {
        /// Number of members that are no longer owed what they were owed before the change. Some of them may be owed
        /// the newest version instead: see `due`.
        var members: Pass.Owed
        /// Stamp of the alert that the members in `members.alone` waited for; 0: there is no alert.
        var alertStampSeconds: Int64
        /// Number of members that are owed the newest version from now on.
        var due = 0
        /// Whether the newest version has just been taken. The members that are counted here were owed the version
        /// before it.
        var isNewerThere = false
    }
    /// An alert that has expired.
    struct ExpiredAlert: Equatable {
        var stampSeconds: Int64
        /// Index of the older version whose alert is owed instead of the expired one; `nil`: none is.
        var former: Int?
    }
    /// What members of a pass are no longer owed.
    /// - Parameter before: what they were owed before the change.
    @inline(__always) func settled(pass: Int, since before: Pass.Owed, alertStampSeconds: Int64) -> Settled {
        Settled(members: before - self.passes[pass].owed, alertStampSeconds: alertStampSeconds)
    }

    /// The newest version; `nil`: there is none.
    var newest: Version? { self.versions.newest }
    /// The newest version, if it is owed to members that have not been sent it; otherwise `nil`.
    var versionToTrace: Version? { self.passes.contains { $0.unsentCount > 0 } ? self.versions.newest : nil }
    /// Describes one of the crowd's passes for the trace of the pass, which begins now.
    /// - Parameter partition: number of the crowd's partition.
    func tracedPass(
        _ id: PassTraceID, partition: Int32, life: Int64, stampSeconds: Int64, isStart: Bool, isResumed: Bool,
        recordMillis: Int64, parent: TraceContext
    ) -> TracedPass {
        TracedPass(
            id: id, app: self.app, audience: self.id, partition: partition, life: life, stampSeconds: stampSeconds,
            isStart: isStart, isResumed: isResumed, recordMillis: recordMillis, parent: parent)
    }
    /// Whether the newest version or the owed alert has expired.
    @inline(__always) func hasExpired(nowSeconds: Int64) -> Bool {
        self.versions.isAlertExpired(nowSeconds: nowSeconds) || self.versions.isNewestExpired(nowSeconds: nowSeconds)
    }
    /// Whether a version is newer than all that have arrived, and belongs to a life that is not over.
    func takes(_ version: Version) -> Bool { self.versions.takes(version) }
    func isOfOtherLife(_ version: Version) -> Bool { version.life != self.versions.life }
    /// Whether a void ends the life that is known here.
    func isEnded(by void: BusRecord.Void) -> Bool { self.versions.life <= void.life }

    /// Lets a version that was taken go round, unless the pass's members get it by broadcast.
    /// - Parameters:
    ///   - dropping: for each version that was kept, the oldest first, whether it is dropped.
    ///   - formerAlertStampSeconds: stamp of the alert that was owed before; 0: none was.
    mutating func goRound(
        _ version: Version, pass: Int, dropping: [Bool], formerAlertStampSeconds: Int64, distanceMillis: Int64,
        now: EngineTime, in table: inout MemberTable
    ) -> Settled {
        let before = self.passes[pass].owed
        if version.hasAlert, formerAlertStampSeconds != 0 {
            self.passes[pass].alertReplaced(stampSeconds: formerAlertStampSeconds)
        }
        let count = table.count(of: self.passes[pass].ring)
        var due = count
        if self.isLeftToChannel(
            version, pass: pass, count: count, distanceMillis: distanceMillis, now: now, in: &table)
        {
            due = self.passes[pass].apart.owedCount
        } else {
            let goesAlone = self.passes[pass].course.owesAlert && self.versions.alertGoesAlone
            self.passes[pass].take(
                version, count: count, dropping: dropping, alertGoesAlone: goesAlone, in: &table)
        }
        var settled = self.settled(pass: pass, since: before, alertStampSeconds: formerAlertStampSeconds)
        settled.members.all += due
        settled.due = due
        settled.isNewerThere = true
        return settled
    }
    /// Ends the rounds of all versions: nobody is owed them now.
    /// - Parameter keepsChannel: whether the pass stays with its channel.
    mutating func endRounds(pass: Int, keepsChannel: Bool = false, in table: inout MemberTable) -> Settled {
        let before = self.passes[pass].owed
        self.passes[pass].reset(in: &table)
        if !keepsChannel { self.passes[pass].leaveChannel() }
        return self.settled(pass: pass, since: before, alertStampSeconds: self.alertStampSeconds)
    }
    /// Ends the round of an alert, which has expired. The round of an older alert may take its place.
    mutating func expireAlert(pass: Int, _ expired: ExpiredAlert, in table: borrowing MemberTable) -> Settled {
        let before = self.passes[pass].owed
        if let former = expired.former {
            self.passes[pass].returnToAlert(
                ofVersionAt: former, stampSeconds: self.versions.kept[former].stampSeconds, in: table)
        } else {
            self.passes[pass].forgetAlert()
        }
        return self.settled(pass: pass, since: before, alertStampSeconds: expired.stampSeconds)
    }
    /// Ends the round of the newest version, which has expired. Members that it did not reach are owed the previous
    /// version, if there is one. If an owed alert does not fit beside the previous version, all members are owed that
    /// version.
    mutating func expireNewest(pass: Int, in table: inout MemberTable) -> ExpiredRound {
        let owed = self.passes[pass].unsentCount
        let aloneBefore = self.passes[pass].course.aloneCount
        let goesAlone = self.passes[pass].course.owesAlert && self.versions.alertGoesAlone
        self.passes[pass].dropNewest(
            count: table.count(of: self.passes[pass].ring), alertGoesAlone: goesAlone, in: &table)
        var expired = ExpiredRound(owed: owed, left: self.passes[pass].unsentCount)
        let alone = self.passes[pass].course.aloneCount
        expired.effects = self.reports.aloneSettled(
            stampSeconds: self.alertStampSeconds, count: aloneBefore - alone, into: .superseded)
        self.reports.settled(due: 0, count: owed - aloneBefore, isNewerThere: false, into: .expired)
        self.reports.revived(expired.left - alone)
        return expired
    }
}
