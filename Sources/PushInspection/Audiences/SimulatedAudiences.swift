import DeviceModel

/// The audiences that somebody has joined, and their members. Bounded; told what happened, it looks at nothing itself.
public struct SimulatedAudiences: Sendable {
    /// How much is followed.
    public struct Limits: Sendable {
        /// Audiences; joins to further ones are not followed.
        public var audiencesMax = 16
        /// Members of all audiences together; further ones are only counted.
        public var membersMax = 10_000
        /// The first members of each audience have a phone with a card, too.
        public var membersWithPhoneMax = 2

        /// The defaults.
        public init() {}
    }

    /// Where a member stands.
    struct Place: Equatable {
        var audience: Int
        var member: Int
    }

    /// What a join came to.
    enum Joining: Equatable {
        /// It was one already, or is one of too many.
        case nothing
        /// It is a member, and is drawn as a pixel.
        case pixel
        /// It is a member, and is to have a phone with a card.
        case phone
    }

    /// More members are many.
    static let crowdedCount = 1_000

    let limits: Limits
    /// In the order in which they came; the id of one is its place plus one.
    public private(set) var audiences: [SimulatedAudience] = []
    /// Members followed, those who have left included.
    public private(set) var memberCount = 0
    private var placesByToken: [ByteKey: [Place]] = [:]
    /// Audiences whose members were pushed to since `tell`.
    private var moved: Set<Int> = []
    /// Number of joins that were not followed. An unknown token that is pushed to may be one of these.
    private(set) var unfollowedCount = 0

    init(limits: Limits) { self.limits = limits }

    /// The audience with a name; `nil`: nobody has joined it.
    public func audience(named name: String) -> SimulatedAudience? { self.audiences.first { $0.name == name } }

    /// Audiences that a token is a member of; a push-to-start token may be in several.
    func places(token: String) -> [Place] { self.placesByToken[ByteKey(token: token)] ?? [] }

    // MARK: Joining and leaving

    mutating func join(_ name: String, token: String, isStartMember: Bool, app: String, revision: Int) -> Joining {
        if let place = self.places(token: token).first(where: { self.audiences[$0.audience].name == name }) {
            guard self.audiences[place.audience].members[place.member].hasLeft else { return .nothing }
            self.change(place.audience, revision: revision) { $0.members[place.member].hasLeft = false }
            return .pixel
        }
        // An update token is in one audience: the latest join wins.
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
        self.placesByToken[ByteKey(token: token), default: []].append(Place(audience: index, member: member))
        self.change(index, revision: revision) { audience in
            if !app.isEmpty { audience.app = app }
            audience.members.append(SimulatedAudience.Member(token: token, isStartMember: isStartMember))
        }
        return member < self.limits.membersWithPhoneMax ? .phone : .pixel
    }

    /// A card that was started has an update token of its own: what comes with it is for the same member.
    mutating func add(updateToken: String, ofStartToken startToken: String) {
        let updateKey = ByteKey(token: updateToken)
        guard self.placesByToken[updateKey] == nil, let places = self.placesByToken[ByteKey(token: startToken)] else {
            return
        }
        self.placesByToken[updateKey] = places
    }

    /// - Parameter name: `nil`: all audiences of the token.
    mutating func leave(name: String?, token: String, revision: Int) {
        for place in self.places(token: token) {
            let audience = self.audiences[place.audience]
            // The update token of a start member may go; the member stays.
            guard name == nil || audience.name == name, audience.members[place.member].token == token,
                !audience.members[place.member].hasLeft
            else { continue }
            self.change(place.audience, revision: revision) { $0.members[place.member].hasLeft = true }
        }
    }

    private mutating func index(of name: String, app: String) -> Int? {
        if let known = self.audiences.firstIndex(where: { $0.name == name }) { return known }
        guard self.audiences.count < self.limits.audiencesMax else { return nil }
        self.audiences.append(SimulatedAudience(id: self.audiences.count + 1, name: name, app: app))
        return self.audiences.count - 1
    }

    // MARK: What happens to members

    /// - Returns: whether the push was to a member. Nobody is told of it before `tell`.
    mutating func takePush(_ push: PushGlimpse, to token: ByteKey, body: Span<UInt8>) -> Bool {
        guard let place = self.placesByToken[token]?.first else { return false }
        // Counted in place: a copy of ten thousand members for each push would cost more than the push.
        self.audiences[place.audience].takePush(push, body: body)
        self.moved.insert(place.audience)
        return true
    }

    /// Somebody was pushed to since `tell`.
    var hasNews: Bool { !self.moved.isEmpty }

    mutating func tell(revision: Int) {
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
