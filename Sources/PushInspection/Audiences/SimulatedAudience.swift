public import DeviceModel
import PushModel

/// An audience as the page knows it: who has joined, what each shows, and the rounds of pushes.
public struct SimulatedAudience: Sendable {
    /// A member of the audience.
    public struct Member: Sendable {
        /// The token in lower-case hex. A secret.
        public let token: String
        /// Whether the member joined with a push-to-start token.
        public let isStartMember: Bool
        /// Whether the member has left, or has joined another audience since.
        public internal(set) var hasLeft = false
        /// What the member shows; `nil`: not looked at yet.
        public internal(set) var glance: CardGlance?
        /// The round whose push APNs keeps for the member, by its `number`; 0: none. Only the newest is kept.
        var waitingRound = 0

        /// Whether APNs keeps a push that can still reach the member. A push that has expired no longer counts.
        var isWaiting: Bool { self.waitingRound > 0 && self.glance.map { !$0.isOnline && $0.isTokenAlive } ?? true }
    }

    /// Members that show the same content.
    public struct Group: Equatable, Sendable {
        /// Hash of the content.
        public var contentHash: UInt64
        /// Number of members that show the content.
        public var count: Int
        /// The newest stamp with which a member shows the content, seconds since 1970.
        public var stampSeconds: Int64?
        /// Token of one of the members. A secret.
        public var example: String
        /// The content; `nil`: not asked for yet.
        public var content: JSONTree?
    }

    /// Number of the audience, counted from 1.
    public let id: Int
    /// The audience's id in events.
    public let name: String
    /// Bundle id; empty: the worker has only one app.
    public internal(set) var app: String
    /// Members in the order in which they joined.
    public internal(set) var members: [Member] = []
    /// Number of joins that are not followed, because a limit was reached.
    public internal(set) var unfollowedCount = 0
    /// What the members show, most frequent first; at most `groupsMax`.
    public internal(set) var groups: [Group] = []
    /// Rounds of pushes, newest last.
    public internal(set) var rounds: [AudienceRound] = []
    private var nextRound = 1
    /// Counts of members by state.
    public internal(set) var counts = Counts()
    /// The body of the newest push. A push with an equal body belongs to the same round, and is not read again.
    var lastBody: [UInt8] = []
    /// The timeline's revision when the audience last changed.
    public internal(set) var revision = 0

    /// Number of members in each state.
    public struct Counts: Equatable, Sendable {
        /// Members that are online and whose card shows the newest stamp of all.
        public var newest = 0
        /// Members that are online and whose card shows something older.
        public var older = 0
        /// Members that show nothing yet.
        public var untouched = 0
        /// Members whose phone is offline.
        public var away = 0
        /// Members whose card has ended and is still visible.
        public var ended = 0
        /// Members whose card has left the Lock Screen.
        public var dismissed = 0
        /// Members that have left, or whose token APNs refuses although their card is neither ended nor dismissed.
        public var gone = 0
    }

    /// Maximum number of groups that are kept.
    static let groupsMax = 8
    /// Maximum number of rounds that are kept.
    static let roundsMax = 8

    init(id: Int, name: String, app: String) {
        self.id = id
        self.name = name
        self.app = app
    }

    /// The newest stamp that a member shows, seconds since 1970.
    public var newestStampSeconds: Int64? { self.members.lazy.compactMap { $0.glance?.stampSeconds }.max() }

    // MARK: Observations

    /// Takes what was seen of the members.
    /// - Returns: whether something changed.
    mutating func take(_ glances: [(member: Int, glance: CardGlance)]) -> Bool {
        var isNew = false
        for (member, glance) in glances where self.members.indices.contains(member) {
            guard self.members[member].glance != glance else { continue }
            self.members[member].glance = glance
            isNew = true
        }
        if isNew { self.count() }
        return isNew
    }

    mutating func count() {
        let newest = self.newestStampSeconds
        var counts = Counts()
        var groups: [UInt64: Group] = [:]
        for member in self.members {
            guard let glance = member.glance, !member.hasLeft else {
                if member.hasLeft { counts.gone += 1 } else { counts.untouched += 1 }
                continue
            }
            if !glance.isTokenAlive, glance.card == .untouched || glance.card == .active || glance.card == .stale {
                counts.gone += 1
            } else if glance.card == .ended {
                counts.ended += 1
            } else if glance.card == .dismissed {
                counts.dismissed += 1
            } else if !glance.isOnline {
                counts.away += 1
            } else if glance.card == .untouched {
                counts.untouched += 1
            } else if glance.stampSeconds == newest {
                counts.newest += 1
            } else {
                counts.older += 1
            }
            guard glance.card != .untouched, glance.card != .dismissed else { continue }
            var group =
                groups[glance.contentHash]
                ?? Group(contentHash: glance.contentHash, count: 0, stampSeconds: nil, example: member.token)
            group.count += 1
            group.stampSeconds = max(group.stampSeconds ?? .min, glance.stampSeconds ?? .min)
            groups[glance.contentHash] = group
        }
        self.counts = counts
        let known = self.groups
        self.groups = groups.values.sorted { ($0.count, $0.contentHash) > ($1.count, $1.contentHash) }
            .prefix(Self.groupsMax).map { group in
                var group = group
                group.content = known.first { $0.contentHash == group.contentHash }?.content
                return group
            }
    }

    // MARK: Pushes

    /// Takes a push to a member. The push belongs to a round that is kept, or begins a new one.
    mutating func takePush(_ push: PushGlimpse, to member: Int, body: Span<UInt8>) {
        if self.rounds.isEmpty || !body.holdsSameBytes(as: self.lastBody.span) {
            self.lastBody.removeAll(keepingCapacity: true)
            self.lastBody.append(copying: body)
            let aps = (try? JSONTree.parse(self.lastBody))?["aps"]
            let stampSeconds = aps?["timestamp"].flatMap { Int64($0.plainText) }
            // Some members get the same version with another body, such as members that joined late.
            if let known = self.rounds.firstIndex(where: { $0.stampSeconds == stampSeconds }) {
                self.rounds.append(self.rounds.remove(at: known))
            } else {
                self.rounds.append(
                    AudienceRound(
                        number: self.nextRound, stampSeconds: stampSeconds, event: aps?["event"]?.plainText ?? "",
                        atMillis: push.atMillis))
                self.nextRound += 1
                if self.rounds.count > Self.roundsMax { self.rounds.removeFirst() }
            }
        }
        let word = PushVerdict.word(of: push)
        let round = self.rounds.count - 1
        let number = self.rounds[round].number
        self.rounds[round].count(
            word, atMillis: push.atMillis,
            isNew: !push.hadWaited || self.members[member].waitingRound != number)
        switch word {
        case .waiting: self.members[member].waitingRound = number
        // APNs did not take the push, so an earlier push may still wait for the phone.
        case .refused, .unanswered: break
        // No push arrives with these words: they come to a push later.
        case .waited, .dropped: break
        case .shown, .ignored, .undecodable, .budget, .sent:
            if self.members[member].waitingRound != 0 { self.members[member].waitingRound = 0 }
        }
    }

    /// For each round, the number of pushes by their present verdict. A push counts as waiting only if it is the newest
    /// for its phone.
    var verdicts: [[PushVerdict.Word: Int]] {
        var waiting: [Int: Int] = [:]
        for member in self.members where member.isWaiting { waiting[member.waitingRound, default: 0] += 1 }
        return self.rounds.map { round in
            var counts = round.counts
            counts[.waiting] = waiting[round.number]
            return counts
        }
    }
}
