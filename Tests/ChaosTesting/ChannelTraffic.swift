import DeviceModel
import PushModel
import Upstream

/// Makes the traffic of broadcast channels during a run: events, and phones that listen, go offline and come back.
///
/// The type is pure: the caller gives the time, and all randomness comes from a seed. APNs chooses the ids of channels,
/// so they differ between runs.
struct ChannelTraffic {
    /// A channel as APNs made it.
    struct Channel: Equatable {
        /// Id of the channel, base64.
        var id: String
        /// Bundle id of the channel's app.
        var app: String
        var storage: ChannelStorage
    }

    /// A message to the simulated APNs: a phone listens, goes offline or comes back, or a publisher deletes its
    /// channel.
    enum Notice: Equatable {
        case listen(token: String, channel: String)
        case presence(token: String, isOnline: Bool)
        case delete(channel: String)
    }

    /// Something for the driver to do.
    enum Step {
        case publish(Publication)
        case send(Notice)
    }

    /// One of this many events is for a channel. The others are for activities.
    static let eventsPerChannelEvent = 16
    /// Numbers of phones per channel: always online, offline now and then, and listening only from some later time.
    static let (steadyCount, sleepyCount, lateCount) = (2, 3, 1)
    /// How long a deleted channel still gets events, because its publisher does not know of the deletion.
    private static let unawareMillis: Int64 = 5_000

    private struct Phone {
        var token: String
        var channel: Int
        var isOnline = true
        /// When the phone goes offline or comes back next, milliseconds since the beginning.
        var turnsMillis: Int64
    }

    private struct State {
        var channel: Channel
        /// Whether the events are written to a partition other than their key's.
        var isMisplaced: Bool
        /// When the channel is deleted, milliseconds since the beginning. `nil` means never.
        var deletionMillis: Int64?
        /// When the last event, an `end`, is published, milliseconds since the beginning. `nil` means never.
        var endMillis: Int64?
        var isDeleted = false
        /// Whether the last event has been published.
        var isOver = false
    }

    private var random: SplitMix64
    private var channels: [State]
    private var sleepy: [Phone] = []
    /// Phones that begin to listen later.
    private var late: [(atMillis: Int64, token: String, channel: Int)] = []
    /// Notices for APNs before the first event.
    private(set) var beginning: [Notice] = []
    private var sequence = 0
    /// Progress towards the next event: elapsed milliseconds times the rate. An event is due at 1,000 times
    /// `eventsPerChannelEvent`.
    private var due: Int64 = 0
    private var lastMillis: Int64?

    /// App and storage policy for the channel of this number. All combinations of both apps and both policies occur.
    static func plan(_ number: Int) -> (app: String, storage: ChannelStorage) {
        (ChaosTraffic.apps[number / 2 % ChaosTraffic.apps.count], number % 2 == 0 ? .mostRecent : .none)
    }

    /// Plans channels. One channel is deleted about the middle of the run, and some channels end near its end.
    /// - Parameter durationMillis: how long the driver asks for steps.
    init(channels: [Channel], durationMillis: Int64, seed: UInt64) {
        // A seed that differs from that of the activities.
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

    /// Steps that are due by now.
    /// - Parameters:
    ///   - nowMillis: time since the beginning.
    ///   - wallMillis: time since 1970.
    ///   - rate: events per second, those for activities included.
    mutating func steps(nowMillis: Int64, wallMillis: Int64, rate: Int) -> [Step] {
        let elapsed = max(0, nowMillis - (self.lastMillis ?? nowMillis))
        self.lastMillis = nowMillis
        var steps: [Step] = []
        self.openOrDeleteChannels(&steps, nowMillis)
        self.movePhones(&steps, nowMillis)
        self.due += elapsed * Int64(rate)
        while self.due >= Int64(1_000 * Self.eventsPerChannelEvent) {
            self.due -= Int64(1_000 * Self.eventsPerChannelEvent)
            let open = self.channels.indices.filter { !self.channels[$0].isOver }
            guard let index = open.randomElement(using: &self.random) else { continue }
            steps.append(self.publish(self.update(index, wallMillis), to: index))
        }
        return steps
    }

    private mutating func openOrDeleteChannels(_ steps: inout [Step], _ nowMillis: Int64) {
        for index in self.channels.indices {
            let state = self.channels[index]
            if let deletion = state.deletionMillis, nowMillis >= deletion {
                if !state.isDeleted { steps.append(.send(.delete(channel: state.channel.id))) }
                self.channels[index].isDeleted = true
                self.channels[index].isOver = nowMillis >= deletion + Self.unawareMillis
            }
            if let end = state.endMillis, nowMillis >= end, !state.isOver {
                steps.append(self.publish(self.end(index), to: index))
                self.channels[index].isOver = true
            }
        }
    }

    private mutating func movePhones(_ steps: inout [Step], _ nowMillis: Int64) {
        for index in self.sleepy.indices where self.sleepy[index].turnsMillis <= nowMillis {
            let isOnline = !self.sleepy[index].isOnline
            self.sleepy[index].isOnline = isOnline
            self.sleepy[index].turnsMillis =
                nowMillis + Int64.random(in: isOnline ? 3_000...20_000 : 1_000...12_000, using: &self.random)
            steps.append(.send(.presence(token: self.sleepy[index].token, isOnline: isOnline)))
        }
        let due = self.late.filter { $0.atMillis <= nowMillis }
        self.late.removeAll { $0.atMillis <= nowMillis }
        // A phone cannot begin to listen on a deleted channel.
        for phone in due where !self.channels[phone.channel].isDeleted {
            steps.append(.send(.listen(token: phone.token, channel: self.channels[phone.channel].channel.id)))
        }
    }

    /// Brings back every phone that is away.
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
        // This expiry is later than any delay in a run, so APNs keeps the message until then.
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
