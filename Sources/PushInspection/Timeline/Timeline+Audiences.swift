public import DeviceModel
import PushModel

/// Audiences and their members.
extension Timeline {
    /// Adds a member that the page creates. Its join record is not news when it is read later.
    /// - Returns: whether the member needs a phone with a card.
    @discardableResult
    public mutating func joinMember(token: String, audience: String, isStartMember: Bool, app: String) -> Bool {
        let joining = self.audiences.join(
            audience, token: token, isStartMember: isStartMember, app: app, revision: self.nextRevision())
        if let phone = self.phone(token: token), phone.unreportedToken == token {
            self.changePhone(phone.id) { $0.unreportedToken = nil }
        }
        guard joining == .phone else { return false }
        self.meet(token: token, activity: audience, app: app)
        return true
    }

    /// Handles a join or leave from the events topic.
    /// - Returns: whether it is worth a line of the timeline. A thousand may join at once: each is drawn as a pixel,
    ///   and only those with a card are listed. The page's own actions are listed already.
    mutating func heedMembership(_ event: EventReading.Event, token: String) -> Bool {
        guard event.kind == .register else {
            self.audiences.leave(
                name: event.group.isEmpty ? nil : event.group, token: token, revision: self.nextRevision())
            return self.phone(token: token) != nil
        }
        return self.joinMember(
            token: token, audience: event.group, isStartMember: event.isStartMember, app: event.app)
    }

    /// Adds the update token of a started card.
    public mutating func addUpdateToken(_ updateToken: String, ofStartToken startToken: String) {
        self.audiences.add(updateToken: updateToken, ofStartToken: startToken)
    }

    /// Whether the number of members makes each look at all of them costly.
    public var isCrowded: Bool { self.audiences.memberCount > SimulatedAudiences.crowdedCount }

    /// The audiences of a token's member; empty: the token is not a member.
    public func audienceNames(ofMember token: String) -> [String] {
        self.audiences.memberships(token: token).map { self.audiences.audiences[$0.audience].name }
    }

    /// The audience that a phone's new token must join, in place of an earlier token of the phone.
    /// - Returns: the audience, and whether the token is for starts; `nil`: the phone is not a member's.
    public func membershipToRenew(of phone: SimulatedPhone) -> (audience: String, isStartMember: Bool)? {
        for token in phone.tokens.reversed() {
            guard let found = self.audiences.memberships(token: token).last else { continue }
            let audience = self.audiences.audiences[found.audience]
            // The update token of a started card leads to its start member.
            let member = audience.members[found.member]
            return (audience.name, member.isStartMember && member.token == token)
        }
        return nil
    }

    /// Adds the new token of a member's phone as a member of its own, as the phone's app and its server do.
    public mutating func rejoin(token: String, audience: String, isStartMember: Bool, app: String) {
        self.joinMember(token: token, audience: audience, isStartMember: isStartMember, app: app)
        self.meet(token: token, activity: audience, app: app)
    }

    /// Takes what was seen of the members of an audience.
    public mutating func takeGlances(_ glances: [(member: Int, glance: CardGlance)], of audience: Int) {
        let revision = self.nextRevision()
        if !self.audiences.take(glances, of: audience, revision: revision) { self.takeRevisionBack() }
    }

    /// Groups of members whose content nobody has asked for yet.
    public var contentsWanted: [(audience: Int, hash: UInt64, token: String)] {
        self.audiences.audiences.flatMap { audience in
            audience.groups.filter { $0.content == nil }.map { (audience.id, $0.contentHash, $0.example) }
        }
    }

    /// Sets the content that a group of members shows.
    public mutating func setContent(_ content: JSONTree, hash: UInt64, of audience: Int) {
        self.audiences.setContent(content, hash: hash, of: audience, revision: self.nextRevision())
    }

    /// Gives a phone with a card to one more member of an audience.
    /// - Parameters:
    ///   - audience: the audience's id.
    ///   - number: number of the member, counted from 1.
    /// - Returns: the phone; `nil`: there is no such member.
    public mutating func watchMember(_ number: Int, ofAudience audience: Int) -> Int? {
        guard let found = self.audiences.audiences.first(where: { $0.id == audience }),
            found.members.indices.contains(number - 1)
        else { return nil }
        return self.meet(token: found.members[number - 1].token, activity: found.name, app: found.app)
    }
}
