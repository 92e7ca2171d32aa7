import PushModel

/// What members of a crowd's passes are owed as versions are taken and expire.
extension Crowd {
    /// What the members of a pass are owed, before the newest version expired and after it.
    struct ExpiredRound {
        /// Number of members that were owed it, without those that have no answer.
        var owed: Int
        /// Number of members that are owed the version before.
        var left: Int
        /// Number of waiting members whose alert went alone before.
        var aloneBefore: Int
        var alone: Int
    }

    /// Begins the round of a version that was taken.
    mutating func goRound(_ version: borrowing Version, pass: Int, dropping: [Bool], in table: inout MemberTable) {
        let goesAlone = self.passes[pass].course.owesAlert && self.versions.alertGoesAlone
        self.passes[pass].take(
            version, count: table.count(of: self.passes[pass].ring), dropping: dropping, alertGoesAlone: goesAlone,
            in: &table)
    }
    /// Ends the rounds of what was shown.
    mutating func endRounds(pass: Int, in table: inout MemberTable) {
        self.passes[pass].reset(in: &table)
        self.passes[pass].leaveChannel()
    }
    /// Ends the round of the alert, which has expired.
    /// - Parameter former: index of an older version whose alert is owed in its place; `nil`: none is.
    mutating func expireAlert(pass: Int, returningTo former: Int?, in table: borrowing MemberTable) {
        guard let former else { return self.passes[pass].forgetAlert() }
        self.passes[pass].returnToAlert(
            ofVersionAt: former, stampSeconds: self.versions.kept[former].stampSeconds, in: table)
    }
    /// Ends the round of the newest version, which has expired. Members that it leaves unserved are owed the one
    /// before, whatever version the alert is from.
    mutating func expireNewest(pass: Int, in table: inout MemberTable) -> ExpiredRound {
        let owed = self.passes[pass].unsentCount
        let aloneBefore = self.passes[pass].course.aloneCount
        let goesAlone = self.passes[pass].course.owesAlert && self.versions.alertGoesAlone
        self.passes[pass].dropNewest(
            count: table.count(of: self.passes[pass].ring), alertGoesAlone: goesAlone, in: &table)
        return ExpiredRound(
            owed: owed, left: self.passes[pass].unsentCount, aloneBefore: aloneBefore,
            alone: self.passes[pass].course.aloneCount)
    }
}
