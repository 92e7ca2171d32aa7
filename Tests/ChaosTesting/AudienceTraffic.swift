import PushModel
import Upstream

/// Makes the traffic of audiences with many phones during a run. Audiences fill, phones join and leave, and events
/// follow one another. Some audiences end and others begin.
///
/// The type is pure: the caller gives the time, and all randomness comes from a seed.
struct AudienceTraffic {
    /// Something for the driver to do.
    enum Step {
        case publish(Publication)
        /// APNs gives the phone of `old` the token `new`. The app publishes `records` `delayMillis` after that.
        case rotate(old: String, new: String, delayMillis: Int64, records: [Publication])
        /// Makes APNs call the token dead from now on.
        case kill(token: String)
        /// The phone's app listens on the channel that is kept for its audience, or stops when `channel` is `nil`. The
        /// app publishes `records` `delayMillis` after that.
        case listen(token: String, channel: String?, delayMillis: Int64, records: [Publication])
    }

    private struct Audience {
        var id: String
        var app: String
        var isMisplaced: Bool
        /// Number of phones that are still to join.
        var missingCount: Int
        var nextEventMillis: Int64
        /// When the audience ends, milliseconds since the beginning. `nil` means never.
        var endMillis: Int64?
        /// Whether another audience begins when this one has ended.
        var hasSuccessor = false
        var isOver = false
        /// When an update withdraws the latest alert, milliseconds since the beginning. `nil` means that no withdrawal
        /// is planned.
        var withdrawalMillis: Int64?
    }

    /// State of a phone's membership. While the membership is `changing`, APNs is informed first, and the app publishes
    /// the change afterwards.
    private enum Membership { case member, changing, left, gone }

    private struct Phone {
        var token: String
        var audience: Int
        var isFrequent: Bool
        var isMisplaced: Bool
        var membership = Membership.member
        /// Membership that the phone has after the change.
        var next = Membership.member
        /// The channel that the phone listens on.
        var channel: String?
        /// Whether the phone came from another audience. Such a phone does not begin to listen, because it may already
        /// show newer content than the channel brings. The judge could not tell what the channel brought.
        var hasMoved = false
    }

    /// Number of joins per second while audiences fill, and number of later joins, leaves and other changes per second.
    static let (joinsPerSecond, changesPerSecond) = (300, 15)
    /// Number of phones drawn per second to begin or stop listening. A drawn phone changes nothing if its audience has
    /// no kept channel.
    static let listenersPerSecond = 60
    private static let eventDistanceMillis: ClosedRange<Int64> = 500...8_000

    private var random: SplitMix64
    private var audiences: [Audience] = []
    private var phones: [Phone] = []
    private let phonesPerAudience: Int
    private var sequence = 0
    private var (dueJoins, dueChanges, dueListeners): (Int64, Int64, Int64) = (0, 0, 0)
    /// Kept channels that outcomes have named, by audience id.
    private var channels: [String: String] = [:]
    /// Random numbers for listening alone. The seed does not decide when an outcome names a channel, so listening must
    /// not use up the other random numbers.
    private var listenRandom: SplitMix64
    private var lastMillis: Int64?

    /// Plans audiences. Half of the audiences end about the middle of the run and have a successor. A quarter of the
    /// audiences end near the end of the run.
    /// - Parameters:
    ///   - count: audiences at a time.
    ///   - memberCount: phones of all audiences together, before any join or leave.
    ///   - durationMillis: how long the driver asks for steps.
    init(count: Int, memberCount: Int, durationMillis: Int64, seed: UInt64) {
        // Seeds that differ from those of the activities and of the channels.
        self.random = SplitMix64(seed: seed &* 0x9e37_79b9_7f4a_7c15 &+ 1)
        self.listenRandom = SplitMix64(seed: seed &* 0x9e37_79b9_7f4a_7c15 &+ 3)
        self.phonesPerAudience = count == 0 ? 0 : memberCount / count
        for number in 0..<count {
            var audience = self.audience(
                "match-\(number)", app: ChaosTraffic.apps[number % ChaosTraffic.apps.count], beganMillis: 0)
            // The events of one audience are written to a partition other than its key's.
            audience.isMisplaced = number == 1
            switch number % 4 {
            case 0, 2:
                audience.endMillis = Int64.random(
                    in: durationMillis * 4 / 10...durationMillis * 6 / 10, using: &self.random)
                audience.hasSuccessor = true
            case 1:
                audience.endMillis = Int64.random(
                    in: durationMillis * 8 / 10...durationMillis * 95 / 100, using: &self.random)
            default: break
            }
            self.audiences.append(audience)
        }
    }

