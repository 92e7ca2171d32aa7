import PushModel
import Upstream

/// Makes the traffic of audiences with push-to-start tokens during a run. Audiences fill, a `start` puts up a card on
/// each phone, and updates follow. Some audiences end and are started again. Phones join and leave meanwhile.
///
/// The type is pure: the caller gives the time, and all randomness comes from a seed.
struct StartTraffic {
    private enum Deed { case start, end }

    private struct Audience {
        var id: String
        var app: String
        var isMisplaced: Bool
        /// When the audience is started and ended, milliseconds since the beginning, in order.
        var deeds: [(millis: Int64, deed: Deed)] = []
        /// Number of phones that are still to join.
        var missingCount: Int
        var isLiving = false
        var startCount = 0
        var nextEventMillis: Int64 = .max
        /// When a second start is published while the first lives, milliseconds since the beginning.
        var duplicateMillis: Int64 = .max

        /// Whether the audience has ended and is not started again. No new phone joins it then.
        var isOver: Bool { self.deeds.isEmpty && !self.isLiving }
    }

    private struct Phone {
        var token: String
        var app: String
        var isMisplaced: Bool
        /// Audiences that the phone is in.
        var audiences: Set<Int>
        /// Audiences that the phone has left.
        var left: Set<Int> = []
        var isGone = false
    }

    /// Number of joins per second while audiences fill, and number of later joins, leaves and other changes per second.
    static let (joinsPerSecond, changesPerSecond) = (300, 15)
    private static let eventDistanceMillis: ClosedRange<Int64> = 1_000...10_000
    /// Time between an end and the next start. A start that is read before the end was sent is a duplicate, and an
    /// outage may delay the end.
    private static let restMillis: ClosedRange<Int64> = 25_000...35_000
    /// How long before the end of the run phones stop joining and leaving, because counts of members are written once a
    /// minute. In short runs they stop later.
    private static let calmMillis: Int64 = 30_000

    private var random: SplitMix64
    private var audiences: [Audience] = []
    private var phones: [Phone] = []
    private let changesEndMillis: Int64
    private var sequence = 0
    private var (dueJoins, dueChanges): (Int64, Int64) = (0, 0)
    private var lastMillis: Int64?

    /// Plans audiences. In each group of four, two audiences are started twice and two once. In each of these pairs,
    /// one audience is ended near the end of the run.
    /// - Parameters:
    ///   - count: number of audiences.
    ///   - memberCount: phones of all audiences together, before any join or leave.
    ///   - durationMillis: how long the driver asks for steps.
    init(count: Int, memberCount: Int, durationMillis: Int64, seed: UInt64) {
        // A seed that differs from those of other traffic.
        self.random = SplitMix64(seed: seed &* 0x9e37_79b9_7f4a_7c15 &+ 2)
        self.changesEndMillis = max(durationMillis * 7 / 10, durationMillis - Self.calmMillis)
        for number in 0..<(memberCount == 0 ? 0 : count) {
            var audience = Audience(
                id: "kick-off-\(number)", app: ChaosTraffic.apps[number % ChaosTraffic.apps.count],
                isMisplaced: number == 1, missingCount: memberCount / count)
            func within(_ percent: ClosedRange<Int64>) -> Int64 {
                Int64.random(
                    in: durationMillis * percent.lowerBound / 100...durationMillis * percent.upperBound / 100,
                    using: &self.random)
            }
            audience.deeds = [(within(12...30), .start)]
            if number % 4 < 2 {
                let end = within(35...50)
                audience.deeds.append((end, .end))
                audience.deeds.append((end + Int64.random(in: Self.restMillis, using: &self.random), .start))
            }
            if number % 2 == 0 { audience.deeds.append((within(85...95), .end)) }
            self.audiences.append(audience)
        }
    }

    // MARK: Playing

