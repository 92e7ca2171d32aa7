import APNSProtocol
import PushModel

@testable import ChannelKeeping

/// Carries out the keeper's actions, with faults.
extension KeeperWorld {
    mutating func carryOut(_ action: KeeperAction) {
        switch action {
        case .write(let number, let channel, let write):
            let bytes = channel.map { KeptChannelCodec.encode($0, epoch: Int64(self.generation)) }
            self.pending.append(PendingWrite(number: number, bytes: bytes, write: write))
            let delay = self.fault(self.plan.slowPerMille) ? self.draw(1...5_000) : self.draw(1...10)
            self.schedule(in: delay, .writeLands(generation: self.generation))
            self.judgeWrite(channel)
        case .list(let request): self.hand(.list, request)
        case .create(let request, let policy):
            self.judgeCreation()
            self.createCount += 1
            self.creations.append(
                Outstanding(generation: self.generation, request: request, handedMillis: self.steadyMillis))
            self.hasListSinceCreation = false
            self.hand(.create(policy), request)
        case .delete(let request, let id):
            self.judgeDeletion(id)
            self.hand(.delete(id), request)
        case .beacon(let request, let id, _, let end):
            self.judgeBeacon(id, end)
            self.hand(.beacon(id), request)
        case .announce(let announcement, let owner, let news):
            self.judgeNews(owner, news)
            self.schedule(
                in: self.draw(1...500),
                .announcementLands(generation: self.generation, announcement: announcement, owner, news))
        case .send(let owner, let news):
            self.judgeNews(owner, news)
            if !self.fault(self.plan.lostPerMille) { self.schedule(in: self.draw(1...500), .newsLands(owner, news)) }
        case .resolve(let receipt):
            self.resolved[Int(receipt)] = true
        case .alarm: break
        }
    }

    mutating func landWrite() {
        guard !self.pending.isEmpty else { return }
        let write = self.pending.removeFirst()
        self.land(write)
        self.turn { keeper, now in keeper.stateAcknowledged(write: write.write, now: now) }
    }

    // MARK: Requests

    private var timeout: Int64 { self.plan.settings.requestTimeoutMillis }

    private mutating func hand(_ kind: Request.Kind, _ number: UInt64) {
        var request = Request(
            generation: self.generation, number: number, kind: kind, handedMillis: self.steadyMillis)
        if self.fault(self.plan.refusedPerMille) {
            let refusals: [(UInt16, String)] = [
                (429, "TooManyRequests"), (503, "Service Unavailable"), (500, "InternalServerError"),
                (403, "ExpiredProviderToken"),
            ]
            request.refusal = refusals.randomElement(using: &self.random)
            // A server error may be answered although the request was carried out.
            request.isCarriedOut = request.refusal?.status == 500 && self.chance(500)
        } else if self.isRefusalPeriod {
            request.refusal = (400, "FeatureNotEnabled")
            request.isCarriedOut = false
        } else if self.fault(self.plan.lostPerMille) {
            request.isAnswered = false
            request.isCarriedOut = self.chance(600)
        }
        let isLate = self.fault(self.plan.slowPerMille)
        self.schedule(in: isLate ? self.draw(1...self.timeout) : self.draw(5...400), .execute(request))
        guard !request.isAnswered else { return }
        // The transport may give up before or after Apple carries the request out.
        self.schedule(in: self.draw(1...self.timeout), .answer(generation: self.generation, self.lost(request)))
    }

    private var isRefusalPeriod: Bool {
        let elapsed = self.steadyMillis - 1_000_000
        return self.plan.hasRefusalPeriod && !self.isQuiet && (3_600_000..<5_400_000).contains(elapsed)
    }

    private func lost(_ request: Request) -> Answer {
        switch request.kind {
        case .list: .list(request.number, .failed)
        case .create: .create(request.number, .lost)
        case .delete: .delete(request.number, .failed)
        case .beacon: .beacon(request.number, .failed)
        }
    }

    mutating func execute(_ request: Request) {
        let answer = request.isCarriedOut ? self.carriedOut(request) : nil
        guard request.isAnswered else { return }
        let refused = request.refusal.map { self.refused(request, status: $0.status, reason: $0.reason) }
        guard let answer = refused ?? answer else { return }
        let rest = max(1, min(300, request.handedMillis + self.timeout - self.steadyMillis))
        self.schedule(in: self.draw(1...rest), .answer(generation: request.generation, answer))
    }

    private func refused(_ request: Request, status: UInt16, reason: String) -> Answer {
        switch request.kind {
        case .list: .list(request.number, .refused(status: status, reason: reason))
        case .create: .create(request.number, .refused(status: status, reason: reason))
        case .delete: .delete(request.number, .refused(status: status, reason: reason))
        case .beacon: .beacon(request.number, .failed)
        }
    }

    private mutating func carriedOut(_ request: Request) -> Answer {
        switch request.kind {
        case .list:
            let lag = self.draw(0...(self.isQuiet ? 2_000 : self.plan.settings.listLagMillis))
            return .list(request.number, .listed(self.apple.list(atMillis: self.steadyMillis - lag)))
        case .create(let policy):
            guard let id = self.apple.create(.keeper, policy, atMillis: self.steadyMillis) else {
                return self.refused(request, status: 400, reason: "CannotCreateChannelConfig")
            }
            self.perhapsCreateAgain(policy)
            return .create(request.number, .created(id: self.perhapsForeign() ?? id))
        case .delete(let id):
            let isThere = self.apple.delete(id, atMillis: self.steadyMillis)
            return isThere
                ? .delete(request.number, .deleted)
                : self.refused(request, status: 400, reason: "ChannelNotRegistered")
        case .beacon(let id):
            guard self.apple.isRegistered(id) else { return .beacon(request.number, .channelGone) }
            self.rememberBeacon(id)
            return .beacon(request.number, .sent)
        }
    }

    mutating func take(_ answer: Answer) {
        guard self.keeper != nil else { return }
        switch answer {
        case .list(let request, let answer):
            if case .listed = answer { self.hasListSinceCreation = true }
            self.turn { keeper, now in keeper.listed(request: request, answer, now: now) }
        case .create(let request, let answer):
            self.creations.removeAll {
                $0.generation == self.generation && $0.request == request && !Self.isLost(answer)
            }
            self.turn { keeper, now in keeper.created(request: request, answer, now: now) }
        case .delete(let request, let answer):
            self.turn { keeper, now in keeper.deleted(request: request, answer, now: now) }
        case .beacon(let request, let answer):
            self.turn { keeper, now in keeper.beaconAnswered(request: request, answer, now: now) }
        }
    }

    private static func isLost(_ answer: CreateAnswer) -> Bool {
        switch answer {
        case .lost: true
        case .refused(let status, _): status == 500
        case .created, .notSent: false
        }
    }
}