    private mutating func audience(_ id: String, app: String, beganMillis: Int64) -> Audience {
        Audience(
            id: id, app: app, isMisplaced: false, missingCount: self.phonesPerAudience,
            nextEventMillis: beganMillis + self.distance())
    }

    // MARK: Playing

    /// Steps that are due by now.
    /// - Parameters:
    ///   - nowMillis: time since the beginning.
    ///   - wallMillis: time since 1970.
    mutating func steps(nowMillis: Int64, wallMillis: Int64) -> [Step] {
        let elapsed = max(0, nowMillis - (self.lastMillis ?? nowMillis))
        self.lastMillis = nowMillis
        var steps: [Step] = []
        self.end(&steps, nowMillis)
        self.fill(&steps, elapsed)
        self.dueChanges += elapsed * Int64(Self.changesPerSecond)
        while self.dueChanges >= 1_000 {
            self.dueChanges -= 1_000
            self.change(&steps)
        }
        self.dueListeners += self.channels.isEmpty ? 0 : elapsed * Int64(Self.listenersPerSecond)
        while self.dueListeners >= 1_000 {
            self.dueListeners -= 1_000
            self.moveListener(&steps)
        }
        for index in self.audiences.indices where !self.audiences[index].isOver {
            self.publishDueEvents(index, &steps, nowMillis, wallMillis)
        }
        return steps
    }

    private mutating func end(_ steps: inout [Step], _ nowMillis: Int64) {
        for index in self.audiences.indices {
            let audience = self.audiences[index]
            guard let end = audience.endMillis, nowMillis >= end, !audience.isOver else { continue }
            var event = StoryEvent(
                .end, app: audience.app, contentState: Bool.random(using: &self.random) ? self.content() : nil)
            event.audience = audience.id
            steps.append(.publish(Publication(audience.id, event, isMisplaced: audience.isMisplaced)))
            self.audiences[index].isOver = true
            self.audiences[index].missingCount = 0
            if audience.hasSuccessor {
                self.audiences.append(
                    self.audience("\(audience.id)-again", app: audience.app, beganMillis: nowMillis))
            }
        }
    }

    private mutating func fill(_ steps: inout [Step], _ elapsed: Int64) {
        self.dueJoins += elapsed * Int64(Self.joinsPerSecond)
        while self.dueJoins >= 1_000 {
            self.dueJoins -= 1_000
            let filling = self.audiences.indices.filter { self.audiences[$0].missingCount > 0 }
            guard let index = filling.randomElement(using: &self.random) else { continue }
            self.audiences[index].missingCount -= 1
            steps.append(.publish(self.newcomer(index)))
        }
    }

    // MARK: Joins and leaves

    private mutating func newcomer(_ audience: Int) -> Publication {
        let phone = Phone(
            token: self.random.nextToken(), audience: audience,
            isFrequent: Int.random(in: 0..<5, using: &self.random) == 0,
            isMisplaced: Int.random(in: 0..<40, using: &self.random) == 0)
        self.phones.append(phone)
        return self.join(phone)
    }

