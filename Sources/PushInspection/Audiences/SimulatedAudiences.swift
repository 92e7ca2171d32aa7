import DeviceModel

/// The audiences that have been joined, and their members. Bounded. The caller reports what happened; this type looks
/// at nothing itself.
public struct SimulatedAudiences: Sendable {
    /// Limits of what is followed.
    public struct Limits: Sendable {
        /// Maximum number of audiences. Joins to further ones are not followed.
        public var audiencesMax = 16
        /// Maximum number of members of all audiences together. Further ones are only counted.
        public var membersMax = 10_000
        /// Number of each audience's first members that also have a phone with a card.
        public var membersWithPhoneMax = 2

        /// Creates the default limits.
        public init() {}
    }

    /// A member's index in its audience.
    struct Membership: Equatable {
        var audience: Int
        var member: Int
    }

    /// The result of a join.
    enum Joining: Equatable {
        /// The token was a member already, or exceeds a limit.
        case nothing
        /// The token is a member, and is drawn as a pixel.
        case pixel
        /// The token is a member, and needs a phone with a card.
        case phone
    }

    /// Number of members above which a look at all of them is costly.
    static let crowdedCount = 1_000

    let limits: Limits
    /// Audiences in the order of their first join. An audience's id is its index plus one.
    public private(set) var audiences: [SimulatedAudience] = []
    /// Number of members followed, including those who have left.
    public private(set) var memberCount = 0
    private var membershipsByToken: [ByteKey: [Membership]] = [:]
    /// Audiences with pushes to members since the last `publish`.
    private var moved: Set<Int> = []
    /// Number of joins that were not followed. An unknown token in a push may be one of these.
    private(set) var unfollowedCount = 0

    init(limits: Limits) { self.limits = limits }

    /// The audience with a name; `nil`: nobody has joined it.
    public func audience(named name: String) -> SimulatedAudience? { self.audiences.first { $0.name == name } }

    /// Audiences that have a token as a member. A push-to-start token may be in several.
    func memberships(token: String) -> [Membership] { self.membershipsByToken[ByteKey(token: token)] ?? [] }

    // MARK: Joining and leaving

    mutating func join(_ name: String, token: String, isStartMember: Bool, app: String, revision: Int) -> Joining {
        if let membership = self.memberships(token: token).first(where: { self.audiences[$0.audience].name == name }) {
            guard self.audiences[membership.audience].members[membership.member].hasLeft else { return .nothing }
            self.change(membership.audience, revision: revision) { $0.members[membership.member].hasLeft = false }
            return .pixel
        }
        // An update token is in one audience, so the latest join wins.
        if !isStartMember { self.leave(name: nil, token: token, revision: revision) }
        guard let index = self.index(of: name, app: app) else {
            self.unfollowedCount += 1
            return .nothing
        }
        guard self.memberCount < self.limits.membersMax else {
            self.unfollowedCount += 1
            self.change(index, revision: revision) { $0.unfollowedCount += 1 }
            return .nothing
        }
        self.memberCount += 1
        let member = self.audiences[index].members.count
        self.membershipsByToken[ByteKey(token: token), default: []].append(Membership(audience: index, member: member))
        self.change(index, revision: revision) { audience in
            if !app.isEmpty { audience.app = app }
            audience.members.append(SimulatedAudience.Member(token: token, isStartMember: isStartMember))
        }
        return member < self.limits.membersWithPhoneMax ? .phone : .pixel
    }

    /// Adds the update token of a started card. Pushes to it are for the same member.
    mutating func add(updateToken: String, ofStartToken startToken: String) {
        let updateKey = ByteKey(token: updateToken)
        guard self.membershipsByToken[updateKey] == nil,
            let memberships = self.membershipsByToken[ByteKey(token: startToken)]
        else {
            return
        }
        self.membershipsByToken[updateKey] = memberships
    }

    /// Removes a token from an audience.
    /// - Parameter name: the audience; `nil`: all audiences of the token.
    mutating func leave(name: String?, token: String, revision: Int) {
        for membership in self.memberships(token: token) {
            let audience = self.audiences[membership.audience]
            // The update token of a start member may be removed; the member stays.
            guard name == nil || audience.name == name, audience.members[membership.member].token == token,
                !audience.members[membership.member].hasLeft
            else { continue }
            self.change(membership.audience, revision: revision) { $0.members[membership.member].hasLeft = true }
        }
    }

    private mutating func index(of name: String, app: String) -> Int? {
        if let known = self.audiences.firstIndex(where: { $0.name == name }) { return known }
        guard self.audiences.count < self.limits.audiencesMax else { return nil }
        self.audiences.append(SimulatedAudience(id: self.audiences.count + 1, name: name, app: app))
        return self.audiences.count - 1
    }

    // MARK: Events of members

    /// Counts a push to a member. Followers learn of it at the next `publish`.
    /// - Returns: whether the push was to a member.
    mutating func takePush(_ push: PushGlimpse, to token: ByteKey, body: Span<UInt8>) -> Bool {
        guard let membership = self.membershipsByToken[token]?.first else { return false }
        // The push is counted in place: a copy of ten thousand members for each push would cost more than the push.
        self.audiences[membership.audience].takePush(push, to: membership.member, body: body)
        self.moved.insert(membership.audience)
        return true
    }

    /// Whether a member received a push since the last `publish`.
    var hasNews: Bool { !self.moved.isEmpty }

    mutating func publish(revision: Int) {
        for index in self.moved { self.audiences[index].revision = revision }
        self.moved.removeAll(keepingCapacity: true)
    }

    mutating func take(_ glances: [(member: Int, glance: CardGlance)], of id: Int, revision: Int) -> Bool {
        guard self.audiences.indices.contains(id - 1), self.audiences[id - 1].take(glances) else { return false }
        self.audiences[id - 1].revision = revision
        return true
    }

    mutating func setContent(_ content: JSONTree, hash: UInt64, of id: Int, revision: Int) {
        guard self.audiences.indices.contains(id - 1),
            let group = self.audiences[id - 1].groups.firstIndex(where: { $0.contentHash == hash })
        else { return }
        self.audiences[id - 1].groups[group].content = content
        self.audiences[id - 1].revision = revision
    }

    private mutating func change(_ index: Int, revision: Int, _ change: (inout SimulatedAudience) -> Void) {
        change(&self.audiences[index])
        self.audiences[index].revision = revision
    }
}
