import APNSProtocol
import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Requests of workers to Apple about channels that are kept for audiences, and how Apple carries them out.
extension SimulationWorld {
    func keptChance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.keptRandom) < percent
    }

    /// All apps in all environments that the world uses.
    var keptHomes: [KeptHome] {
        self.plan.apps.indices.flatMap { app in
            (self.plan.audiences.hasDevelopment ? [false, true] : [false]).map {
                KeptHome(app: UInt16(app), isDevelopment: $0)
            }
        }
    }

    /// Makes the channels that somebody other than a worker had made before the run.
    func makeChannelsOfOthers() {
        guard self.plan.kept.isOn else { return }
        for (index, home) in self.keptHomes.enumerated() {
            for _ in 0..<(index == 0 ? self.plan.kept.othersInFirstHome : self.plan.kept.othersAtFirst) {
                _ = self.apple.create(home, maker: .other, stores: false, atMillis: self.steadyMillis - 3_600_000)
            }
        }
    }

    /// Perhaps lets somebody other than a worker make channels, and delete channels of the workers.
    func perhapsTouchChannels() {
        guard self.plan.kept.isOn, self.faultsAreOn else { return }
        for home in self.keptHomes {
            if self.keptChance(self.plan.kept.othersComePercent) {
                _ = self.apple.create(home, maker: .other, stores: false, atMillis: self.steadyMillis)
            }
            guard self.keptChance(self.plan.kept.deletionPercent) else { continue }
            let ours = self.apple.channels.filter { $0.home == home && $0.isRegistered && $0.maker != .other }
            guard let channel = ours.randomElement(using: &self.keptRandom) else { continue }
            self.log("somebody deletes the channel \(channel.id)")
            _ = self.apple.delete(channel.id, of: home, atMillis: self.steadyMillis)
            self.apple.change(channel.id) { $0.wasTakenAway = true }
        }
    }

    /// Deletes all but 20 of other makers' channels in each home, so that workers have room for their own channels.
    func freeChannelsOfOthers() {
        guard self.plan.kept.isOn else { return }
        for home in self.keptHomes {
            let others = self.apple.registered(home).filter { $0.maker == .other }
            for channel in others.dropFirst(20) {
                _ = self.apple.delete(channel.id, of: home, atMillis: self.steadyMillis)
                self.apple.change(channel.id) { $0.wasTakenAway = true }
            }
        }
    }

    // MARK: Requests

    /// Sends a request about a kept channel.
    /// - Returns: `false` if the request concerns something else.
    func departKept(_ request: PushRequest, route: UInt16, from worker: SimulatedWorker) -> Bool {
        let target = String(decoding: request.target, as: UTF8.self)
        switch request.kind {
        case .device: return false
        case .broadcast, .readChannel: guard target.hasPrefix("kept") else { return false }
        case .createChannel, .deleteChannel, .listChannels: break
        }
        guard self.plan.kept.isOn else {
            self.fail("a \(request.kind) in a world that keeps no channels")
            return true
        }
        self.log(
            "worker \(worker.number) asks Apple: \(request.kind) \(target) \(String(decoding: request.body, as: UTF8.self))"
        )
        var kept = KeptRequest(
            worker: worker.number, id: request.id, kind: request.kind,
            home: KeptHome(app: request.app, isDevelopment: route == 1), channel: target,
            stores: String(decoding: request.body, as: UTF8.self).contains("\"message-storage-policy\":1"),
            body: request.body, priority: Int(request.priority.rawValue),
            expirationSeconds: request.expirationSeconds, leftMillis: self.steadyMillis,
            arrivesMillis: self.steadyMillis + Int64.random(in: 1...80, using: &self.keptRandom), answersMillis: 0)
        kept.answersMillis = kept.arrivesMillis + Int64.random(in: 1...80, using: &self.keptRandom)
        if self.keptChance(self.plan.slowAnswerPercent) {
            kept.answersMillis += Int64.random(in: 100...8_000, using: &self.keptRandom)
        }
        self.judgeKeptDeparture(kept, worker: worker)
        self.decide(&kept)
        self.rememberKeptDeparture(kept)
        self.keptRequests.append(kept)
        self.strikeAtKept("a \(request.kind)", worker)
        return true
    }

    /// Decides whether the request is refused, and whether the request or its answer is lost.
    private func decide(_ request: inout KeptRequest) {
        if self.refusesBroadcast(&request) {
            return
        } else if self.keptChance(self.plan.notProcessedPercent / 2) {
            request.result = .notProcessed
            request.isOver = true
        } else if self.keptChance(self.plan.kept.lostPercent) {
            request.result = .unknown(detail: "connection lost")
            switch Int.random(in: 0..<3, using: &self.keptRandom) {
            case 0: request.isOver = true  // The request never arrived.
            case 1: break
            default:
                // The request still arrives within its time limit.
                request.arrivesMillis = request.answersMillis + Int64.random(in: 1...9_000, using: &self.keptRandom)
            }
        } else if self.keptChance(self.plan.kept.refusedPercent) {
            let (status, reason) = [
                (UInt16(500), "InternalServerError"), (503, "Service Unavailable"), (429, "TooManyRequests"),
            ].randomElement(using: &self.keptRandom)!
            request.result = .response(PushResponse(status: status, reason: reason))
            // Apple may answer with status 500 although it has carried out the request.
            request.isOver =
                status != 500 || request.kind == .broadcast || Bool.random(using: &self.keptRandom)
        }
    }

    /// Delivers requests to Apple, and answers to workers.
    func flyKept() {
        guard !self.keptRequests.isEmpty else { return }
        for index in self.keptRequests.indices
        where !self.keptRequests[index].isOver && self.keptRequests[index].arrivesMillis <= self.steadyMillis {
            self.keptRequests[index].isOver = true
            let result = self.carryOut(self.keptRequests[index])
            if self.keptRequests[index].result == nil { self.keptRequests[index].result = result }
        }
        for index in self.keptRequests.indices
        where !self.keptRequests[index].isAnswered && self.keptRequests[index].answersMillis <= self.steadyMillis {
            let request = self.keptRequests[index]
            let worker = self.workers.first { $0.number == request.worker && $0.isAlive }
            // A stopped process reads nothing.
            if let worker, !worker.runs { continue }
            self.keptRequests[index].isAnswered = true
            guard let worker, let result = request.result else { continue }
            self.log("worker \(worker.number) hears of its \(request.kind) \(request.channel): \(Self.short(result))")
            self.rememberKeptAnswer(request, result)
            worker.answers.append(PushAnswer(id: request.id, result: result, apnsMicros: 1_000))
            self.strikeAtKept("the answer to a \(request.kind)", worker)
        }
        self.keptRequests.removeAll { $0.isOver && $0.isAnswered }
    }

    /// A short form of the result. A list may have thousands of entries.
    private static func short(_ result: PushAnswer.Result) -> String {
        guard case .channel(let answer) = result else { return "\(result)" }
        return "\(answer.status) \(String(decoding: answer.channelID, as: UTF8.self)) with \(answer.body.count) bytes"
    }

    /// When Apple next gets a request, or a worker next gets an answer. Answers to stopped workers do not count. `nil`:
    /// nothing else is on its way.
    var nextKeptMillis: Int64? {
        self.keptRequests.compactMap { request -> Int64? in
            if !request.isOver { return request.arrivesMillis }
            let isStopped = self.workers.contains { $0.number == request.worker && $0.isStopped }
            return request.isAnswered || isStopped ? nil : request.answersMillis
        }.min()
    }

    /// Carries out a request that has reached Apple.
    private func carryOut(_ request: KeptRequest) -> PushAnswer.Result {
        switch request.kind {
        case .device:
            self.fail("a \(request.kind) among requests about kept channels")
            return .notProcessed
        case .readChannel: return .response(PushResponse(status: 400, reason: "ChannelNotRegistered"))
        case .listChannels:
            let lag = Int64.random(in: 0...max(0, self.plan.kept.listLagMillisMax), using: &self.keptRandom)
            let ids = self.apple.list(request.home, atMillis: self.steadyMillis - (self.faultsAreOn ? lag : 0))
            let body = "{\"channels\":[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]}"
            return .channel(ChannelAnswer(status: 200, channelID: [], body: Array(body.utf8)))
        case .createChannel:
            let id = self.apple.create(
                request.home, maker: .worker(request.worker), stores: request.stores, atMillis: self.steadyMillis)
            guard let id else {
                return .response(PushResponse(status: 400, reason: "CannotCreateChannelConfig"))
            }
            self.log("Apple has made the channel \(id) for worker \(request.worker)")
            let told = self.misanswered(id, request)
            return .channel(ChannelAnswer(status: 201, channelID: Array(told.utf8), body: []))
        case .deleteChannel:
            guard self.apple.delete(request.channel, of: request.home, atMillis: self.steadyMillis) else {
                return .response(PushResponse(status: 400, reason: "ChannelNotRegistered"))
            }
            self.log("Apple has deleted the channel \(request.channel)")
            return .channel(ChannelAnswer(status: 204, channelID: [], body: []))
        case .broadcast:
            guard self.apple[request.channel]?.home == request.home, self.apple.isRegistered(request.channel) else {
                return .response(PushResponse(status: 400, reason: "ChannelNotRegistered"))
            }
            self.deliverKept(request)
            return .accepted
        }
    }

    /// Drops some requests that may not have left the machine when the process died. No request of the process gets an
    /// answer.
    func abandonKept(_ worker: SimulatedWorker) {
        for index in self.keptRequests.indices where self.keptRequests[index].worker == worker.number {
            if !self.keptRequests[index].isOver, Int.random(in: 0..<3, using: &self.keptRandom) == 0 {
                self.keptRequests[index].isOver = true
            }
            self.keptRequests[index].isAnswered = true
        }
    }

    /// Perhaps lets the worker die at a step in the life of a channel.
    func strikeAtKept(_ what: String, _ worker: SimulatedWorker) {
        guard self.workerCount < 60, self.keptChance(self.plan.kept.strikePercent) else { return }
        self.log("worker \(worker.number) is to die over \(what)")
        worker.fuse = Int.random(in: 1...6, using: &self.keptRandom)
    }
}