    private mutating func change(_ steps: inout [Step]) {
        guard !self.phones.isEmpty else { return }
        let kind = Int.random(in: 0..<100, using: &self.random)
        let index = Int.random(in: 0..<self.phones.count, using: &self.random)
        let phone = self.phones[index]
        let isOver = self.audiences[phone.audience].isOver
        switch (kind, phone.membership) {
        case (0..<35, _):
            // Some phones join an audience that has ended, and get its end.
            guard !isOver || kind < 5 else { return }
            steps.append(.publish(self.newcomer(phone.audience)))
        case (35..<55, .member) where !isOver:
            let leave = self.leave(phone, isNamed: Bool.random(using: &self.random))
            guard phone.channel == nil else { return self.stopListening(index, saying: leave, next: .left, &steps) }
            self.phones[index].membership = .left
            steps.append(.publish(leave))
        case (55..<75, .member) where !isOver: self.rotate(index, &steps)
        case (75..<88, .member) where !isOver: self.move(index, &steps)
        case (88..<90, .member) where !isOver:
            self.phones[index].membership = .gone
            steps.append(.kill(token: phone.token))
        case (90..., .member) where !isOver: steps.append(.publish(self.join(phone)))
        case (_, .left) where !isOver:
            self.phones[index].membership = .member
            steps.append(.publish(self.join(phone)))
        default: return
        }
    }

    private mutating func rotate(_ index: Int, _ steps: inout [Step]) {
        let old = self.phones[index]
        self.phones[index].token = self.random.nextToken()
        self.phones[index].membership = .changing
        self.phones[index].next = .member
        let new = self.phones[index]
        steps.append(
            .rotate(
                old: old.token, new: new.token, delayMillis: Int64.random(in: 0...2_000, using: &self.random),
                records: [self.leave(old, isNamed: true), self.join(new)]))
    }

    /// Ends the change of membership of the phone behind `token`, because its records have been published.
    mutating func hasChanged(_ token: String) {
        guard let index = self.phones.lastIndex(where: { $0.token == token }) else { return }
        self.phones[index].membership = self.phones[index].next
    }

    /// Moves a phone to another audience without a leave: the latest join wins.
    private mutating func move(_ index: Int, _ steps: inout [Step]) {
        let app = self.audiences[self.phones[index].audience].app
        let others = self.audiences.indices.filter {
            $0 != self.phones[index].audience && self.audiences[$0].app == app && !self.audiences[$0].isOver
        }
        guard let other = others.randomElement(using: &self.random) else { return }
        self.phones[index].audience = other
        self.phones[index].hasMoved = true
        guard self.phones[index].channel == nil else {
            self.phones[index].channel = nil
            return self.stopListening(index, saying: self.join(self.phones[index]), next: .member, &steps)
        }
        steps.append(.publish(self.join(self.phones[index])))
    }

    // MARK: Listening

    /// Remembers a channel that an outcome names as kept for an audience.
    mutating func opened(_ channel: String, of audience: String) { self.channels[audience] = channel }

    /// Forgets a kept channel that an outcome reports as closed. No further phone begins to listen on it.
    mutating func closed(_ channel: String) { self.channels = self.channels.filter { $0.value != channel } }

    /// Lets a random phone begin to listen on its audience's channel. A phone that already listens stops in one of
    /// eight cases, and gets pushes again.
    private mutating func moveListener(_ steps: inout [Step]) {
        guard !self.phones.isEmpty else { return }
        let index = Int.random(in: 0..<self.phones.count, using: &self.listenRandom)
        let phone = self.phones[index]
        let audience = self.audiences[phone.audience]
        guard phone.membership == .member, !phone.hasMoved, !audience.isOver, let channel = self.channels[audience.id]
        else { return }
        guard phone.channel == nil else {
            guard Int.random(in: 0..<8, using: &self.listenRandom) == 0 else { return }
            self.phones[index].channel = nil
            return self.stopListening(index, saying: self.join(self.phones[index]), next: .member, &steps)
        }
        self.phones[index].channel = channel
        self.change(index, to: channel, saying: self.join(self.phones[index]), next: .member, &steps)
    }

    private mutating func stopListening(
        _ index: Int, saying record: Publication, next: Membership, _ steps: inout [Step]
    ) {
        self.phones[index].channel = nil
        self.change(index, to: nil, saying: record, next: next, &steps)
    }