    /// Steps that are due by now.
    /// - Parameter nowMillis: time since the beginning.
    mutating func steps(nowMillis: Int64) -> [AudienceTraffic.Step] {
        guard !self.audiences.isEmpty else { return [] }
        let elapsed = max(0, nowMillis - (self.lastMillis ?? nowMillis))
        self.lastMillis = nowMillis
        var steps: [AudienceTraffic.Step] = []
        self.fill(&steps, elapsed)
        self.dueChanges += nowMillis < self.changesEndMillis ? elapsed * Int64(Self.changesPerSecond) : 0
        while self.dueChanges >= 1_000 {
            self.dueChanges -= 1_000
            self.change(&steps)
        }
        for index in self.audiences.indices {
            while let next = self.audiences[index].deeds.first, next.millis <= nowMillis {
                self.audiences[index].deeds.removeFirst()
                self.carryOut(next.deed, index, &steps, nowMillis)
            }
            self.publishDueEvents(index, &steps, nowMillis)
        }
        return steps
    }

    private mutating func fill(_ steps: inout [AudienceTraffic.Step], _ elapsed: Int64) {
        self.dueJoins += elapsed * Int64(Self.joinsPerSecond)
        while self.dueJoins >= 1_000 {
            self.dueJoins -= 1_000
            let filling = self.audiences.indices.filter {
                self.audiences[$0].missingCount > 0 && !self.audiences[$0].isOver
            }
            guard let index = filling.randomElement(using: &self.random) else { continue }
            self.audiences[index].missingCount -= 1
            self.come(to: index, &steps)
        }
    }

    // MARK: Joins and leaves

    private mutating func come(to audience: Int, _ steps: inout [AudienceTraffic.Step]) {
        let phone = Phone(
            token: self.random.nextToken(), app: self.audiences[audience].app,
            isMisplaced: Int.random(in: 0..<40, using: &self.random) == 0, audiences: [audience])
        self.phones.append(phone)
        steps.append(.publish(self.join(phone, audience)))
        if Int.random(in: 0..<10, using: &self.random) == 0 {
            self.joinAnother(self.phones.count - 1, &steps)
        }
    }

    private mutating func change(_ steps: inout [AudienceTraffic.Step]) {
        guard !self.phones.isEmpty else { return }
        let kind = Int.random(in: 0..<100, using: &self.random)
        let index = Int.random(in: 0..<self.phones.count, using: &self.random)
        let phone = self.phones[index]
        guard !phone.isGone else { return }
        let current = phone.audiences.sorted().randomElement(using: &self.random)
        switch kind {
        case 0..<35:
            let open = self.audiences.indices.filter { !self.audiences[$0].isOver }
            if let audience = open.randomElement(using: &self.random) { self.come(to: audience, &steps) }
        case 35..<55:
            guard let current else { return }
            self.leave(index, Bool.random(using: &self.random) ? current : nil, &steps)
        case 55..<80:
            guard let back = phone.left.sorted().randomElement(using: &self.random) else { return }
            self.join(index, back, &steps)
        case 80..<83:
            self.phones[index].isGone = true
            steps.append(.kill(token: phone.token))
        case 83..<92:
            if let current { steps.append(.publish(self.join(phone, current))) }
        default: self.joinAnother(index, &steps)
        }
    }

    private mutating func join(_ index: Int, _ audience: Int, _ steps: inout [AudienceTraffic.Step]) {
        self.phones[index].left.remove(audience)
        self.phones[index].audiences.insert(audience)
        steps.append(.publish(self.join(self.phones[index], audience)))
    }

    private mutating func joinAnother(_ index: Int, _ steps: inout [AudienceTraffic.Step]) {
        let phone = self.phones[index]
        let others = self.audiences.indices.filter {
            self.audiences[$0].app == phone.app && !self.audiences[$0].isOver && !phone.audiences.contains($0)
        }
        if let other = others.randomElement(using: &self.random) { self.join(index, other, &steps) }
    }

