import PushModel

/// Members that listen on their audience's channel (fan-out contract: Mixed audiences). They are in rings of their own.
/// While the channel brings the newest version, these members are owed nothing by token, except for those that joined
/// late or may miss the broadcast.
extension FanOut {
    // MARK: Joining
    /// The pass that the event's token joins.
    mutating func passToJoin(_ crowd: CrowdID, app: UInt16, entry: EntryID, in core: inout ShardCore, now: EngineTime)
        -> Int
    {
        let environment = core.intake.event.environment
        let range = core.intake.event.channelInText
        guard !range.isEmpty, core.memory.configuration.apps[Int(app)].audienceChannel == .auto else {
            return self.crowds.passIndex(crowd, environment: environment)
        }
        let channel = Array(core.intake.event.text[range.range])
        let pass = self.crowds.passIndex(crowd, environment: environment, channel: channel)
        let members = self.crowds.members(of: crowd)
        if self.crowds[crowd].firstListenerJoins(pass: pass, channel: channel, in: &members.table) {
            // Records of members name the channel by its number; only the progress record has the channel's id.
            self.writeProgress(crowd, entry: entry, in: &core, now: now)
        }
        return pass
    }
    /// Environments in which a crowd has or had members; `nil`: audiences of the app have no channels.
    func knownEnvironments(_ crowd: CrowdID, app: UInt16, in core: borrowing ShardCore) -> UInt8? {
        guard core.memory.configuration.apps[Int(app)].audienceChannel == .auto else { return nil }
        return self.crowds[crowd].environments
    }
    /// Asks the audience's owner for its newest version.
    /// - Parameters:
    ///   - entry: not resolved before Kafka has the question; `none`: no event waits for the question.
    ///   - joining: environment of the member that is joining.
    mutating func ask(
        _ crowd: CrowdID, entry: EntryID = .none, joining: PushEnvironment? = nil, in core: inout ShardCore
    ) {
        core.journal.ask(
            self.crowds[crowd], entry: entry, joining: joining, members: self.crowds.membersIfAny(of: crowd),
            in: &core.memory)
    }
    /// Asks the owner again, if the member is the first in its environment. The owner opens a channel there only when
    /// it knows that there are members.
    /// - Parameter known: environments in which the crowd had members before; `nil`: audiences of the app have no
    ///   channels.
    mutating func askAgain(
        _ crowd: CrowdID, joining environment: PushEnvironment, known: UInt8?, entry: EntryID, in core: inout ShardCore
    ) {
        guard let known, known & AudienceChannels.bit(environment) == 0 else { return }
        self.ask(crowd, entry: entry, joining: environment, in: &core)
    }
    /// How a member that moves to another pass of its crowd enters that pass.
    func entrance(
        of member: MemberID, goingTo pass: Int, of crowd: CrowdID, members: CrowdTable.Members
    ) -> Crowd.Entrance {
        var sentAlertStampSeconds: Int64?
        // While the push with the alert is unanswered, the alert counts as owed in the new ring: see `alertAnswered`.
        if let push = self.pushInFlight(to: member, of: crowd, members: members), self.pushes[push].hasAlert,
            !self.pushes[push].isDetached
        {
            sentAlertStampSeconds = self.pushes[push].alertStampSeconds
        }
        return self.crowds[crowd].entrance(
            of: member, goingTo: pass, sentAlertStampSeconds: sentAlertStampSeconds, in: members.table)
    }
    /// Stamp of the alert that the member is owed, to be written in the member's record; 0: none. The member's record
    /// has it, because a progress record that covers the alert may not have been written yet.
    func owedAlertStampSeconds(_ member: MemberID, of crowd: CrowdID, pass: Int, in core: borrowing ShardCore) -> Int64
    {
        guard core.memory.hasChannels(self.crowds[crowd]) else { return 0 }
        return self.crowds[crowd].owedAlertStampSeconds(member, pass: pass)
    }

    // MARK: Versions
    /// Takes the newest version again, because other channels serve it now.
    /// - Returns: whether anything is new.
    mutating func takeChannels(of newest: Version, crowd: CrowdID, in core: inout ShardCore, now: EngineTime) -> Bool {
        guard self.crowds[crowd].takesChannels(of: newest) else { return false }
        for pass in self.crowds[crowd].passIndices { self.changeWay(crowd, pass: pass, in: &core, now: now) }
        return true
    }
    /// Changes how members of a pass get the newest version, if the version's channels now say so.
    mutating func changeWay(_ crowd: CrowdID, pass: Int, in core: inout ShardCore, now: EngineTime) {
        let members = self.crowds.members(of: crowd)
        let (way, settled) = self.crowds[crowd].changeWay(
            ofPass: pass, distanceMillis: core.memory.distanceMillis(self.crowds[crowd]), now: now, in: &members.table)
        switch way {
        case .none: break
        case .toChannel: self.settle(settled, of: crowd, into: .superseded, in: &core)
        case .toTokens:
            self.countDue(
                Pass.Owed() - settled.members, of: crowd, alertStampSeconds: settled.alertStampSeconds, in: &core)
        }
    }
}
