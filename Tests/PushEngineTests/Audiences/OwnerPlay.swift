import APNSProtocol
import ChannelKeeping
import PushModel

@testable import PushEngine

/// An audience's owner without an engine. The caller plays the slot, Kafka and the keeper.
final class OwnerPlay {
    /// Kind of an effect, without the effect's values. Tables of expected effects use it.
    enum Kind: String, CaseIterable {
        case send, answer, sendVoid, wish, broadcast, fannedOut, record, deadLetter, scheduleRollUps, write, writeFirst
        case reschedule, broadcastTaken, fellBack
    }
    var owner = AudienceOwner()
    var effects = OwnerEffects()
    var rules: OwnerRules
    var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    private(set) var stampSeconds: Int64 = 1_700_000_000

    /// - Parameter channel: whether the app keeps channels. If it does, it keeps them in production only.
    init(channel: Bool = false) {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        if channel {
            app.audienceChannel = .auto
            app.productionBroadcastRoute = 2
            app.productionManageRoute = 3
        }
        self.rules = OwnerRules(app: app, minuteMillis: 60_000)
    }

    func advance(_ millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
    }
    /// Takes the effects since the last call.
    func take() -> [OwnerEffect] {
        defer { self.effects.removeAll() }
        return self.effects.all
    }
    func takeKinds() -> [Kind] { self.take().map(Kind.init) }

    // MARK: What happens

    func ask(_ partition: Int32, life: Int64 = 0, lastJoinSeconds: Int64 = 0, environments: UInt8 = 0) {
        var question = BusRecord.Question()
        question.lastJoinSeconds = lastJoinSeconds
        question.partition = partition
        question.life = life
        question.environments = environments
        self.owner.questionCame(question, by: self.rules, now: self.now, into: &self.effects)
    }
    @discardableResult
    func publish(
        isEnd: Bool = false, hasAlert: Bool = false, isHigh: Bool = true, expiresSeconds: Int64 = .max
    ) -> AudienceOwner.StartEffect {
        self.stampSeconds += 1
        var layer = Layer()
        layer.content.contentState = layer.append(Array(#"{"n":1}"#.utf8).span)
        if hasAlert { layer.alert = layer.append(Array(#"{"title":"goal"}"#.utf8).span) }
        layer.isEnd = isEnd
        layer.expiresSeconds = expiresSeconds
        layer.recordMillis = self.now.wallMillis
        let offer = VersionOffer(top: layer, stampSeconds: self.stampSeconds, isHigh: isHigh)
        return self.owner.publish(offer, by: self.rules, now: self.now, into: &self.effects)
    }
    func stateIsWritten() { self.owner.stateWritten(now: self.now, into: &self.effects) }
    func acknowledge(_ stampSeconds: Int64) {
        self.owner.versionAcknowledged(stampLow: UInt32(truncatingIfNeeded: stampSeconds), into: &self.effects)
    }
    /// Reports that a partition has finished with a version, or is still working on it.
    func report(_ partition: Int32, stampSeconds: Int64, isFinished: Bool = true, refusal: String? = nil) {
        var report = BusRecord.Report()
        report.partition = partition
        report.life = self.owner.life
        report.doneStampSeconds = isFinished ? stampSeconds : 0
        report.isFinished = isFinished
        report.counts.stampSeconds = stampSeconds
        if let refusal { report.counts.refusals.count(status: 413, reason: refusal, isOfMessage: true) }
        self.owner.reportCame(report, now: self.now, into: &self.effects)
    }
    func passTime() { self.owner.timePassed(now: self.now, into: &self.effects) }
    @discardableResult
    func send(_ news: KeeperNews) -> Bool? {
        var told = BusRecord.ChannelNews()
        told.life = self.owner.channels.life
        told.news = news
        return self.owner.newsCame(told, by: self.rules, now: self.now)
    }
    @discardableResult
    func look(isPaused: Bool = false) -> Int64 {
        self.owner.lookAtChannels(isPaused: isPaused, by: self.rules, now: self.now, into: &self.effects)
    }
    /// Sends the broadcast that is due; `nil` if none is.
    func broadcast() -> ChannelErrand? {
        guard let index = self.owner.channels.index(.production),
            let sent = self.owner.broadcastLeaves(channel: index, mayLeave: true, by: self.rules, now: self.now)
        else { return nil }
        var errand = ChannelErrand(
            sender: .audience(SlotID(index: 0), generation: 0), kind: .broadcast, app: 0, environment: .production,
            partition: PartitionIndex(index: 0), askedMillis: self.now.steadyMillis)
        errand.target = sent.channel
        errand.stampSeconds = sent.version.stampSeconds
        errand.alertStampSeconds = sent.alert?.stampSeconds ?? 0
        errand.priority = sent.isHigh ? .high : .low
        return errand
    }
    /// - Parameter delayMillis: delay of the next attempt, which back-off would otherwise draw.
    @discardableResult
    func answer(
        _ errand: ChannelErrand, _ result: PushAnswer.Result, delayMillis: Int64 = 2_000
    ) -> AudienceOwner.BroadcastEffect {
        let effect = self.owner.broadcastEnded(
            errand, result, by: self.rules, now: self.now, into: &self.effects)
        if case .goesAgain(_, _, let distance) = effect {
            self.owner.broadcastWaits(
                errand.environment, delayMillis: delayMillis, distanceMillis: distance, now: self.now)
        }
        return effect
    }

    // MARK: Ways

    /// Publishes a version and sends it to every partition that has asked.
    func publishToAll(isEnd: Bool = false, hasAlert: Bool = false) {
        self.publish(isEnd: isEnd, hasAlert: hasAlert)
        self.stateIsWritten()
        for _ in self.owner.asked { self.acknowledge(self.stampSeconds) }
    }
    /// Opens a channel for the audience. Nothing has been sent on it.
    func openChannel() {
        self.owner.openCame(by: self.rules, now: self.now, into: &self.effects)
        self.send(.opened(id: Self.channel))
        _ = self.take()
    }
    static let channel = Array("cHJvZA==".utf8)
    static func refused(_ status: UInt16, _ reason: String, retryAfterSeconds: Int64? = nil) -> PushAnswer.Result {
        .response(PushResponse(status: status, reason: reason, retryAfterSeconds: retryAfterSeconds))
    }
}

extension OwnerPlay.Kind {
    init(_ effect: OwnerEffect) {
        switch effect {
        case .send: self = .send
        case .answer: self = .answer
        case .sendVoid: self = .sendVoid
        case .wish: self = .wish
        case .broadcast: self = .broadcast
        case .fannedOut: self = .fannedOut
        case .record: self = .record
        case .deadLetter: self = .deadLetter
        case .scheduleRollUps: self = .scheduleRollUps
        case .write: self = .write
        case .writeFirst: self = .writeFirst
        case .reschedule: self = .reschedule
        case .broadcastTaken: self = .broadcastTaken
        case .fellBack: self = .fellBack
        }
    }
}
