import APNSProtocol
import PushModel

@testable import APNSPool
@testable import PushEngine

/// The client's side. It plays the engine, which chooses the next push and handles answers. It also plays the runner,
/// which carries out the pool's actions and owns the sessions.
extension PoolWorld {
    func wait(_ push: Int) {
        let shard = push % self.plan.shardCount
        self.shards[shard].waiting[self.pushes[push].app].append(push)
    }

    /// Submits pushes while there is credit and carries out what the pool decides, until nothing is left to do.
    func settle(_ shard: Int) {
        repeat {
            self.takeTimedOut(shard)
            self.carryOutActions(shard)
            self.submit(shard)
        } while !self.shards[shard].pool.actions.isEmpty || !self.shards[shard].pool.timedOut.isEmpty
    }

    // MARK: Submitting

    private func submit(_ shard: Int) {
        while let app = self.nextApp(shard) {
            guard self.shards[shard].pool.credit > 0 else {
                self.shards[shard].pool.wanted(now: self.time)
                return
            }
            guard let lease = self.shards[shard].pool.lease(now: self.time) else {
                return self.complain("credit without a lease")
            }
            if Int.random(in: 0..<20, using: &self.random) == 0 {
                self.shards[shard].pool.takeBack(lease)
                continue
            }
            guard let link = self.shards[shard].links[lease.connection], !link.isClosed else {
                return self.complain("a lease on a connection that is not there")
            }
            let push = self.shards[shard].waiting[app].removeFirst()
            self.begin(push, app, on: link, lease, shard)
        }
    }

    /// The next app, in rotation, that has a push and whose lane gate is open.
    private func nextApp(_ shard: Int) -> Int? {
        for _ in 0..<3 {
            let app = self.shards[shard].turn
            self.shards[shard].turn = (app + 1) % 3
            if !self.shards[shard].waiting[app].isEmpty, !self.shards[shard].gates[app].isClosed { return app }
        }
        return nil
    }

    private func begin(_ push: Int, _ app: Int, on link: SimulatedLink, _ lease: StreamLease, _ shard: Int) {
        if self.pushes[push].final != nil { self.complain("push \(push) is sent after its verdict") }
        if self.pushes[push].isInFlight { self.complain("push \(push) is in flight twice") }
        if let limit = link.knownLimit, link.open.count >= limit {
            self.complain("the peer's limit \(limit) is broken")
        }
        if !link.isProven, !link.open.isEmpty { self.complain("a second request before the first was accepted") }
        if link.goAwayLast != nil { self.complain("a request after GOAWAY") }
        let streamID = link.nextStreamID
        link.nextStreamID += 2
        let request = SimulatedLink.Request(
            push: push, tag: lease.tag, streamID: streamID, app: app, token: self.shards[shard].token,
            hasLeft: link.peer != .frozen)
        link.open[streamID] = request
        self.pushes[push].isInFlight = true
        self.longestWaitMillis[app] = max(self.longestWaitMillis[app], self.now - self.pushes[push].arrivedMillis)
        self.shards[shard].gates[app].left(now: self.time)
        self.shards[shard].pool.began(
            lease, push: PushID(rawValue: UInt64(push)), app: UInt16(app), streamID: streamID,
            tokenGeneration: self.shards[shard].generation, now: self.time, micros: self.micros)
        if self.shards[shard].pool.members[link.slot].life.requestsLeft == 0 { self.count("exhausted") }
        if request.hasLeft { self.sendUp(link, .request(link, request)) }
    }

    // MARK: Actions

