import DeviceModel
import PushModel
import Upstream

/// Events for broadcast channels, and phones that listen, go away and come back, as long as a run lasts. Pure: told the time, its randomness
/// comes from a seed. Ids of channels are APNs' to give, so they are another run's others.
struct ChannelTraffic {
    /// A channel as APNs made it.
    struct Channel: Equatable {
        /// Base64.
        var id: String
        /// Bundle id.
        var app: String
        var storage: ChannelStorage
    }

    /// Something that APNs is to be told: what phones and their apps do by themselves, and what the owner of a channel does.
    enum Notice: Equatable {
        case listen(token: String, channel: String)
        case presence(token: String, isOnline: Bool)
        case delete(channel: String)
    }

    /// Something the driver is to do.
    enum Step {
        case publish(Publication)
        case tell(Notice)
    }

    /// Number of events per event for a channel.
    static let eventsPerChannelEvent = 16
    /// Phones of a channel: some are always there, some go away and come back, some begin to listen later.
    static let (steadyCount, sleepyCount, lateCount) = (2, 3, 1)
    /// A channel that was deleted gets events for so long still, as its publisher knows nothing yet.
    private static let unawareMillis: Int64 = 5_000

    private struct Phone {
        var token: String
        var channel: Int
        var isOnline = true
        /// When it goes away or comes back next, milliseconds since the beginning.
        var turnsMillis: Int64
    }

    private struct State {
        var channel: Channel
        /// Its events lie on a partition that is not its key's.
        var isMisplaced: Bool
        /// When it is deleted, and when its activities end, milliseconds since the beginning; `nil`: never.
        var deletionMillis: Int64?
        var endMillis: Int64?
        var isDeleted = false
        /// No event follows.
        var isOver = false
    }

    private var random: SplitMix64
    private var channels: [State]
    private var sleepy: [Phone] = []
    /// Phones that begin to listen later.
    private var late: [(atMillis: Int64, token: String, channel: Int)] = []
    /// What is to be told before the first event.
    private(set) var beginning: [Notice] = []
    private var sequence = 0
    /// Events due but not yet made, in thousandths of `eventsPerChannelEvent`-ths.
    private var due: Int64 = 0
    private var lastMillis: Int64?

    /// What the channel of this number is to be: both apps and both policies, in every combination.
    static func plan(_ number: Int) -> (app: String, storage: ChannelStorage) {
        (ChaosTraffic.apps[number / 2 % ChaosTraffic.apps.count], number % 2 == 0 ? .mostRecent : .none)
    }

    /// - Parameter durationMillis: how long steps are asked for: one channel is deleted about the middle, some end near the end.
    init(channels: [Channel], durationMillis: Int64, seed: UInt64) {
        // Not the numbers of the activities.
        var random = SplitMix64(seed: ~seed)
        let order = channels.indices.shuffled(using: &random)
        self.channels = channels.map { State(channel: $0, isMisplaced: false) }
        if let first = order.first {
            self.channels[first].deletionMillis = Int64.random(
                in: durationMillis * 4 / 10...durationMillis * 6 / 10, using: &random)
        }
        if order.count > 1 { self.channels[order[1]].isMisplaced = true }
        for index in order.dropFirst(1 + order.count / 2) {
            self.channels[index].endMillis = Int64.random(
                in: durationMillis * 8 / 10...durationMillis * 95 / 100, using: &random)
        }
        self.random = random
        for index in channels.indices { self.addPhones(index, durationMillis: durationMillis) }
    }

    private mutating func addPhones(_ index: Int, durationMillis: Int64) {
        let id = self.channels[index].channel.id
        for _ in 0..<Self.steadyCount { self.beginning.append(.listen(token: self.random.nextToken(), channel: id)) }
        for _ in 0..<Self.sleepyCount {
            let phone = Phone(
                token: self.random.nextToken(), channel: index,
                turnsMillis: Int64.random(in: 0...15_000, using: &self.random))
            self.sleepy.append(phone)
            self.beginning.append(.listen(token: phone.token, channel: id))
        }
        for _ in 0..<Self.lateCount {
            let atMillis = Int64.random(in: durationMillis / 10...durationMillis * 7 / 10, using: &self.random)
            self.late.append((atMillis, self.random.nextToken(), index))
        }
    }

    // MARK: Playing

