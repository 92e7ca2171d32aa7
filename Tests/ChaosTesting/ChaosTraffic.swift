import PushModel
import Upstream

/// Makes steady traffic for many activities: registrations, starts, updates and ends. It never stops by itself.
///
/// The type is pure: the caller gives the time, and all randomness comes from a seed.
struct ChaosTraffic {
    /// Something for the driver to do.
    enum Step {
        case publish(Publication)
        /// The phone of `old` gets the token `new`. The registration is published `delayMillis` after APNs knows of it.
        case rotate(old: String, new: String, keepsOld: Bool, delayMillis: Int64, registration: Publication)
    }

    /// Bundle ids of two apps, so that a worker has to keep two APNs topics apart.
    static let apps = ["com.example.pizza", "com.example.adventure"]

    private enum Kind: CaseIterable {
        /// An activity that the app begins.
        case plain
        /// An activity that a push begins.
        case started
        /// An activity whose token is rotated now and then.
        case rotating
        /// An activity whose updates are all of high priority, and more than its budget allows.
        case reckless
        /// An activity whose records are written to a partition other than its key's.
        case misplaced
        /// An activity whose publisher gives half of the records a wrong time: its clock is wrong, or it writes
        /// seconds.
        case untimed
        /// A misplaced activity whose updates are larger than all others.
        case bulky

        var isMisplaced: Bool { self == .misplaced || self == .bulky }
    }

    private struct Activity {
        var name: String
        var app: String
        var kind: Kind
        var token: String
        var eventsLeft: Int
        /// Whether the activity's update token was published.
        var isOpen: Bool
        var isRotating = false
    }

    /// Number of activities under way at a time.
    private let activityCount: Int
    private let hasWrongClocks: Bool
    private let hasRefusables: Bool
    private var random: SplitMix64
    private var activities: [Activity] = []
    /// Indices into `activities`, by name, of activities that wait for a card or a new token.
    private var indices: [String: Int] = [:]
    private var bornCount = 0
    private var sequence = 0
    /// Events due but not yet made, in thousandths.
    private var dueThousandths: Int64 = 0
    private var lastMillis: Int64?

    /// Begins without activities.
    /// - Parameter hasWrongClocks: whether some publishers' clocks are wrong. Former releases believed such clocks.
    /// - Parameter hasRefusables: whether some records are large or have no key, so that Kafka can be set to refuse
    ///   them and no others.
    init(activityCount: Int, seed: UInt64, hasWrongClocks: Bool = true, hasRefusables: Bool = false) {
        self.activityCount = activityCount
        self.hasWrongClocks = hasWrongClocks
        self.hasRefusables = hasRefusables
        self.random = SplitMix64(seed: seed)
    }

    /// Number of activities that have begun so far.
    var begunCount: Int { self.bornCount }

    /// Steps that are due by now.
    /// - Parameter rate: events per second, registrations included.
    mutating func steps(nowMillis: Int64, rate: Int) -> [Step] {
        let elapsed = max(0, nowMillis - (self.lastMillis ?? nowMillis))
        self.lastMillis = nowMillis
        self.dueThousandths += elapsed * Int64(rate)
        var steps: [Step] = []
        while self.dueThousandths >= 1_000 {
            let before = steps.count
            if self.activities.count < self.activityCount { self.begin(&steps) } else { self.goOn(&steps, nowMillis) }
            self.dueThousandths -= Int64(max(1, steps.count - before)) * 1_000
        }
        return steps
    }

    /// Gives an activity its update token, because the card of its `start` is up.
    mutating func cardShown(_ activity: String) -> Step? {
        guard let index = self.indices[activity] else { return nil }
        let new = self.random.nextToken()
        let old = self.activities[index].token
        self.activities[index].token = new
        return .rotate(
            old: old, new: new, keepsOld: true, delayMillis: 0, registration: self.registration(self.activities[index]))
    }

    /// Remembers that the registration of a token was published.
    mutating func registered(_ activity: String) {
        guard let index = self.indices.removeValue(forKey: activity) else { return }
        self.activities[index].isOpen = true
        self.activities[index].isRotating = false
    }

    // MARK: Lives