    private func carryOutActions(_ shard: Int) {
        while !self.shards[shard].pool.actions.isEmpty {
            for action in self.shards[shard].pool.drainActions() {
                switch action {
                case .connect(let slot): self.connect(shard, slot)
                case .ping(let slot): self.ping(shard, slot)
                case .reset(let slot, let streamID): self.resetByUs(shard, slot, streamID)
                case .close(let slot, let reason):
                    if reason == .idle { self.count("idle closes") }
                    guard let link = self.shards[shard].links[slot] else {
                        self.complain("slot \(slot) is closed twice")
                        break
                    }
                    self.end(link)
                case .renewToken(let generation):
                    self.report(generation) { $0.expiredReported(now: $1) }
                case .revertToken(let generation):
                    self.report(generation) { $0.tooManyUpdatesReported(now: $1) }
                case .doubtToken(let generation):
                    self.report(generation) { $0.invalidReported(now: $1) }
                    self.doubtKey(generation)
                case .keyAccepted(let generation):
                    if generation >= self.store.keyGeneration { self.store.keyAccepted() }
                case .alarmRaised, .alarmCleared: break
                }
            }
        }
    }

    private func connect(_ shard: Int, _ slot: Int) {
        if self.shards[shard].links[slot] != nil { self.complain("slot \(slot) is taken") }
        self.connectCount += 1
        self.connectTimes.append(self.now)
        let within = self.connectTimes.suffix(200).count { $0 > self.now - 1_000 }
        if within > 16 * self.plan.shardCount * self.plan.configuration.connectionsMax {
            self.complain("\(within) connection attempts within a second")
        }
        let link = SimulatedLink(shard: shard, slot: slot, beganMillis: self.now)
        self.shards[shard].links[slot] = link
        link.limit = [1, 5, 50, 1_000].randomElement(using: &self.random)!
        let isDead = self.deadAddresses.contains(Int.random(in: 0..<8, using: &self.random)) && self.hasFaults
        if self.strikes(.connectHangs) { return }
        if isDead || self.now < self.outageEndsMillis || self.strikes(.connectFails) {
            return self.sendDown(link, .closed(link))
        }
        self.sendDown(link, .transportConnected(link))
        if self.strikes(.tlsFails) { return self.sendDown(link, .closed(link)) }
        if self.strikes(.settingsNeverCome) { return }
        self.sendDown(link, .settings(link, limit: link.limit))
    }

    private func ping(_ shard: Int, _ slot: Int) {
        self.count("pings")
        guard let link = self.shards[shard].links[slot] else { return self.complain("a PING to nobody") }
        switch link.peer {
        case .serving, .stalled: self.sendDown(link, .pong(link))
        case .silent, .frozen: break
        }
    }

    private func resetByUs(_ shard: Int, _ slot: Int, _ streamID: Int32) {
        guard let link = self.shards[shard].links[slot], let request = link.open.removeValue(forKey: streamID) else {
            return
        }
        self.fail(link, request, request.hasLeft ? .unknown : .neverLeft)
    }

    private func takeTimedOut(_ shard: Int) {
        var timedOut: [TimedOutPush] = []
        self.shards[shard].pool.takeTimedOut(into: &timedOut)
        for end in timedOut {
            self.count("timeouts")
            let hasLeft = self.shards[shard].links[end.connection]?.open[end.streamID]?.hasLeft
            if hasLeft == nil { self.complain("a stream timed out that the session does not know") }
            self.shards[shard].gates[self.pushes[Int(end.push.rawValue)].app].answeredOtherwise()
            self.finish(Int(end.push.rawValue), hasLeft ?? true ? .unknown : .notProcessed)
        }
    }

    // MARK: Events of a connection

