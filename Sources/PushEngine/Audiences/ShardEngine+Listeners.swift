import PushModel

/// Members that listen on their audience's channel (fan-out contract: Mixed audiences): they stand in rings of their own, which are owed nothing by token while the channel
/// brings the newest version.
extension ShardEngine {
    // MARK: Joining
    /// The pass over the members among which the token of the event belongs.
    mutating func passToJoin(_ crowd: CrowdID, app: UInt16, entry: EntryID, now: EngineTime) -> Int {
        let environment = self.intake.event.environment
        let range = self.intake.event.channelInText
        guard !range.isEmpty, self.memory.configuration.apps[Int(app)].audienceChannel == .auto else {
            return self.audiences.crowds.passIndex(crowd, environment: environment)
        }
        let channel = Array(self.intake.event.text[range.range])
        let isTold = self.audiences.crowds[crowd].channels.contains {
            $0.environment == environment && $0.id == channel
        }
        let pass = self.audiences.crowds.passIndex(
            crowd, environment: environment, channel: channel, isTold: isTold)
        guard self.audiences.crowds[crowd].passes[pass].channelID == channel else { return pass }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        guard members.table.count(of: self.audiences.crowds[crowd].passes[pass].ring) == 0 else { return pass }
        // Its first member, or the first since others had left: what the channel brings is owed to nobody there.
        if self.audiences.crowds[crowd].channel(ofPass: pass)?.serves == true {
            let versionCount = self.audiences.crowds[crowd].versions.count
            self.audiences.crowds[crowd].passes[pass].leaveToChannel(
                versionCount: versionCount, alertStampSeconds: self.audiences.crowds[crowd].alert?.stampSeconds,
                keepingAlertsSinceSeconds: .max, in: &members.table)
        }
        // Records of members name the channel by its number, and progress has its id.
        self.writeProgress(crowd, entry: entry, now: now)
        return pass
    }
    /// Environments in which a crowd has members, or had some; `nil`: its app's audiences have no channels.
    func knownEnvironments(_ crowd: CrowdID, app: UInt16) -> UInt8? {
        guard self.memory.configuration.apps[Int(app)].audienceChannel == .auto else { return nil }
        return self.audiences.crowds[crowd].environments
    }
    /// The owner opens a channel in the other environment only when it knows that there are members.
    /// - Parameter known: environments in which it had some before; `nil`: it has no channels.
    mutating func askAgain(
        _ crowd: CrowdID, joining environment: PushEnvironment, known: UInt8?, entry: EntryID
    ) {
        guard let known, known & AudienceChannels.bit(environment) == 0 else { return }
        self.journal.ask(crowd, entry: entry, joining: environment, in: &self.memory, audiences: self.audiences)
    }
    /// The member has the newest version by its token, and says, or does no longer say, that it listens: it is not late where it goes.
    func isServed(_ member: MemberID, goingTo pass: Int, of crowd: CrowdID, members: CrowdTable.Members) -> Bool {
        let ring = members.table.ring(of: member)
        guard let old = self.audiences.crowds[crowd].passIndex(of: ring),
            self.audiences.crowds[crowd].passes[old].environment
                == self.audiences.crowds[crowd].passes[pass].environment,
            !self.audiences.crowds[crowd].versions.isEmpty,
            // What came by broadcast may not have come to it.
            !self.audiences.crowds[crowd].passes[old].isServedByChannel
                || self.audiences.crowds[crowd].passes[old].byToken.served.contains(member)
        else { return false }
        let flags = members.table.flags(of: member)
        return !flags.contains(.isLate) && !flags.contains(.isInFlight)
            && self.audiences.crowds[crowd].passes[old].retries[member] == nil
            && (!self.audiences.crowds[crowd].passes[old].isAhead(members.table.position(of: member))
                || self.audiences.crowds[crowd].passes[old].skipped.contains(member))
    }
    /// It is in the ring from here on, and has what goes round there.
    mutating func enteredServed(_ member: MemberID, crowd: CrowdID, pass: Int, members: CrowdTable.Members) {
        let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].alert)
        let isAhead = self.audiences.crowds[crowd].passes[pass].joined(members.table.position(of: member))
        if isAhead {
            self.audiences.crowds[crowd].passes[pass].skip(member)
            self.audiences.crowds[crowd].passes[pass].keepUnhurried(member)
        }
        if self.audiences.crowds[crowd].passes[pass].isAlertAhead(members.table.position(of: member)) {
            self.audiences.crowds[crowd].passes[pass].keepQuiet(member)
        }
        self.audiences.crowds[crowd].passes[pass].noteServedLate(member)
        // Its record does not say that it has been served.
        self.audiences.crowds[crowd].records.progressed()
        self.noteDue(crowd, pass: pass, before: before)
    }

    /// An alert has not come to the member, which says, or does no longer say, that it listens: it gets that by its token all the same.
    func owesAlert(_ member: MemberID, goingTo pass: Int, of crowd: CrowdID, members: CrowdTable.Members) -> Bool {
        let ring = members.table.ring(of: member)
        guard self.audiences.crowds[crowd].alert != nil, !self.audiences.crowds[crowd].versions.isEmpty,
            let old = self.audiences.crowds[crowd].passIndex(of: ring),
            self.audiences.crowds[crowd].passes[old].environment
                == self.audiences.crowds[crowd].passes[pass].environment
        else { return false }
        if let entry = self.audiences.crowds[crowd].passes[old].retries[member], entry.owesAlert { return true }
        // One that is on its way may come back.
        if members.table.flags(of: member).contains(.isInFlight),
            let push = self.audiences.pushes.identifier(of: member, partition: self.audiences.crowds[crowd].partition),
            self.audiences.pushes[push].hasAlert, !self.audiences.pushes[push].isDetached
        {
            return self.audiences.pushes[push].alertStampSeconds == self.audiences.crowds[crowd].alert?.stampSeconds
        }
        return self.waysOweAlert(member, of: crowd, pass: old, members: members)
    }
    /// The alert comes to the member by its channel yet, or by the round.
    private func waysOweAlert(
        _ member: MemberID, of crowd: CrowdID, pass: Int, members: CrowdTable.Members
    ) -> Bool {
        if self.audiences.crowds[crowd].passes[pass].isServedByChannel {
            return self.channelOwesAlert(member, of: crowd, pass: pass, members: members)
        }
        return self.audiences.crowds[crowd].passes[pass].isAlertAhead(members.table.position(of: member))
            && !members.table.flags(of: member).contains(.isLate)
            && !self.audiences.crowds[crowd].passes[pass].quiet.contains(member)
            && !self.audiences.crowds[crowd].passes[pass].skipped.contains(member)
    }
    /// The alert is left to a channel that was not known to have it when the newest version was made: whoever listens no more may miss it. One that
    /// has it all the same ignores what comes under the same stamp.
    private func channelOwesAlert(
        _ member: MemberID, of crowd: CrowdID, pass: Int, members: CrowdTable.Members
    ) -> Bool {
        // Whoever came later, or has been served since, is owed nothing.
        self.isAlertLeft(crowd, toChannelOf: pass) && !members.table.flags(of: member).contains(.isLate)
            && !self.audiences.crowds[crowd].passes[pass].byToken.served.contains(member)
            // Nor is whoever waits for the version without its alert.
            && self.audiences.crowds[crowd].passes[pass].retries[member] == nil
    }
    func isAlertLeft(_ crowd: CrowdID, toChannelOf pass: Int) -> Bool {
        guard let alert = self.audiences.crowds[crowd].alert,
            self.audiences.crowds[crowd].passes[pass].isServedByChannel,
            let channel = self.audiences.crowds[crowd].channel(ofPass: pass)
        else { return false }
        return alert.stampSeconds > channel.takenAlertStampSeconds
    }
    /// It is in the ring from here on, and is owed the newest version with the alert.
    mutating func enteredOwed(
        _ member: MemberID, crowd: CrowdID, pass: Int, members: CrowdTable.Members, notBeforeMillis: Int64
    ) {
        let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].alert)
        let isAhead = self.audiences.crowds[crowd].passes[pass].joined(members.table.position(of: member))
        self.audiences.crowds[crowd].passes[pass].retries.set(
            RetrySet.Entry(notBeforeMillis: notBeforeMillis, isOwed: !isAhead, owesAlert: true), for: member)
        self.audiences.crowds[crowd].records.progressed()
        self.noteDue(crowd, pass: pass, before: before)
    }
    /// What a member's record says of an alert that it is owed, as progress that tells of it may not have been written yet; 0: nothing.
    func owedAlertStampSeconds(_ member: MemberID, of crowd: CrowdID, pass: Int) -> Int64 {
        guard self.memory.configuration.apps[Int(self.audiences.crowds[crowd].app)].audienceChannel == .auto,
            self.audiences.crowds[crowd].passes[pass].retries[member]?.owesAlert == true
        else { return 0 }
        return self.audiences.crowds[crowd].alert?.stampSeconds ?? 0
    }
    /// An alert that the channel has had already comes to nobody by a later broadcast: whoever is owed it here gets it by its token. One that the channel
    /// is not known to have had may be on its way there: who said since that it listens may miss that, and no later broadcast may bring it.
    /// - Parameter wentBothWays: the version that they are owed by their tokens may have been broadcast meanwhile, with that alert.
    /// - Returns: who joined at that time or later, seconds since 1970; `max`: nobody.
    func keepsAlertsSinceSeconds(_ crowd: CrowdID, pass: Int, wentBothWays: Bool) -> Int64 {
        guard let alert = self.audiences.crowds[crowd].alert,
            let channel = self.audiences.crowds[crowd].channel(ofPass: pass)
        else { return .max }
        // A channel that has caught up says of both stamps the same.
        let isOnChannel = wentBothWays && channel.takenStampSeconds == channel.takenAlertStampSeconds
        return alert.stampSeconds <= channel.takenAlertStampSeconds && !isOnChannel
            ? .min : alert.layer.recordMillis / 1_000
    }

    // MARK: Versions
    /// A newer version has been taken, of which the channels say whether it reaches a pass's members by broadcast.
    /// - Returns: it does, and nothing is owed to them.
    mutating func isLeftToChannel(
        _ version: Version, crowd: CrowdID, pass: Int, count: Int, before: Owed, now: EngineTime
    ) -> Bool {
        let channel = self.audiences.crowds[crowd].channel(ofPass: pass)
        if let channel, channel.serves {
            let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
            // Who is there when it is taken gets its alert, as those do that get it by token.
            let missing = self.recentListeners(version, crowd: crowd, pass: pass, now: now).map {
                Missing(
                    member: $0.member,
                    owesAlert: version.hasAlert
                        || self.isOwedAlert($0.member, by: crowd, pass: pass, members: members))
            }
            self.leaveToChannel(crowd, pass: pass, butFor: missing, now: now)
            let owedCount =
                self.audiences.crowds[crowd].passes[pass].retries.owedCount
                + self.audiences.crowds[crowd].passes[pass].lateCount
            self.settleMembers(
                crowd, pass: pass, before: before, due: owedCount, isNewerThere: true, into: .superseded)
            return true
        }
        guard self.audiences.crowds[crowd].passes[pass].isServedByChannel else { return false }
        let others = self.audiences.crowds[crowd].passes[pass].lateListeners
        self.audiences.crowds[crowd].passes[pass].leaveChannel()
        if let alert = self.audiences.crowds[crowd].alert, alert.stampSeconds != version.stampSeconds,
            let channel, channel.takenAlertStampSeconds < alert.stampSeconds
        {
            self.audiences.crowds[crowd].passes[pass].oweAlertAgain(count: count)
            // They had it where they came from, or came after it.
            for member in others { self.audiences.crowds[crowd].passes[pass].keepQuiet(member) }
        }
        return false
    }
    /// The newest version is told again, as which of its channels serve has changed.
    /// - Returns: whether anything is new.
    mutating func takeTurn(of newest: Version, crowd: CrowdID, now: EngineTime) -> Bool {
        guard newest.life == self.audiences.crowds[crowd].life,
            newest.stampSeconds == self.audiences.crowds[crowd].stampSeconds,
            newest.turn > self.audiences.crowds[crowd].turn
        else { return false }
        self.audiences.crowds[crowd].turn = newest.turn
        self.audiences.crowds[crowd].channels = newest.channels
        self.audiences.crowds[crowd].starts.forgetBodies()
        for index in self.audiences.crowds[crowd].versions.indices
        where self.audiences.crowds[crowd].versions[index].stampSeconds == newest.stampSeconds {
            self.audiences.crowds[crowd].versions[index].turn = newest.turn
            self.audiences.crowds[crowd].versions[index].channels = newest.channels
        }
        for pass in self.audiences.crowds[crowd].passes.indices { self.changeWay(crowd, pass: pass, now: now) }
        return true
    }
    /// Members of a pass get the newest version the way that its channel says now.
    mutating func changeWay(_ crowd: CrowdID, pass: Int, now: EngineTime) {
        guard self.audiences.crowds[crowd].passes[pass].channelNumber != nil else { return }
        let channel = self.audiences.crowds[crowd].channel(ofPass: pass)
        let isServed = channel?.serves ?? false
        guard isServed != self.audiences.crowds[crowd].passes[pass].isServedByChannel else { return }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let before = self.owed(crowd, pass: pass, alert: self.audiences.crowds[crowd].alert)
        if isServed {
            var missing: [Missing] = []
            if let newest = self.audiences.crowds[crowd].newest {
                missing = self.recentListeners(newest, crowd: crowd, pass: pass, now: now).filter {
                    self.isOwed($0.member, by: crowd, pass: pass, members: members)
                }.map {
                    Missing(
                        member: $0.member,
                        owesAlert: self.isOwedAlert($0.member, by: crowd, pass: pass, members: members))
                }
            }
            self.leaveToChannel(crowd, pass: pass, butFor: missing, now: now)
            return self.settleMembers(crowd, pass: pass, before: before, into: .superseded)
        }
        guard let channel, let newest = self.audiences.crowds[crowd].newest,
            newest.stampSeconds == self.audiences.crowds[crowd].stampSeconds,
            channel.takenStampSeconds < newest.stampSeconds
        else { return self.audiences.crowds[crowd].passes[pass].leaveChannel() }
        let owesAlert = self.audiences.crowds[crowd].alert.map {
            $0.stampSeconds > channel.takenAlertStampSeconds
        }
        // The owner may count its unit as coming back already.
        let mayBeHigh = newest.stampSeconds > self.audiences.crowds[crowd].reportedDoneStampSeconds
        let goesAlone = (owesAlert ?? false) && self.audiences.crowds[crowd].alertGoesAlone
        self.audiences.crowds[crowd].passes[pass].fallBack(
            count: members.table.count(of: self.audiences.crowds[crowd].passes[pass].ring),
            owesAlert: owesAlert ?? false, isHigh: mayBeHigh && newest.isHigh,
            isFrequentHigh: mayBeHigh && newest.isFrequentHigh, alertGoesAlone: goesAlone, in: &members.table)
        self.noteDue(crowd, pass: pass, before: before)
    }

    /// Who may miss a version's broadcast, and gets that by token.
    private struct Missing {
        var member: MemberID
        /// With the alert, which comes with the content: the phone ignores a broadcast that has it, under the same stamp.
        var owesAlert: Bool
    }
    /// The newest version reaches the members by broadcast.
    private mutating func leaveToChannel(_ crowd: CrowdID, pass: Int, butFor missing: [Missing], now: EngineTime) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let distance = self.distanceMillis(crowd)
        let versionCount = self.audiences.crowds[crowd].versions.count
        let alertsSinceSeconds = self.keepsAlertsSinceSeconds(
            crowd, pass: pass, wentBothWays: !self.audiences.crowds[crowd].passes[pass].isServedByChannel)
        let waiting = missing.map { missing in
            let notBefore = self.audiences.crowds[crowd].passes[pass].nextNotBeforeMillis(
                of: missing.member, at: members.table.position(of: missing.member), distanceMillis: distance,
                nowMillis: now.steadyMillis)
            return (member: missing.member, notBeforeMillis: notBefore, owesAlert: missing.owesAlert)
        }
        self.audiences.crowds[crowd].passes[pass].leaveToChannel(
            versionCount: versionCount, alertStampSeconds: self.audiences.crowds[crowd].alert?.stampSeconds,
            keepingAlertsSinceSeconds: alertsSinceSeconds, in: &members.table)
        for (member, notBefore, owesAlert) in waiting
        where self.audiences.crowds[crowd].passes[pass].retries[member] == nil {
            let count = self.audiences.crowds[crowd].passes[pass].retries.count
            guard count >= (owesAlert ? RetrySet.totalMax : RetrySet.countMax) else {
                self.audiences.crowds[crowd].passes[pass].retries.set(
                    RetrySet.Entry(notBeforeMillis: notBefore, isOwed: true, owesAlert: owesAlert), for: member)
                continue
            }
            // Progress has no room for all: a next owner takes every join for a late one.
            if notBefore > now.steadyMillis {
                self.audiences.crowds[crowd].passes[pass].recent.note(member, servedMillis: notBefore - distance)
            }
            members.table.insertFlag(.isLate, of: member)
            self.audiences.crowds[crowd].passes[pass].wait(late: member, isAhead: false)
            let number = self.audiences.crowds[crowd].passes[pass].lateLast
            self.audiences.crowds[crowd].passes[pass].noteLate(number, offset: 0)
        }
    }
    /// The newest alert has not come to the member.
    private func isOwedAlert(
        _ member: MemberID, by crowd: CrowdID, pass: Int, members: CrowdTable.Members
    ) -> Bool {
        guard self.audiences.crowds[crowd].alert != nil else { return false }
        if self.audiences.crowds[crowd].passes[pass].retries[member]?.owesAlert == true { return true }
        return self.waysOweAlert(member, of: crowd, pass: pass, members: members)
    }
    /// The newest version has not come to the member by its token.
    private func isOwed(_ member: MemberID, by crowd: CrowdID, pass: Int, members: CrowdTable.Members) -> Bool {
        members.table.flags(of: member).contains(.isLate)
            || self.audiences.crowds[crowd].passes[pass].retries[member]?.isOwed == true
            || self.comesRound(to: member, of: crowd, pass: pass, members: members)
    }

    // MARK: Takeover
    /// A pass goes on as its progress says, and then as the newest known version does.
    /// - Parameter joins: that `state` has of members since that progress.
    mutating func restoreListening(
        _ crowd: CrowdID, pass: Int, from progress: AudienceCodec.Progress, joins: [RestoredJoin], now: EngineTime
    ) {
        guard self.audiences.crowds[crowd].passes[pass].channelNumber != nil else { return }
        let listening = progress.part(of: self.audiences.crowds[crowd].passes[pass])?.listening
        if let listening { self.audiences.crowds[crowd].passes[pass].channelID = listening.id }
        guard !self.audiences.crowds[crowd].versions.isEmpty else { return }
        if let listening, listening.isServed {
            self.audiences.crowds[crowd].passes[pass].resumeChannel(
                alertStampSeconds: self.audiences.crowds[crowd].alert?.stampSeconds)
            let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
            let ring = self.audiences.crowds[crowd].passes[pass].ring
            for position in progress.part(of: self.audiences.crowds[crowd].passes[pass])?.skipped ?? [] {
                let member = self.member(at: position, ring: ring, members: members)
                if member.isSome { self.audiences.crowds[crowd].passes[pass].noteServedLate(member) }
            }
            // Who said that it listens after the newest version's event had that version by then.
            let recordSeconds = (self.audiences.crowds[crowd].newest?.layer.recordMillis ?? .max) / 1_000
            for join in joins
            where join.isKnown && members.table.ring(of: join.member) == ring
                && Int64(members.table.joinedSeconds(of: join.member)) >= recordSeconds
            {
                self.audiences.crowds[crowd].passes[pass].noteServedLate(join.member)
            }
        }
        self.changeWay(crowd, pass: pass, now: now)
    }
}

extension AudienceCodec.Progress {
    /// What it says of a pass; `nil`: its first member came later.
    func part(of pass: borrowing Pass) -> AudienceCodec.PassPart? {
        let (environment, number) = (pass.environment, pass.channelNumber)
        return self.passes.first { $0.environment == environment && $0.listening?.number == number }
    }
}