    /// Lets a phone leave.
    /// - Parameter audience: index of the audience, or `nil` for all of the phone's audiences.
    private mutating func leave(_ index: Int, _ audience: Int?, _ steps: inout [AudienceTraffic.Step]) {
        let phone = self.phones[index]
        let gone: Set<Int> = audience.map { [$0] } ?? phone.audiences
        self.phones[index].audiences.subtract(gone)
        self.phones[index].left.formUnion(gone)
        steps.append(
            .publish(
                self.record(.leave(audience.map { self.audiences[$0].id }, app: phone.app, token: phone.token), phone)))
    }

    private mutating func join(_ phone: Phone, _ audience: Int) -> Publication {
        self.record(.joinToBeStarted(self.audiences[audience].id, app: phone.app, token: phone.token), phone)
    }

    /// Makes a record that differs from all others.
    private mutating func record(_ membership: StoryMembership, _ phone: Phone) -> Publication {
        self.sequence += 1
        var membership = membership
        membership.id = "s\(self.sequence)"
        var publication = Publication(membership)
        publication.isMisplaced = phone.isMisplaced
        return publication
    }

    // MARK: Events

    private mutating func carryOut(
        _ deed: Deed, _ index: Int, _ steps: inout [AudienceTraffic.Step], _ nowMillis: Int64
    ) {
        switch deed {
        case .start:
            self.audiences[index].isLiving = true
            self.audiences[index].startCount += 1
            self.audiences[index].nextEventMillis = nowMillis + self.distance()
            if Bool.random(using: &self.random) {
                self.audiences[index].duplicateMillis = nowMillis + Int64.random(in: 100...5_000, using: &self.random)
            }
            self.publish(self.start(index), of: index, &steps)
        case .end:
            self.audiences[index].isLiving = false
            let event = StoryEvent(
                .end, app: self.audiences[index].app,
                contentState: Bool.random(using: &self.random) ? self.content() : nil)
            self.publish(event, of: index, &steps)
        }
    }

    private mutating func publishDueEvents(_ index: Int, _ steps: inout [AudienceTraffic.Step], _ nowMillis: Int64) {
        guard self.audiences[index].isLiving else { return }
        if nowMillis >= self.audiences[index].duplicateMillis {
            self.audiences[index].duplicateMillis = .max
            var event = self.start(index)
            event.audience = self.audiences[index].id
            var publication = Publication(self.audiences[index].id, setAside: event.value, as: ["duplicate"])
            publication.isMisplaced = self.audiences[index].isMisplaced
            steps.append(.publish(publication))
        }
        guard nowMillis >= self.audiences[index].nextEventMillis else { return }
        self.audiences[index].nextEventMillis = nowMillis + self.distance()
        var event = StoryEvent(.update, app: self.audiences[index].app, contentState: self.content())
        if Int.random(in: 0..<4, using: &self.random) == 0 {
            event.priority = 10
            event.alert = "{\"title\":\"\(self.audiences[index].id)\",\"body\":\"Goal \(self.sequence)\"}"
        }
        self.publish(event, of: index, &steps)
    }

    /// A start whose attributes identify it. Updates change what a card shows, but never its attributes.
    private mutating func start(_ index: Int) -> StoryEvent {
        var event = StoryEvent(.start, app: self.audiences[index].app, contentState: self.content())
        event.alert = "{\"title\":\"\(self.audiences[index].id)\",\"body\":\"Kick-off\"}"
        event.attributesType = "ChaosAttributes"
        event.attributes = "{\"order\":\(self.sequence)}"
        return event
    }

    private func publish(_ event: StoryEvent, of index: Int, _ steps: inout [AudienceTraffic.Step]) {
        var event = event
        event.audience = self.audiences[index].id
        steps.append(
            .publish(Publication(self.audiences[index].id, event, isMisplaced: self.audiences[index].isMisplaced)))
    }

    /// Content that no other event has.
    private mutating func content() -> String {
        self.sequence += 1
        return "{\"step\":\(self.sequence),\"minute\":\"somewhere after kick-off\"}"
    }

    private mutating func distance() -> Int64 { Int64.random(in: Self.eventDistanceMillis, using: &self.random) }
}