    private mutating func change(
        _ index: Int, to channel: String?, saying record: Publication, next: Membership, _ steps: inout [Step]
    ) {
        self.phones[index].membership = .changing
        self.phones[index].next = next
        steps.append(
            .listen(
                token: self.phones[index].token, channel: channel,
                delayMillis: Int64.random(in: 0...1_000, using: &self.listenRandom), records: [record]))
    }

    private mutating func join(_ phone: Phone) -> Publication {
        var membership = StoryMembership.join(
            self.audiences[phone.audience].id, app: self.audiences[phone.audience].app, token: phone.token,
            frequentUpdates: phone.isFrequent)
        membership.channel = phone.channel
        return self.record(membership, of: phone)
    }

    private mutating func leave(_ phone: Phone, isNamed: Bool) -> Publication {
        let audience = self.audiences[phone.audience]
        return self.record(.leave(isNamed ? audience.id : nil, app: audience.app, token: phone.token), of: phone)
    }

    /// Makes a record that differs from all others.
    private mutating func record(_ membership: StoryMembership, of phone: Phone) -> Publication {
        self.sequence += 1
        var membership = membership
        membership.id = "m\(self.sequence)"
        var publication = Publication(membership)
        publication.isMisplaced = phone.isMisplaced
        return publication
    }

    // MARK: Events

    private mutating func publishDueEvents(_ index: Int, _ steps: inout [Step], _ nowMillis: Int64, _ wallMillis: Int64)
    {
        if let withdrawal = self.audiences[index].withdrawalMillis, nowMillis >= withdrawal {
            self.audiences[index].withdrawalMillis = nil
            var event = StoryEvent(.update, app: self.audiences[index].app, contentState: self.content(), priority: 10)
            event.withdrawsAlert = true
            self.publish(event, to: index, &steps)
        }
        guard nowMillis >= self.audiences[index].nextEventMillis else { return }
        self.audiences[index].nextEventMillis = nowMillis + self.distance()
        var event = StoryEvent(.update, app: self.audiences[index].app, contentState: self.content())
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<25:
            event.priority = 10
            event.alert = "{\"title\":\"\(self.audiences[index].id)\",\"body\":\"Goal \(self.sequence)\"}"
            if Int.random(in: 0..<3, using: &self.random) == 0 {
                self.audiences[index].withdrawalMillis = nowMillis + Int64.random(in: 100...900, using: &self.random)
            }
        case 25..<40: event.priority = 10
        case 40..<50: event.relevanceScore = "\(Int.random(in: 1...100, using: &self.random))"
        case 50..<60:
            for _ in 0..<3 {
                let more = StoryEvent(
                    .update, app: self.audiences[index].app, contentState: self.content(), priority: 10)
                self.publish(more, to: index, &steps)
            }
        case 60..<66: event.timestampSeconds = wallMillis / 1_000 - 600
        case 66..<72:
            event.expiresSeconds = wallMillis / 1_000 - 60
            event.audience = self.audiences[index].id
            var publication = Publication(self.audiences[index].id, setAside: event.value, as: ["expired"])
            publication.isMisplaced = self.audiences[index].isMisplaced
            return steps.append(.publish(publication))
        default: break
        }
        self.publish(event, to: index, &steps)
    }

    private func publish(_ event: StoryEvent, to index: Int, _ steps: inout [Step]) {
        var event = event
        event.audience = self.audiences[index].id
        steps.append(
            .publish(Publication(self.audiences[index].id, event, isMisplaced: self.audiences[index].isMisplaced)))
    }

    /// Content that no other event has.
    private mutating func content() -> String {
        self.sequence += 1
        return "{\"step\":\(self.sequence),\"minute\":\"somewhere between kick-off and the whistle\"}"
    }

    private mutating func distance() -> Int64 { Int64.random(in: Self.eventDistanceMillis, using: &self.random) }
}
