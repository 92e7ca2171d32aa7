import PushModel

/// Members that listen on their audience's channel (fan-out contract: Mixed audiences). They are in rings of their own.
/// While the channel brings the newest version, they are owed nothing by token, with few exceptions: see `PassChannel`.
/// The crowd decides; the engine counts.
extension Crowd {
    /// How the newest version's way to the members of a pass has changed.
    enum WayChange {
        case none
        /// The version goes by broadcast, so less is owed by token.
        case toChannel
        /// No broadcast has brought the version, so it is owed by token to all that have not got it by token yet.
        case toTokens
    }

    // MARK: Members that move to another ring
    /// How a member enters another pass of the crowd. It moves there because its newest join names another channel or
    /// environment, or no channel.
    /// - Parameter sentAlertStampSeconds: stamp of the alert in the unanswered push to the member; `nil`: there is no
    ///   such alert. If the push fails, the alert is owed again.
    @inline(__always) func entrance(
        of member: MemberID, goingTo pass: Int, sentAlertStampSeconds: Int64?, in table: borrowing MemberTable
    ) -> Entrance {
        guard let old = self.passIndex(of: table.ring(of: member)), !self.versions.isEmpty,
            self.passes[old].environment == self.passes[pass].environment
        else { return .anew }
        if self.passes[old].hasServed(member, in: table) { return .served }
        guard self.versions.alert != nil else { return .anew }
        if self.passes[old].awaitsAlert(member) { return .owedAlert }
        let owesAlert =
            sentAlertStampSeconds.map { $0 == self.alertStampSeconds }
            ?? self.waysOweAlert(member, pass: old, in: table)
        return owesAlert ? .owedAlert : .anew
    }
    /// Whether the channel or the round still has to bring the alert to the member.
    @inline(__always) private func waysOweAlert(
        _ member: MemberID, pass: Int, in table: borrowing MemberTable
    ) -> Bool {
        guard self.passes[pass].isServedByChannel else { return self.passes[pass].roundOwesAlert(member, in: table) }
        return self.isAlertLeft(toChannelOf: pass) && self.passes[pass].channelOwesAlert(member, in: table)
    }
    /// Whether the newest alert is left to a channel that, as far as is known here, does not have it yet. A member that
    /// stops listening may miss this alert. If a phone has the alert already, it ignores a push with the same
    /// stamp.
    @inline(__always) func isAlertLeft(toChannelOf pass: Int) -> Bool {
        guard self.versions.alert != nil, self.passes[pass].isServedByChannel, let channel = self.channel(ofPass: pass)
        else {
            return false
        }
        return self.alertStampSeconds > channel.takenAlertStampSeconds
    }
    /// Waiting members that joined at this time or later are still owed the newest alert by token. Their channel brings
    /// only the newest version.
    ///
    /// If the channel has had the alert, no later broadcast repeats it. All members that wait for the alert are then
    /// still owed it. Otherwise a broadcast may still bring the alert. Only members that joined since the alert's event
    /// may miss that broadcast, and are still owed the alert.
    /// - Parameter wentBothWays: whether the version that members are owed by token may also have been broadcast with
    ///   that alert.
    /// - Returns: time of the earliest join, seconds since 1970; `min`: all members that wait are still owed the alert;
    ///   `max`: nobody is.
    @inline(__always) func keepsAlertsSinceSeconds(pass: Int, wentBothWays: Bool) -> Int64 {
        guard let alert = self.versions.alert, let channel = self.channel(ofPass: pass) else { return .max }
        // When a channel has caught up, `takenStampSeconds` and `takenAlertStampSeconds` become equal.
        let isOnChannel = wentBothWays && channel.takenStampSeconds == channel.takenAlertStampSeconds
        return alert.stampSeconds <= channel.takenAlertStampSeconds && !isOnChannel
            ? .min : alert.layer.recordMillis / 1_000
    }
    /// Whether the retry set, the round or the channel still has to bring the newest alert to the member.
    @inline(__always) private func isOwedAlert(
        _ member: MemberID, pass: Int, in table: borrowing MemberTable
    ) -> Bool {
        guard self.versions.alert != nil else { return false }
        return self.passes[pass].awaitsAlert(member)
            || self.waysOweAlert(member, pass: pass, in: table)
    }

