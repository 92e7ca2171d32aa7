import APNSProtocol

@testable import APNSPool

/// APNs' side of the simulation, and the faults of APNs, of the network and of our clock.
extension PoolWorld {
    // MARK: A request arrives

    func receive(_ request: SimulatedLink.Request, on link: SimulatedLink) {
        guard request.streamID <= link.peerGoAwayLast else { return }
        link.highestSeen = max(link.highestSeen, request.streamID)
        switch link.peer {
        case .serving: break
        case .stalled, .silent, .frozen:
            if Bool.random(using: &self.random) { self.process(request) }
            return
        }
        guard link.peerOpen < link.limit else {
            return self.sendDown(link, .reset(link, streamID: request.streamID, .refused))
        }
        if self.strikes(.refusedStream) {
            return self.sendDown(link, .reset(link, streamID: request.streamID, .refused))
        }
        link.peerOpen += 1
        if self.strikes(.streamReset) {
            if Bool.random(using: &self.random) { self.process(request) }
            link.peerOpen -= 1
            return self.sendDown(link, .reset(link, streamID: request.streamID, .unknown))
        }
        if self.strikes(.answerLost) {
            if Bool.random(using: &self.random) { self.process(request) }
            return
        }
        let verdict = self.judge(request, on: link)
        if verdict == .accepted { self.process(request) }
        let served = self.now + Int64.random(in: 0...30, using: &self.random)
        self.future.add(at: served, .answered(link))
        self.answer(link, request, verdict, servedMillis: served)
    }

    private func answer(
        _ link: SimulatedLink, _ request: SimulatedLink.Request, _ verdict: Verdict, servedMillis: Int64
    ) {
        link.lastArrivalDown = max(
            link.lastArrivalDown, servedMillis + Int64.random(in: self.plan.latencyMillis, using: &self.random))
        self.future.add(
            at: link.lastArrivalDown, .answer(link, streamID: request.streamID, verdict))
    }

    private func process(_ request: SimulatedLink.Request) { self.pushes[request.push].processedCount += 1 }

    /// The verdict that APNs gives on a request.
    private func judge(_ request: SimulatedLink.Request, on link: SimulatedLink) -> Verdict {
        if self.now < self.outageEndsMillis || self.strikes(.serverBusy) { return .serverBusy }
        if let verdict = self.judgeToken(request.token, on: link) { return verdict }
        if request.app == 2, self.plan.hasWrongTopic, self.hasFaults {
            return .topicRefused(anotherConnectionMayDo: true)
        }
        if self.strikes(.tokenCalledExpired) { return .providerTokenExpired }
        if self.strikes(.tooManyTokenUpdates) { return .providerTokenTooManyUpdates }
        if self.strikes(.shutdownReason) { return .connectionUnusable }
        if self.strikes(.throttled) { return .tokenThrottled }
        if self.strikes(.tokenDead) { return .tokenDead(invalidSinceMillis: nil, suspicious: true) }
        if self.strikes(.messageRefused) { return .messageRefused }
        return .accepted
    }

    /// The verdict by Apple's rules for provider tokens; `nil` if the token is good.
    private func judgeToken(_ token: SimulatedToken, on link: SimulatedLink) -> Verdict? {
        if let first = link.tokensSeen.first, first.token.key != token.key {
            self.complain("a connection saw the tokens of two keys")
            return .connectionUnusable
        }
        if !link.tokensSeen.contains(where: { $0.token == token }) {
            // The second token on a connection may come at any time. Later ones need 20 minutes since the one before.
            if link.tokensSeen.count > 1, let last = link.tokensSeen.last, self.now - last.atMillis < 1_200_000 {
                self.complain("a second new token within 20 minutes on one connection")
            }
            link.tokensSeen.append((token, self.now))
        }
        if self.revokedKeys.contains(token.key) { return .credentialRefused }
        let ageSeconds = self.trueWallMillis / 1_000 - token.issuedAtSeconds
        if ageSeconds > 3_600 { return .providerTokenExpired }
        return ageSeconds < -60 ? .credentialRefused : nil
    }