    /// What is due by now.
    /// - Parameters:
    ///   - nowMillis: since the beginning.
    ///   - wallMillis: since 1970.
    ///   - rate: events per second, those for activities included.
    mutating func steps(nowMillis: Int64, wallMillis: Int64, rate: Int) -> [Step] {
        let elapsed = max(0, nowMillis - (self.lastMillis ?? nowMillis))
        self.lastMillis = nowMillis
        var steps: [Step] = []
        self.turnChannels(&steps, nowMillis)
        self.turnPhones(&steps, nowMillis)
        self.due += elapsed * Int64(rate)
        while self.due >= Int64(1_000 * Self.eventsPerChannelEvent) {
            self.due -= Int64(1_000 * Self.eventsPerChannelEvent)
            let open = self.channels.indices.filter { !self.channels[$0].isOver }
            guard let index = open.randomElement(using: &self.random) else { continue }
            steps.append(self.publish(self.update(index, wallMillis), to: index))
        }
        return steps
    }

    private mutating func turnChannels(_ steps: inout [Step], _ nowMillis: Int64) {
        for index in self.channels.indices {
            let state = self.channels[index]
            if let deletion = state.deletionMillis, nowMillis >= deletion {
                if !state.isDeleted { steps.append(.tell(.delete(channel: state.channel.id))) }
                self.channels[index].isDeleted = true
                self.channels[index].isOver = nowMillis >= deletion + Self.unawareMillis
            }
            if let end = state.endMillis, nowMillis >= end, !state.isOver {
                steps.append(self.publish(self.end(index), to: index))
                self.channels[index].isOver = true
            }
        }
    }

    private mutating func turnPhones(_ steps: inout [Step], _ nowMillis: Int64) {
        for index in self.sleepy.indices where self.sleepy[index].turnsMillis <= nowMillis {
            let isOnline = !self.sleepy[index].isOnline
            self.sleepy[index].isOnline = isOnline
            self.sleepy[index].turnsMillis =
                nowMillis + Int64.random(in: isOnline ? 3_000...20_000 : 1_000...12_000, using: &self.random)
            steps.append(.tell(.presence(token: self.sleepy[index].token, isOnline: isOnline)))
        }
        let due = self.late.filter { $0.atMillis <= nowMillis }
        self.late.removeAll { $0.atMillis <= nowMillis }
        // Nobody finds a channel that has gone.
        for phone in due where !self.channels[phone.channel].isDeleted {
            steps.append(.tell(.listen(token: phone.token, channel: self.channels[phone.channel].channel.id)))
        }
    }

    /// Every phone that is away comes back.
    mutating func wakeAll() -> [Notice] {
        self.sleepy.indices.compactMap { index in
            guard !self.sleepy[index].isOnline else { return nil }
            self.sleepy[index].isOnline = true
            return .presence(token: self.sleepy[index].token, isOnline: true)
        }
    }

    // MARK: Events

    private func publish(_ event: StoryEvent, to index: Int) -> Step {
        .publish(
            Publication(self.channels[index].channel.id, event, isMisplaced: self.channels[index].isMisplaced))
    }

    /// Content that no other event has.
    private mutating func content() -> String {
        self.sequence += 1
        return "{\"goal\":\(self.sequence),\"minute\":\"somewhere between kick-off and the whistle\"}"
    }

    private mutating func update(_ index: Int, _ wallMillis: Int64) -> StoryEvent {
        let channel = self.channels[index].channel
        var event = StoryEvent(.update, app: channel.app, contentState: self.content())
        event.channel = channel.id
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<15: event.priority = 10
        case 15..<25: event.priority = 1
        case 25..<35: event.priority = 5
        case 35..<45: event.alert = "{\"title\":\"\(channel.app)\",\"body\":\"Goal \(self.sequence)\"}"
        case 45..<52: event.relevanceScore = "\(Int.random(in: 1...100, using: &self.random))"
        // Longer than any run's delay: kept so long, and no longer.
        case 52..<60: event.expiresSeconds = wallMillis / 1_000 + 3_600
        default: break
        }
        return event
    }

    private mutating func end(_ index: Int) -> StoryEvent {
        let channel = self.channels[index].channel
        let hasContent = Bool.random(using: &self.random)
        var event = StoryEvent(.end, app: channel.app, contentState: hasContent ? self.content() : nil)
        event.channel = channel.id
        return event
    }
}