    // MARK: Versions
    /// Remembers the join of a member that listens, if the pass is for members that listen.
    mutating func listens(_ join: RecentListeners.Join, pass: Int) { self.passes[pass].listens(join) }
    /// Prepares a pass for its first member, or the first since the ring was empty. The member is not owed what the
    /// channel brings.
    /// - Parameter channel: the channel that the member listens on.
    /// - Returns: `false`: the pass's members do not listen on that channel, or the pass has members already.
    mutating func firstListenerJoins(pass: Int, channel: [UInt8], in table: inout MemberTable) -> Bool {
        guard self.passes[pass].channelID == channel, table.count(of: self.passes[pass].ring) == 0 else { return false }
        guard self.channel(ofPass: pass)?.serves == true else { return true }
        self.passes[pass].leaveToChannel(
            versionCount: self.versions.count, alertStampSeconds: self.versions.alert?.stampSeconds,
            keepingAlertsSinceSeconds: .max, in: &table)
        return true
    }
    /// Takes a newer version. The version's channels say whether a broadcast brings it to the members of a pass.
    /// - Parameter count: number of members of the ring.
    /// - Returns: whether a broadcast brings the version. If so, tokens bring it only to members that may miss the
    ///   broadcast, or that wait for an alert that no broadcast brings.
    mutating func isLeftToChannel(
        _ version: Version, pass: Int, count: Int, distanceMillis: Int64, now: EngineTime, in table: inout MemberTable
    ) -> Bool {
        guard self.passes[pass].channelNumber != nil else { return false }
        let channel = self.channel(ofPass: pass)
        if let channel, channel.serves {
            // Members that are in the ring when the version is taken are owed its alert, as if there were no channel.
            let missing = self.recentListeners(version, pass: pass, now: now, in: table).map {
                Pass.Missing(
                    member: $0.member,
                    owesAlert: version.hasAlert || self.isOwedAlert($0.member, pass: pass, in: table))
            }
            self.leaveToChannel(pass: pass, butFor: missing, distanceMillis: distanceMillis, now: now, in: &table)
            return true
        }
        guard self.passes[pass].isServedByChannel else { return false }
        let isAlertMissed =
            self.versions.alert != nil && self.alertStampSeconds != version.stampSeconds
            && channel.map { $0.takenAlertStampSeconds < self.alertStampSeconds } ?? false
        if isAlertMissed {
            self.passes[pass].leaveChannelOwingAlert(count: count, alertStampSeconds: self.alertStampSeconds)
        } else {
            self.passes[pass].leaveChannel()
        }
        return false
    }
    /// Changes how members of a pass get the newest version, if the version's channels now say so.
    /// - Returns: the change, and how many fewer members of the pass are owed something; below 0: how many more.
    mutating func changeWay(
        ofPass pass: Int, distanceMillis: Int64, now: EngineTime, in table: inout MemberTable
    ) -> (way: WayChange, settled: Settled) {
        let before = self.passes[pass].owed
        let way = self.changedWay(ofPass: pass, distanceMillis: distanceMillis, now: now, in: &table)
        return (way, self.settled(pass: pass, since: before, alertStampSeconds: self.alertStampSeconds))
    }
    private mutating func changedWay(
        ofPass pass: Int, distanceMillis: Int64, now: EngineTime, in table: inout MemberTable
    ) -> WayChange {
        guard self.passes[pass].channelNumber != nil else { return .none }
        let channel = self.channel(ofPass: pass)
        let isServed = channel?.serves ?? false
        guard isServed != self.passes[pass].isServedByChannel else { return .none }
        if isServed {
            var missing: [Pass.Missing] = []
            if let newest = self.versions.newest {
                for join in self.recentListeners(newest, pass: pass, now: now, in: table)
                where self.passes[pass].isOwed(join.member, in: table) {
                    missing.append(
                        Pass.Missing(
                            member: join.member, owesAlert: self.isOwedAlert(join.member, pass: pass, in: table)))
                }
            }
            self.leaveToChannel(pass: pass, butFor: missing, distanceMillis: distanceMillis, now: now, in: &table)
            return .toChannel
        }
        guard let channel, let newest = self.versions.newest, newest.stampSeconds == self.versions.stampSeconds,
            channel.takenStampSeconds < newest.stampSeconds
        else {
            self.passes[pass].leaveChannel()
            return .none
        }
        let owesAlert = self.versions.alert != nil && self.alertStampSeconds > channel.takenAlertStampSeconds
        let mayBeHigh = self.mayBeHigh(stampSeconds: newest.stampSeconds)
        self.passes[pass].fallBack(
            count: table.count(of: self.passes[pass].ring), owesAlert: owesAlert,
            alertStampSeconds: self.alertStampSeconds, isHigh: mayBeHigh && newest.isHigh,
            isFrequentHigh: mayBeHigh && newest.isFrequentHigh,
            alertGoesAlone: owesAlert && self.versions.alertGoesAlone,
            in: &table)
        return .toTokens
    }
    /// Lets the channel bring the newest version to the members of a pass. Those in `missing` get it by token.
    private mutating func leaveToChannel(
        pass: Int, butFor missing: [Pass.Missing], distanceMillis: Int64, now: EngineTime, in table: inout MemberTable
    ) {
        let alertsSinceSeconds = self.keepsAlertsSinceSeconds(
            pass: pass, wentBothWays: !self.passes[pass].isServedByChannel)
        self.passes[pass].leaveToChannel(
            versionCount: self.versions.count, alertStampSeconds: self.versions.alert?.stampSeconds,
            keepingAlertsSinceSeconds: alertsSinceSeconds, butFor: missing, distanceMillis: distanceMillis,
            nowMillis: now.steadyMillis, in: &table)
    }
    /// Members of a pass that began to listen when the broadcast of that version may already have left.
    private mutating func recentListeners(
        _ version: Version, pass: Int, now: EngineTime, in table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        // The broadcast left after the version's event was in Kafka. So members that joined before the event do not
        // miss the broadcast. Stamps do not help, because a publisher may choose any timestamp.
        let sinceMillis = version.layer.recordMillis
        guard sinceMillis / 1_000 <= self.lastJoinSeconds else { return [] }
        return self.passes[pass].listeners(sinceMillis: sinceMillis, nowMillis: now.wallMillis, in: table)
    }
}
