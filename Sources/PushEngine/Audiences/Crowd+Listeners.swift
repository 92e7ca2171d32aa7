import PushModel

/// Members that listen on their audience's channel (fan-out contract: Mixed audiences): they stand in rings of their own, which are owed nothing by token while the
/// channel brings the newest version. It decides; the engine counts.
extension Crowd {
    /// What has changed in how the newest version comes to the members of a pass.
    enum WayChange {
        case none
        /// It comes by broadcast: less is owed.
        case toChannel
        /// No broadcast has brought it: it is owed to all again.
        case toTokens
    }

    // MARK: Members that go over from one ring to another
    /// What a member is in a pass to which it goes over, as it says, or does no longer say, that it listens.
    /// - Parameter sentAlertStampSeconds: of the alert that is on its way to the member, and may come back; `nil`: none is.
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
    /// The alert comes to the member by its channel yet, or by the round.
    @inline(__always) private func waysOweAlert(
        _ member: MemberID, pass: Int, in table: borrowing MemberTable
    ) -> Bool {
        guard self.passes[pass].isServedByChannel else { return self.passes[pass].roundOwesAlert(member, in: table) }
        return self.isAlertLeft(toChannelOf: pass) && self.passes[pass].channelOwesAlert(member, in: table)
    }
    /// The alert is left to a channel that was not known to have it when the newest version was made: a member that listens no more may miss it. One that
    /// has it all the same ignores what comes under the same stamp.
    @inline(__always) func isAlertLeft(toChannelOf pass: Int) -> Bool {
        guard self.versions.alert != nil, self.passes[pass].isServedByChannel, let channel = self.channel(ofPass: pass)
        else {
            return false
        }
        return self.alertStampSeconds > channel.takenAlertStampSeconds
    }
    /// An alert that the channel has had already comes to nobody by a later broadcast: members that are owed it here get it by their tokens. One that the channel
    /// is not known to have had may be on its way there: who said since that it listens may miss that, and no later broadcast may bring it.
    /// - Parameter wentBothWays: the version that they are owed by their tokens may have been broadcast meanwhile, with that alert.
    /// - Returns: who joined at that time or later, seconds since 1970; `max`: nobody.
    @inline(__always) func keepsAlertsSinceSeconds(pass: Int, wentBothWays: Bool) -> Int64 {
        guard let alert = self.versions.alert, let channel = self.channel(ofPass: pass) else { return .max }
        // A channel that has caught up says of both stamps the same.
        let isOnChannel = wentBothWays && channel.takenStampSeconds == channel.takenAlertStampSeconds
        return alert.stampSeconds <= channel.takenAlertStampSeconds && !isOnChannel
            ? .min : alert.layer.recordMillis / 1_000
    }
    /// The newest alert has not come to the member.
    @inline(__always) private func isOwedAlert(
        _ member: MemberID, pass: Int, in table: borrowing MemberTable
    ) -> Bool {
        guard self.versions.alert != nil else { return false }
        return self.passes[pass].awaitsAlert(member)
            || self.waysOweAlert(member, pass: pass, in: table)
    }

    // MARK: Versions
    /// Its first member joins a pass, or the first since others had left: what the channel brings is owed to nobody there.
    mutating func firstListenerJoined(pass: Int, in table: inout MemberTable) {
        guard self.channel(ofPass: pass)?.serves == true else { return }
        self.passes[pass].leaveToChannel(
            versionCount: self.versions.count, alertStampSeconds: self.versions.alert?.stampSeconds,
            keepingAlertsSinceSeconds: .max, in: &table)
    }
    /// A newer version has been taken, and its channels say whether it reaches a pass's members by broadcast.
    /// - Parameter count: members of the ring.
    /// - Returns: it does, and nothing is owed to them but to those that may miss it.
    mutating func isLeftToChannel(
        _ version: Version, pass: Int, count: Int, distanceMillis: Int64, now: EngineTime, in table: inout MemberTable
    ) -> Bool {
        let channel = self.channel(ofPass: pass)
        if let channel, channel.serves {
            // Who is there when it is taken gets its alert, as those do that get it by token.
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
            self.passes[pass].leaveChannelOwingAlert(count: count)
        } else {
            self.passes[pass].leaveChannel()
        }
        return false
    }
    /// Members of a pass get the newest version the way that its channel says now.
    mutating func changeWay(
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
            count: table.count(of: self.passes[pass].ring), owesAlert: owesAlert, isHigh: mayBeHigh && newest.isHigh,
            isFrequentHigh: mayBeHigh && newest.isFrequentHigh,
            alertGoesAlone: owesAlert && self.versions.alertGoesAlone,
            in: &table)
        return .toTokens
    }
    /// The newest version reaches the members of a pass by broadcast.
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
    /// Members of a pass that said that they listen when the broadcast of that version may have left already.
    private mutating func recentListeners(
        _ version: Version, pass: Int, now: EngineTime, in table: borrowing MemberTable
    ) -> [RecentListeners.Join] {
        // It left after its event lay in Kafka: some time after, which makes up for clocks that differ a little. Stamps say nothing of that: a
        // publisher's timestamp may be of any time.
        let sinceMillis = version.layer.recordMillis
        guard sinceMillis / 1_000 <= self.lastJoinSeconds else { return [] }
        return self.passes[pass].listeners(sinceMillis: sinceMillis, nowMillis: now.wallMillis, in: table)
    }
}
