import APNSSimulator
import CommandSupport
import DeviceModel
import Upstream

/// Plays a script: publishes what is due, plays what happens on phones, and reports both to the judge.
struct Director {
    private let script: Script
    private let publisher: StoryPublisher
    private let simulator: APNSSimulator
    private(set) var phones = ExpectedPhones()
    /// Expected members of the story's only audience.
    private(set) var members = ExpectedMembers()
    private var nextCue = 0
    /// Activities started by push that wait for their card, or whose app waits for its update token.
    private var awaitingStart: [AwaitedStart] = []
    private struct AwaitedStart {
        var startToken: String
        /// Update token of a card that does not listen to a channel.
        var update: (token: String, registration: Publication)?
        /// When the card was seen, milliseconds since 1970.
        var startedMillis: Int64?
    }
    /// How long the app of a member waits for its update token, in milliseconds. The member's join brings a push, and
    /// pushes to one phone are at least a second apart.
    private static let tokenTakesMillis: Int64 = 1_200

    init(script: Script, publisher: StoryPublisher, simulator: APNSSimulator) {
        self.script = script
        self.publisher = publisher
        self.simulator = simulator
    }

    /// Whether everything in the script has happened.
    var isFinished: Bool { self.nextCue == self.script.cues.count && self.awaitingStart.isEmpty }

    /// Number of started activities that wait for their card, or whose app waits for its update token.
    var missingStarts: Int { self.awaitingStart.count }

    /// Performs the cues that are due.
    /// - Parameters:
    ///   - atMillis: milliseconds since the curtain rose; negative before.
    ///   - wallMillis: the same moment, milliseconds since 1970.
    ///   - say: called with each line for the people who watch.
    mutating func perform(upTo atMillis: Int, wallMillis: Int64, say: (String) -> Void) throws {
        while self.nextCue < self.script.cues.count, self.script.cues[self.nextCue].atMillis <= atMillis {
            try self.perform(self.script.cues[self.nextCue].action, wallMillis: wallMillis, say: say)
            self.nextCue += 1
        }
        try self.registerStarted(wallMillis: wallMillis)
        try self.publisher.drain()
    }

    private mutating func perform(_ action: Cue.Action, wallMillis: Int64, say: (String) -> Void) throws {
        switch action {
        case .publish(let publication):
            try self.publish(publication, wallMillis: wallMillis)
        case .rotateToken(let old, let new):
            try self.require(self.simulator.rotateToken(from: old, to: new), token: new)
        case .killToken(let token):
            try self.require(self.simulator.setToken(token, .dead), token: token)
        case .disownToken(let token):
            try self.require(self.simulator.setToken(token, .unknown), token: token)
        case .registerOnceStarted(let startToken, let updateToken, let registration):
            self.awaitingStart.append(
                AwaitedStart(startToken: startToken, update: (updateToken, registration)))
        case .listenOnceStarted(let startToken):
            self.awaitingStart.append(AwaitedStart(startToken: startToken))
        case .listenAndJoin(let join):
            try self.listenAndJoin(join, wallMillis: wallMillis)
        case .goAway:
            self.closeConnections()
        case .answersTake(let millis):
            self.simulator.setLatency(millis.map { Latency(fixedMillis: Int64($0)) } ?? DemoStage.latency)
        case .say(let line):
            say(line)
        }
    }

    /// Closes each connection at its next request. APNs answers that request, and ignores what was sent after it.
    private func closeConnections() {
        let goAway = GoAway(reason: "Shutdown", lastStream: .current)
        for connection in self.simulator.statistics().connections where connection.isOpen {
            self.simulator.add(Fault(.goAway(goAway), count: 1, connection: connection.number))
        }
    }

    /// Publishes a record.
    /// - Parameter isStarted: whether it is the join of a phone whose card was put up by push.
    private mutating func publish(_ publication: Publication, isStarted: Bool = false, wallMillis: Int64) throws {
        try self.publisher.publish(publication, recordMillis: wallMillis)
        if let token = publication.token { self.phones.join(activity: publication.activity, token: token) }
        if let membership = publication.membership, !membership.isStartToken {
            self.members.join(
                token: membership.token, isStarted: isStarted, listens: membership.channel != nil,
                recordMillis: wallMillis)
        }
        if let event = publication.event, event.audience != nil {
            try self.members.take(event, recordMillis: wallMillis)
        } else if let event = publication.event {
            try self.phones.take(event, activity: publication.activity, recordMillis: wallMillis)
        }
    }

    /// Plays an app that has put up its card and listens to the audience's channel. Its backend knows the channel from
    /// the worker's outcome.
    private mutating func listenAndJoin(_ join: StoryMembership, wallMillis: Int64) throws {
        guard let channel = self.simulator.channels(app: join.app).first?.id else {
            throw CommandFailure("the match has no channel")
        }
        try self.require(self.simulator.setListening(token: join.token, channel: channel), token: join.token)
        var join = join
        join.channel = channel
        try self.publish(Publication(join), wallMillis: wallMillis)
    }

    /// Gives update tokens to apps whose card has appeared, or lets their phones listen to the channel.
    private mutating func registerStarted(wallMillis: Int64) throws {
        var waiting: [AwaitedStart] = []
        for var start in self.awaitingStart {
            if start.startedMillis == nil, self.simulator.device(token: start.startToken)?.device.cardCount ?? 0 > 0 {
                start.startedMillis = wallMillis
            }
            let takesMillis = start.update?.registration.membership == nil ? 0 : Self.tokenTakesMillis
            guard let startedMillis = start.startedMillis, startedMillis + takesMillis <= wallMillis else {
                waiting.append(start)
                continue
            }
            guard let (token, registration) = start.update else {
                self.members.join(token: start.startToken, isStarted: true, listens: true, recordMillis: startedMillis)
                continue
            }
            try self.require(
                self.simulator.rotateToken(from: start.startToken, to: token, keepsOld: true), token: token)
            try self.publish(registration, isStarted: true, wallMillis: wallMillis)
        }
        self.awaitingStart = waiting
    }

    private func require(_ done: Bool, token: String) throws {
        guard done else { throw CommandFailure("the simulator does not take the token \(token.prefix(8))…") }
    }
}