    func deliver(_ event: Event) {
        switch event {
        case .transportConnected(let link):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.transportConnected(link.slot, now: self.time)
        case .settings(let link, let limit):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.bytesReceived(link.slot, now: self.time)
            link.knownLimit = limit
            self.shards[link.shard].pool.settingsReceived(link.slot, streamsMax: limit, now: self.time)
        case .pong(let link):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.bytesReceived(link.slot, now: self.time)
        case .closed(let link):
            self.end(link)
        case .goAway(let link, let last, let isError):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.bytesReceived(link.slot, now: self.time)
            link.goAwayLast = last
            self.shards[link.shard].pool.goAwayReceived(link.slot, isError: isError, now: self.time)
            for request in link.open.values.sorted(by: { $0.streamID < $1.streamID }) where request.streamID > last {
                link.open[request.streamID] = nil
                self.fail(link, request, .neverLeft)
            }
        case .reset(let link, let streamID, let failure):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.bytesReceived(link.slot, now: self.time)
            guard let request = link.open.removeValue(forKey: streamID) else { return }
            self.fail(link, request, failure)
        case .answer(let link, let streamID, let verdict):
            guard !link.isClosed else { return }
            self.shards[link.shard].pool.bytesReceived(link.slot, now: self.time)
            guard let request = link.open.removeValue(forKey: streamID) else { return }
            self.answer(link, request, verdict)
        case .arrives, .again, .storeTick, .tokenChanged, .keyFileReplaced, .misfortune, .request, .answered,
            .goAwayAgain:
            break
        }
    }

    private func answer(_ link: SimulatedLink, _ request: SimulatedLink.Request, _ verdict: Verdict) {
        let shard = link.shard
        if verdict == .accepted {
            link.isProven = true
            let end = self.shards[shard].pool.accepted(request.tag, connection: link.slot, micros: self.micros)
            self.shards[shard].gates[request.app].accepted()
            return self.finish(request.push, .accepted, ended: end)
        }
        if verdict == .topicRefused(anotherConnectionMayDo: true),
            self.shards[shard].pool.renewsForTopic(request.tag, connection: link.slot, now: self.time)
        {
            let end = self.shards[shard].pool.answered(
                request.tag, connection: link.slot, verdict: .connectionUnusable, retryAfterSeconds: nil,
                now: self.time, micros: self.micros)
            self.shards[shard].gates[request.app].answeredOtherwise()
            return self.finish(request.push, .notProcessed, ended: end)
        }
        let end = self.shards[shard].pool.answered(
            request.tag, connection: link.slot, verdict: verdict,
            retryAfterSeconds: Int.random(in: 0..<10, using: &self.random) == 0 ? 1 : nil, now: self.time,
            micros: self.micros)
        switch verdict {
        case .topicRefused: _ = self.shards[shard].gates[request.app].refused(now: self.time, using: &self.random)
        case .tokenDead, .tokenThrottled: self.shards[shard].gates[request.app].accepted()
        case .accepted, .expirationRefused, .messageRefused, .credentialRefused, .providerTokenExpired,
            .providerTokenTooManyUpdates, .serverBusy, .connectionUnusable:
            self.shards[shard].gates[request.app].answeredOtherwise()
        }
        self.finish(request.push, .verdict(verdict), ended: end)
    }

    private func fail(_ link: SimulatedLink, _ request: SimulatedLink.Request, _ failure: ConnectionPool.Failure) {
        let end = self.shards[link.shard].pool.failed(
            request.tag, connection: link.slot, failure: failure, now: self.time, micros: self.micros)
        self.shards[link.shard].gates[request.app].answeredOtherwise()
        self.finish(request.push, failure == .unknown ? .unknown : .notProcessed, ended: end)
    }

    /// Ends a connection. First its session's requests end, and then the pool gets its number back.
    private func end(_ link: SimulatedLink) {
        guard !link.isClosed else { return }
        link.isClosed = true
        let shard = link.shard
        let requests = link.open.values.sorted { $0.streamID < $1.streamID }
        link.open = [:]
        for request in requests { self.fail(link, request, request.hasLeft ? .unknown : .neverLeft) }
        self.shards[shard].links[link.slot] = nil
        let left = self.shards[shard].pool.connectionEnded(link.slot, now: self.time, micros: self.micros)
        if !left.isEmpty { self.complain("\(left.count) streams of a connection that its session did not know") }
    }

    // MARK: Verdicts

    enum Ending { case accepted, verdict(Verdict), notProcessed, unknown }

