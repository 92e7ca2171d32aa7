import PushModel

/// Members that listen on their audience's channel (fan-out contract: Mixed audiences). They are in rings of their own,
/// which are owed nothing by token while the channel brings the newest version.
extension ShardEngine {
    // MARK: Joining
    /// The pass for the token of the event.
    mutating func passToJoin(_ crowd: CrowdID, app: UInt16, entry: EntryID, now: EngineTime) -> Int {
        let environment = self.intake.event.environment
        let range = self.intake.event.channelInText
        guard !range.isEmpty, self.memory.configuration.apps[Int(app)].audienceChannel == .auto else {
            return self.audiences.crowds.passIndex(crowd, environment: environment)
        }
        let channel = Array(self.intake.event.text[range.range])
        let isTold = self.audiences.crowds[crowd].versions.channels.contains {
            $0.environment == environment && $0.id == channel
        }
        let pass = self.audiences.crowds.passIndex(
            crowd, environment: environment, channel: channel, isTold: isTold)
        guard self.audiences.crowds[crowd].passes[pass].channelID == channel else { return pass }
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        guard members.table.count(of: self.audiences.crowds[crowd].passes[pass].ring) == 0 else { return pass }
        self.audiences.crowds[crowd].firstListenerJoined(pass: pass, in: &members.table)
        // Records of members name the channel by its number, and progress has its id.
        self.writeProgress(crowd, entry: entry, now: now)
        return pass
    }
    /// Environments in which a crowd has or had members; `nil`: its app's audiences have no channels.
    func knownEnvironments(_ crowd: CrowdID, app: UInt16) -> UInt8? {
        guard self.memory.configuration.apps[Int(app)].audienceChannel == .auto else { return nil }
        return self.audiences.crowds[crowd].environments
    }
    /// Asks the owner again, which opens a channel in the other environment only when it knows that there are members.
    /// - Parameter known: environments in which it had some before; `nil`: it has no channels.
    mutating func askAgain(
        _ crowd: CrowdID, joining environment: PushEnvironment, known: UInt8?, entry: EntryID
    ) {
        guard let known, known & AudienceChannels.bit(environment) == 0 else { return }
        self.journal.ask(crowd, entry: entry, joining: environment, in: &self.memory, audiences: self.audiences)
    }
    /// What a member that moves to another pass of its crowd is there.
    func entrance(
        of member: MemberID, goingTo pass: Int, of crowd: CrowdID, members: CrowdTable.Members
    ) -> Crowd.Entrance {
        var sentAlertStampSeconds: Int64?
        // An alert that is on its way may be owed again.
        if members.table.flags(of: member).contains(.isInFlight),
            let push = self.audiences.pushes.identifier(of: member, partition: self.audiences.crowds[crowd].partition),
            self.audiences.pushes[push].hasAlert, !self.audiences.pushes[push].isDetached
        {
            sentAlertStampSeconds = self.audiences.pushes[push].alertStampSeconds
        }
        return self.audiences.crowds[crowd].entrance(
            of: member, goingTo: pass, sentAlertStampSeconds: sentAlertStampSeconds, in: members.table)
    }
    /// Stamp of an alert that the member is owed, for its record; 0: none. Progress that covers it may not have been
    /// written yet.
    func owedAlertStampSeconds(_ member: MemberID, of crowd: CrowdID, pass: Int) -> Int64 {
        let app = Int(self.audiences.crowds[crowd].app)
        guard self.memory.configuration.apps[app].audienceChannel == .auto else { return 0 }
        return self.audiences.crowds[crowd].owedAlertStampSeconds(member, pass: pass)
    }

    // MARK: Versions
    /// Takes a newer version. Its channels say whether it reaches a pass's members by broadcast.
    /// - Returns: whether it does, and nothing is owed to them.
    mutating func isLeftToChannel(
        _ version: Version, crowd: CrowdID, pass: Int, count: Int, before: Owed, now: EngineTime
    ) -> Bool {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        guard
            self.audiences.crowds[crowd].isLeftToChannel(
                version, pass: pass, count: count, distanceMillis: self.distanceMillis(crowd), now: now,
                in: &members.table)
        else { return false }
        let due = self.audiences.crowds[crowd].passes[pass].apart.owedCount
        self.settleMembers(crowd, pass: pass, before: before, due: due, isNewerThere: true, into: .superseded)
        return true
    }
    /// Takes the newest version again, because which of its channels serve has changed.
    /// - Returns: whether anything is new.
    mutating func takeTurn(of newest: Version, crowd: CrowdID, now: EngineTime) -> Bool {
        guard self.audiences.crowds[crowd].takesTurn(of: newest) else { return false }
        for pass in self.audiences.crowds[crowd].passes.indices { self.changeWay(crowd, pass: pass, now: now) }
        return true
    }
    /// Changes how members of a pass get the newest version, if its channel says so now.
    mutating func changeWay(_ crowd: CrowdID, pass: Int, now: EngineTime) {
        let members = self.audiences.crowds.members(of: self.audiences.crowds[crowd].partition)
        let before = self.owed(crowd, pass: pass)
        let change = self.audiences.crowds[crowd].changeWay(
            ofPass: pass, distanceMillis: self.distanceMillis(crowd), now: now, in: &members.table)
        switch change {
        case .none: break
        case .toChannel: self.settleMembers(crowd, pass: pass, before: before, into: .superseded)
        case .toTokens: self.noteDue(crowd, pass: pass, before: before)
        }
    }
}