    // MARK: Faults

    /// Gives each fault of a connection, key or clock a chance to strike, and schedules the next occasion.
    func misfortune() {
        guard self.hasFaults else { return self.heal() }
        // There are 300 occasions in a history, no matter how long it is.
        self.future.add(at: min(self.now + self.plan.faultsEndMillis / 300, self.plan.faultsEndMillis), .misfortune)
        for shard in self.shards { for case .some(let link) in shard.links { self.strike(link) } }
        if self.strikes(.outage) {
            self.outageEndsMillis = self.now + Int64.random(in: 100...5_000, using: &self.random)
        }
        if self.strikes(.clockStep) { self.skewMillis = Int64.random(in: -7_200_000...7_200_000, using: &self.random) }
        if self.strikes(.addressesChange) {
            self.deadAddresses = Set((0..<8).filter { _ in Bool.random(using: &self.random) })
        }
        if self.appearances < 4, self.strikes(.goodKeyAppears) {
            self.appearances += 1
            _ = self.store.keyAppeared(now: self.time)
            self.spreadToken()
        }
        if self.appearances < 4, self.strikes(.badKeyAppears) {
            self.appearances += 1
            self.revokedKeys.insert(self.store.keyAppeared(now: self.time))
            self.spreadToken()
        }
        if self.withdrawals < 2, self.strikes(.keyWithdrawn) {
            self.withdrawals += 1
            self.revokedKeys.insert(self.store.key)
            self.future.add(at: self.now + Int64.random(in: 0...3_000, using: &self.random), .keyFileReplaced)
        }
    }

    private func strike(_ link: SimulatedLink) {
        guard link.knownLimit != nil, !link.isClosed else { return }
        if self.strikes(.connectionLost) { return self.sendDown(link, .closed(link)) }
        if self.strikes(.silent) { link.peer = .silent }
        if self.strikes(.stalled) { link.peer = .stalled }
        if self.strikes(.frozen) { link.peer = .frozen }
        guard link.peer == .serving else { return }
        if self.strikes(.limitZero) { self.change(link, limit: 0) }
        if self.strikes(.limitOne) { self.change(link, limit: 1) }
        if self.strikes(.limitHigh) { self.change(link, limit: 1_000) }
        if self.strikes(.limitAny) { self.change(link, limit: Int.random(in: 0...60, using: &self.random)) }
        if self.strikes(.goAway) {
            self.sayGoAway(link, last: link.highestSeen, isError: false)
        } else if self.strikes(.goAwayWithError) {
            self.sayGoAway(link, last: link.highestSeen, isError: true)
            self.sendDown(link, .closed(link))
        } else if self.strikes(.goAwayInTwoSteps) {
            self.sayGoAway(link, last: .max, isError: false)
            self.future.add(at: self.now + 100, .goAwayAgain(link))
        }
    }

    /// Sends GOAWAY. From then on, no stream above `last` is processed.
    func sayGoAway(_ link: SimulatedLink, last: Int32, isError: Bool) {
        guard last <= link.peerGoAwayLast else { return }
        if link.peerHasSaidGoAway, last == link.peerGoAwayLast { return }
        link.peerHasSaidGoAway = true
        link.peerGoAwayLast = last
        self.sendDown(link, .goAway(link, last: last, isError: isError))
    }

    private func change(_ link: SimulatedLink, limit: Int) {
        link.limit = limit
        self.sendDown(link, .settings(link, limit: limit))
    }

    /// Ends the faults: sets the clock right, and raises some limits that were 0.
    private func heal() {
        self.skewMillis = 0
        for shard in self.shards {
            for case .some(let link) in shard.links where !link.isClosed && link.peer == .serving && link.limit < 1 {
                if link.knownLimit != nil, Bool.random(using: &self.random) { self.change(link, limit: 10) }
            }
        }
    }
}