    /// Finishes a push attempt with the given ending.
    /// - Parameter end: the pool's end of the push, or `nil` when the push had already timed out.
    private func finish(_ push: Int, _ ending: Ending, ended end: PushEnd?) {
        guard let end else { return }
        if Int(end.push.rawValue) != push { self.complain("push \(end.push.rawValue) ended in the place of \(push)") }
        self.finish(push, ending)
    }

    private func finish(_ number: Int, _ ending: Ending) {
        guard self.pushes[number].isInFlight else { return self.complain("push \(number) ended twice") }
        self.pushes[number].isInFlight = false
        switch ending {
        case .accepted, .verdict(.accepted): self.conclude(number, .accepted)
        case .verdict(.tokenDead), .verdict(.messageRefused): self.conclude(number, .refused)
        case .verdict(.connectionUnusable), .notProcessed: self.again(number, afterMillis: 0)
        case .verdict: self.again(number, afterMillis: self.backoff(number))
        case .unknown:
            self.pushes[number].unknownCount += 1
            if self.pushes[number].isStart {
                self.conclude(number, .unknown)
            } else {
                self.again(number, afterMillis: self.backoff(number))
            }
        }
    }

    private func conclude(_ number: Int, _ final: Push.Final) {
        if self.pushes[number].final != nil { self.complain("push \(number) has two verdicts") }
        if final == .accepted { self.acceptedMillis.append(self.now) }
        self.pushes[number].final = final
        self.unsettled -= 1
    }

    private func again(_ number: Int, afterMillis delay: Int64) {
        self.future.add(at: self.now + delay, .again(push: number))
    }

    private func backoff(_ number: Int) -> Int64 {
        self.pushes[number].attempt += 1
        return Int64.random(in: 1...(50 << Int64(min(self.pushes[number].attempt, 5))), using: &self.random)
    }

    // MARK: Provider token

    private func report(
        _ generation: UInt32, _ decide: (inout ProviderTokenSchedule, EngineTime) -> ProviderTokenSchedule.Decision
    ) {
        guard generation == self.store.generation, let decision = self.store.carryOut(now: self.time, decide) else {
            return
        }
        if case .sign(_, isAheadOfSchedule: true) = decision { self.count("out of turn") }
        if decision == .usePrevious { self.count("reverted") }
        self.spreadToken()
    }

    private func doubtKey(_ generation: UInt32) {
        guard generation == self.store.generation, self.store.keyRefused(now: self.time) else { return }
        self.count("key exchanged")
        self.spreadToken()
    }

    func spreadToken() {
        for shard in self.shards.indices {
            self.future.add(
                at: self.now + Int64.random(in: 0...5, using: &self.random), .tokenChanged(shard: shard))
        }
    }

    func takeToken(_ shard: Int) {
        guard self.shards[shard].generation != self.store.generation else { return }
        if self.shards[shard].epoch != self.store.epoch {
            self.shards[shard].pool.connectionsOutdated(now: self.time)
        }
        let isReturn = self.store.isReturn && self.store.generation == self.shards[shard].generation + 1
        self.shards[shard].token = self.store.current
        self.shards[shard].generation = self.store.generation
        self.shards[shard].epoch = self.store.epoch
        self.shards[shard].pool.tokenReplaced(
            generation: self.store.generation, isReturn: isReturn, now: self.time)
        self.shards[shard].pool.keyReplaced(
            firstGeneration: self.store.keyGeneration, isUnproven: self.store.isUnproven,
            isOnTrial: self.store.choice.isOnTrial)
    }

    // MARK: The network

    func sendUp(_ link: SimulatedLink, _ event: Event) {
        link.lastArrivalUp = max(
            link.lastArrivalUp, self.now + Int64.random(in: self.plan.latencyMillis, using: &self.random))
        self.future.add(at: link.lastArrivalUp, event)
    }

    func sendDown(_ link: SimulatedLink, _ event: Event) {
        link.lastArrivalDown = max(
            link.lastArrivalDown, self.now + Int64.random(in: self.plan.latencyMillis, using: &self.random))
        self.future.add(at: link.lastArrivalDown, event)
    }
}
