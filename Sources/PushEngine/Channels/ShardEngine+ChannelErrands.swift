import APNSProtocol
import ChannelKeeping
import PushModel

/// Sends requests about channels, and takes their answers.
extension ShardEngine {
    /// Fills `request` with the next request of a route. Broadcasts that have nothing left to send are dropped.
    /// - Returns: `false`: no request leaves.
    mutating func nextChannelErrand(route: UInt16, into request: inout PushRequest, now: EngineTime) -> Bool {
        while var errand = self.core.errands.popFirst(route: route) {
            if case .audience = errand.sender, !self.publisher.fillBroadcast(&errand, in: &self.core, now: now) {
                continue
            }
            let apnsID = self.core.dispatch.makeUUID()
            if var traced = errand.traced {
                traced.route = route
                (traced.apnsIDHigh, traced.apnsIDLow) = apnsID
                errand.traced = traced
            }
            self.send(errand, apnsID: apnsID, into: &request)
            return true
        }
        return false
    }
    private mutating func send(
        _ errand: ChannelErrand, apnsID: (UInt64, UInt64), into request: inout PushRequest
    ) {
        request.fill(
            errand.kind, id: self.core.errands.send(errand), app: errand.app, priority: errand.priority,
            expirationSeconds: errand.expirationSeconds, apnsID: apnsID
        ) {
            $0.append(contentsOf: errand.target)
        } body: {
            $0.append(contentsOf: errand.body)
        }
        self.core.memory.requestLeft(errand.partition)
    }

    /// Takes the answer to an errand. An answer that nobody waits for changes nothing.
    mutating func errandAnswered(_ answer: PushAnswer, now: EngineTime) {
        guard let errand = self.core.errands.take(answer.id) else { return }
        self.core.memory.requestAnswered(errand.partition)
        if let traced = errand.traced {
            self.core.memory.traceNotices.append(.broadcastAnswered(traced, answer), of: traced.source)
        }
        self.errandEnded(errand, answer.result, now: now)
    }

    /// When a keeper, a waiting request, or an audience with channels has something to do (steady clock); `Int64.max`:
    /// nothing is due at a known time.
    var channelDeadlineMillis: Int64 {
        min(
            self.keeperHost.keepers.nextDeadlineMillis, self.core.errands.nextDeadlineMillis,
            self.publisher.channelDeadlines.earliestMillis ?? .max)
    }
    /// Gives up requests that have waited too long, and does what is due for audiences and keepers.
    mutating func advanceChannels(now: EngineTime) {
        if self.core.errands.nextDeadlineMillis <= now.steadyMillis {
            let since = now.steadyMillis - ChannelErrands.waitMillisMax
            for errand in self.core.errands.withdraw(where: { $0.askedMillis <= since }) {
                self.errandEnded(errand, .notProcessed, now: now)
            }
        }
        self.publisher.advanceAudienceChannels(in: &self.core, now: now)
        self.keeperHost.advanceKeepers(in: &self.core, now: now)
    }

    /// Hands the result of a request to its sender.
    mutating func errandEnded(_ errand: ChannelErrand, _ result: PushAnswer.Result, now: EngineTime) {
        switch errand.sender {
        case .keeper: self.keeperHost.requestEnded(errand, result, in: &self.core, now: now)
        case .audience: self.publisher.broadcastEnded(errand, result, in: &self.core, now: now)
        }
    }
}