    private mutating func begin(_ steps: inout [Step]) {
        let number = self.bornCount
        self.bornCount += 1
        let kind = self.kind()
        let app = Self.apps[number % Self.apps.count]
        let activity = Activity(
            name: "\(kind)-\(number)", app: app, kind: kind, token: self.random.nextToken(),
            eventsLeft: Int.random(in: 6...30, using: &self.random), isOpen: kind != .started)
        self.activities.append(activity)
        if kind == .started {
            self.indices[activity.name] = self.activities.count - 1
            steps.append(.publish(self.publication(activity, self.start(activity))))
        } else {
            steps.append(.publish(self.registration(activity)))
            steps.append(.publish(self.untimed(self.publication(activity, self.update(activity)), activity)))
        }
    }

    private mutating func kind() -> Kind {
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<58: .plain
        case 58..<64: self.hasWrongClocks ? .untimed : .plain
        case 64..<78: .started
        case 78..<90: .rotating
        case 90..<92: self.hasRefusables ? .bulky : .reckless
        case 92..<95: .reckless
        default: .misplaced
        }
    }

    private mutating func goOn(_ steps: inout [Step], _ nowMillis: Int64) {
        let index = Int.random(in: 0..<self.activities.count, using: &self.random)
        let activity = self.activities[index]
        guard activity.isOpen else {
            // The card of the activity's start has not come up yet. If it does not come up for a while, the activity is
            // given up.
            self.activities[index].eventsLeft -= 1
            if activity.eventsLeft < -20 { self.remove(index) }
            return
        }
        self.activities[index].eventsLeft -= 1
        if activity.eventsLeft <= 0, !activity.isRotating {
            steps.append(.publish(self.untimed(self.publication(activity, self.end(activity)), activity, nowMillis)))
            self.remove(index)
            return
        }
        if activity.kind == .rotating, !activity.isRotating, activity.eventsLeft % 6 == 0 {
            steps.append(self.rotation(index))
        }
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<4:
            for _ in 0..<Int.random(in: 3...6, using: &self.random) {
                steps.append(
                    .publish(self.untimed(self.publication(activity, self.update(activity)), activity, nowMillis)))
            }
        case 4..<6 where activity.kind != .untimed:
            steps.append(.publish(self.publication(activity, self.old(activity, nowMillis))))
        case 6: steps.append(.publish(self.expired(activity, nowMillis)))
        case 7: steps.append(.publish(self.malformed(nowMillis)))
        default:
            steps.append(.publish(self.untimed(self.publication(activity, self.update(activity)), activity, nowMillis)))
        }
    }

    private mutating func remove(_ index: Int) {
        self.indices[self.activities[index].name] = nil
        let last = self.activities.removeLast()
        guard index < self.activities.count else { return }
        self.activities[index] = last
        if self.indices[last.name] != nil { self.indices[last.name] = index }
    }

    private mutating func rotation(_ index: Int) -> Step {
        let old = self.activities[index].token
        self.activities[index].token = self.random.nextToken()
        self.activities[index].isRotating = true
        self.indices[self.activities[index].name] = index
        return .rotate(
            old: old, new: self.activities[index].token, keepsOld: false,
            delayMillis: Int64.random(in: 0...2_000, using: &self.random),
            registration: self.registration(self.activities[index]))
    }

    // MARK: Events

    private func publication(_ activity: Activity, _ event: StoryEvent) -> Publication {
        var publication = Publication(activity.name, event, isMisplaced: activity.kind.isMisplaced)
        // A start is not sent twice. When its answer is lost, its outcome is `unknown`.
        if event.kind == .start { publication.outcomes = ["delivered", "unknown"] }
        return publication
    }

    /// Gives half of an untimed activity's records an impossible time. Such an event counts in the order of its
    /// arrival.
    private mutating func untimed(
        _ publication: Publication, _ activity: Activity, _ nowMillis: Int64 = 0
    ) -> Publication {
        guard activity.kind == .untimed, Bool.random(using: &self.random) else { return publication }
        var publication = publication
        // A broker refuses a record time that is more than an hour ahead, so the latest one is half an hour ahead.
        publication.recordMillis = [1, max(1, nowMillis / 1_000), max(1, nowMillis + 1_800_000)].randomElement(
            using: &self.random)
        return publication
    }

    private func registration(_ activity: Activity) -> Publication {
        var publication = Publication(activity.name, StoryRegistration(app: activity.app, token: activity.token))
        publication.isMisplaced = activity.kind.isMisplaced
        return publication
    }

    /// Content that no other event has, so that the judge can tell what reached a phone twice.
    private mutating func content() -> String {
        self.sequence += 1
        return "{\"seq\":\(self.sequence),\"step\":\"somewhere between the oven and the door\",\"eta\":1659416400}"
    }

    /// Content that is larger than `ChaosRefusal.byteCountMax` even when compressed, and still fits into a push.
    private mutating func bulkyContent() -> String {
        self.sequence += 1
        let filler = (0..<40).map { _ in self.random.nextToken() }.joined()
        return "{\"seq\":\(self.sequence),\"filler\":\"\(filler)\"}"
    }

    private mutating func alert(_ activity: Activity) -> String {
        "{\"title\":\"\(activity.name)\",\"body\":\"Alert \(self.sequence)\"}"
    }

    private mutating func update(_ activity: Activity) -> StoryEvent {
        let content = activity.kind == .bulky ? self.bulkyContent() : self.content()
        var event = StoryEvent(.update, app: activity.app, contentState: content)
        if activity.kind == .reckless {
            event.priority = 10
            return event
        }
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<12: event.priority = 10
        case 12..<20: event.alert = self.alert(activity)
        case 20..<30: event.relevanceScore = "\(Int.random(in: 1...100, using: &self.random))"
        default: break
        }
        return event
    }

    private mutating func start(_ activity: Activity) -> StoryEvent {
        var event = StoryEvent(.start, app: activity.app, contentState: self.content(), alert: self.alert(activity))
        event.startToken = activity.token
        event.attributesType = "ChaosAttributes"
        event.attributes = "{\"name\":\"\(activity.name)\"}"
        return event
    }

    private mutating func end(_ activity: Activity) -> StoryEvent {
        let hasContent = Bool.random(using: &self.random)
        return StoryEvent(.end, app: activity.app, contentState: hasContent ? self.content() : nil)
    }

    /// An update that is older than what the phone shows.
    private mutating func old(_ activity: Activity, _ nowMillis: Int64) -> StoryEvent {
        var event = StoryEvent(.update, app: activity.app, contentState: self.content())
        event.timestampSeconds = nowMillis / 1_000 - 600
        return event
    }

    private mutating func expired(_ activity: Activity, _ nowMillis: Int64) -> Publication {
        var event = StoryEvent(.update, app: activity.app, contentState: self.content(), priority: 10)
        event.expiresSeconds = nowMillis / 1_000 - 60
        var publication = Publication(activity.name, setAside: event.value, as: ["expired"])
        publication.isMisplaced = activity.kind.isMisplaced
        return publication
    }

    /// A record that must become a dead letter. It has no key, or it has a large value.
    private mutating func refusable() -> Publication {
        let hasKey = Bool.random(using: &self.random)
        let field = hasKey ? "contentState" : "content-state"
        let value =
            "{\"app\":\"\(Self.apps[0])\",\"event\":\"update\",\"\(field)\":\(hasKey ? self.bulkyContent() : self.content())}"
        return Publication(
            "refusable-\(self.sequence)", setAside: Array(value.utf8), as: ["dead-lettered"],
            key: hasKey ? .none : .some(nil))
    }

    /// A record that must become a dead letter. It has a misspelt field, or a date that was counted from 2001, or it is
    /// `refusable`.
    private mutating func malformed(_ nowMillis: Int64) -> Publication {
        if self.hasRefusables, self.sequence % 4 == 0 { return self.refusable() }
        self.sequence += 1
        let since2001 = nowMillis / 1_000 - 978_307_200
        let fields = [
            "\"event\":\"update\",\"contentState\":{\"seq\":\(self.sequence)}",
            "\"event\":\"update\",\"timestamp\":\(since2001),\"content-state\":{\"seq\":\(self.sequence)}",
            "\"event\":\"end\",\"dismissal-date\":\(since2001),\"content-state\":{\"seq\":\(self.sequence)}",
        ]
        let value = "{\"app\":\"\(Self.apps[0])\",\(fields[self.hasWrongClocks ? self.sequence % 3 : 0])}"
        return Publication("malformed-\(self.sequence)", setAside: Array(value.utf8), as: ["dead-lettered"])
    }
}
