import APNSProtocol
import ChannelKeeping
import PushModel

/// Sends requests about channels, and takes their answers.
extension ShardEngine {
    /// Fills `request` with the next request of a route; `false`: none waits.
    mutating func nextChannelErrand(route: UInt16, into request: inout PushRequest, now: EngineTime) -> Bool {
        while var errand = self.errands.popFirst(route: route) {
            if case .audience = errand.sender, !self.fillBroadcast(&errand, now: now) { continue }
            let apnsID = self.dispatch.makeUUID()
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
            errand.kind, id: self.errands.send(errand), app: errand.app, priority: errand.priority,
            expirationSeconds: errand.expirationSeconds, apnsID: apnsID
        ) {
            $0.append(contentsOf: errand.target)
        } body: {
            $0.append(contentsOf: errand.body)
        }
        self.memory.requestLeft(errand.partition)
    }

    /// Takes the answer to an errand. An answer that nobody waits for changes nothing.
    mutating func errandAnswered(_ answer: PushAnswer, now: EngineTime) {
        guard let errand = self.errands.take(answer.id) else { return }
        self.memory.requestAnswered(errand.partition)
        if let traced = errand.traced {
            self.memory.traceNotes.append(.broadcastAnswered(traced, answer), of: traced.source)
        }
        self.errandEnded(errand, answer.result, now: now)
    }

    /// Hands the result to the one that asked.
    mutating func errandEnded(_ errand: ChannelErrand, _ result: PushAnswer.Result, now: EngineTime) {
        switch errand.sender {
        case .keeper(let id, let generation, let request):
            guard let id = self.keepers.find(id, generation: generation) else { return }
            let actions = self.keepers.decide(id) { keeper in
                switch errand.kind {
                case .listChannels: keeper.listed(request: request, ListAnswer(result), now: now)
                case .createChannel: keeper.created(request: request, CreateAnswer(result), now: now)
                case .deleteChannel: keeper.deleted(request: request, DeleteAnswer(result), now: now)
                case .broadcast: keeper.beaconAnswered(request: request, BeaconAnswer(result), now: now)
                case .device, .readChannel: []
                }
            }
            self.carryOut(actions, of: id, now: now)
        case .audience: self.broadcastEnded(errand, result, now: now)
        }
    }
}

extension ListAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel(let answer) where !answer.isCut:
            if let ids = try? ChannelBody.channelIDs(answer.body.span) {
                self = .listed(ids)
            } else {
                self = .failed
            }
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .channel, .accepted, .notProcessed, .unknown: self = .failed
        }
    }
}

extension CreateAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel(let answer): self = answer.channelID.isEmpty ? .lost : .created(id: answer.channelID)
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .notProcessed: self = .notSent
        case .accepted, .unknown: self = .lost
        }
    }
}

extension DeleteAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel: self = .deleted
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .accepted, .notProcessed, .unknown: self = .failed
        }
    }
}

extension BeaconAnswer {
    /// Creates the result. A request that APNs refuses for good, for any reason, is not tried again.
    init(_ result: PushAnswer.Result) {
        switch result {
        case .accepted, .channel: self = .sent
        case .response(let response):
            switch response.verdict.consequence.push {
            case .accepted, .refused: self = .sent
            case .tokenDead: self = .channelGone
            case .goesAgain, .waitsForRoute, .waitsForToken: self = .failed
            }
        case .notProcessed, .unknown: self = .failed
        }
    }
}
