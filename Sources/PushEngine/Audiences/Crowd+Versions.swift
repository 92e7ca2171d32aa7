import PushModel

/// What members of a crowd's passes are owed as versions come and go.
extension Crowd {
    /// What the members of a pass are owed, before the newest version expired and after it.
    struct ExpiredRound {
        /// Members without an answer are not among them.
        var owed: Int
        /// Members that are owed the version before.
        var left: Int
        /// Members among those that wait for an alert which goes alone.
        var aloneBefore: Int
        var alone: Int
    }

    /// A version that was taken goes round.
    mutating func goRound(_ version: borrowing Version, pass: Int, dropping: [Bool], in table: inout MemberTable) {
        let goesAlone = self.passes[pass].course.owesAlert && self.versions.alertGoesAlone
        self.passes[pass].take(
            version, count: table.count(of: self.passes[pass].ring), dropping: dropping, alertGoesAlone: goesAlone,
            in: &table)
    }
    /// Nothing that was shown goes round now.
    mutating func endRounds(pass: Int, in table: inout MemberTable) {
        self.passes[pass].reset(in: &table)
        self.passes[pass].leaveChannel()
    }
    /// The alert has expired.
    /// - Parameter former: where an older version lies whose alert is owed in its place; `nil`: none is.
    mutating func expireAlert(pass: Int, returningTo former: Int?, in table: borrowing MemberTable) {
        guard let former else { return self.passes[pass].forgetAlert() }
        self.passes[pass].returnToAlert(
            ofVersionAt: former, stampSeconds: self.versions.kept[former].stampSeconds, in: table)
    }
    /// The newest version has expired: members that it leaves unserved are owed the one before, whatever the alert is from.
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
