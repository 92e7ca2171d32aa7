import APNSProtocol
import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

extension SimulationWorld {
    // MARK: Requests

    func depart(_ request: PushRequest, route: UInt16, from worker: SimulatedWorker) {
        if self.departKept(request, route: route, from: worker) { return }
        guard request.kind != .readChannel else { return self.ask(request, from: worker) }
        let token = String(decoding: request.target, as: UTF8.self)
        if request.kind == .device, let member = self.memberNumbers[token] {
            return self.departToMember(request, route: route, member: member, from: worker)
        }
        if request.kind == .device, let starter = self.starterNumbers[token] {
            return self.departToStarter(request, route: route, starter: starter, from: worker)
        }
        let body = String(decoding: request.body, as: UTF8.self)
        let isStart = body.hasPrefix("{\"aps\":{\"event\":\"start\"")
        guard let activity = self.activity(of: request, token: token) else {
            return self.fail("a push to the unknown token \(token)")
        }
        if route != 0 { self.fail("activity \(activity): pushed by route \(route)") }
        if request.body.count > (request.kind == .broadcast ? 5_120 : 4_096) {
            self.fail("a payload of \(request.body.count) bytes")
        }
        if self.flights.contains(where: {
            $0.activity == activity && $0.worker == worker.number && $0.result != nil && $0.partitionLives
        }) {
            self.fail("two pushes of activity \(activity) in flight")
        }
        self.log("worker \(worker.number) pushes activity \(activity) \(request.priority) \(body)")
        self.checkBroadcast(request, activity: activity, worker: worker)
        self.checkBudget(request, body: body, activity: activity, worker: worker)
        self.checkLateness(of: activity, isStart: isStart, token: token, worker: worker)
        var flight = Flight(
            number: self.flightCount, worker: worker.number, id: request.id, activity: activity, token: token,
            isStart: isStart,
            body: request.body, priority: Int(request.priority.rawValue),
            arrivesMillis: self.steadyMillis + Int64.random(in: 1...80, using: &self.random), answersMillis: 0,
            result: .accepted, isApplied: false)
        flight.expirationSeconds = request.expirationSeconds
        flight.partition = self.home(of: activity)
        if let owned = worker.partitions[flight.partition] {
            let hasWaited =
                owned.hasHadNoRoom
                || self.steadyMillis >= owned.runsSinceMillis + worker.catchUpMaxMillis
            flight.isBehind = hasWaited && zip(owned.positions, owned.logEnds).contains { $0 < $1 }
        }
        self.checkWithdrawn(flight, body: body)
        // The worker's lease ends before anybody else can own the partition.
        if self.group.owner(of: flight.partition) != worker.number {
            self.fail(
                "worker \(worker.number) pushes activity \(activity) of partition \(flight.partition), which is not its own"
            )
        }
        self.flightCount += 1
        flight.answersMillis = flight.arrivesMillis + Int64.random(in: 1...80, using: &self.random)
        if self.chance(self.plan.slowAnswerPercent) {
            flight.answersMillis += Int64.random(in: 100...8_000, using: &self.random)
        }
        self.strikeAtPush(&flight)
        self.strikeWithDeadToken(flight)
        self.strikeAtPushOverLateRecord(flight, of: worker)
        self.decide(&flight)
        self.rememberDeparture(flight)
        if self.plan.refusedMessagePercent > 0 { self.sentBodies.insert(Self.withoutStamp(body)) }
        self.checkNotHalted(flight.partition, "a push")
        self.flights.append(flight)
    }

    /// Decides how APNs answers the push, and whether the push reaches its phone.
    func decide(_ flight: inout Flight) {
        if self.chance(self.plan.notProcessedPercent) {
            flight.result = .notProcessed
            flight.isApplied = true
        } else if self.chance(self.plan.lostAnswerPercent) {
            flight.result = .unknown(detail: "connection lost")
            switch Int.random(in: 0..<3, using: &self.random) {
            case 0: flight.isApplied = true  // It never arrived.
            case 1: break
            default: flight.arrivesMillis = flight.answersMillis + Int64.random(in: 1...4_000, using: &self.random)
            }
        } else if !flight.isStart, self.phones[flight.activity].channel == nil,
            self.chance(self.plan.staleVerdictPercent)
        {
            flight.result = .response(
                PushResponse(status: 410, reason: "Unregistered", timestampMillis: 1_600_000_000_000))
            // This token was already dead when the app registered it. So APNs rightly refuses it, although the answer
            // gives an old time.
            if self.deadArrivals.tokens.contains(flight.token) { self.tokensRefused.insert(flight.token) }
            flight.isApplied = true
        } else if self.chance(self.plan.failurePercent) {
            let (status, reason) = [
                (UInt16(500), "InternalServerError"), (503, "ServiceUnavailable"), (429, "TooManyRequests"),
                (403, "ExpiredProviderToken"),
            ].randomElement(using: &self.random)!
            flight.result = .response(
                PushResponse(
                    status: status, reason: reason, retryAfterSeconds: self.lateness.drawRetryAfter(status)))
            flight.isApplied = true
        } else if self.chance(self.plan.refusedMessagePercent), !self.wasSent(flight) {
            // If APNs has taken a message once, it does not call the message malformed later.
            flight.result = .response(PushResponse(status: 400, reason: "BadMessageId"))
            flight.isApplied = true
        }
    }

    /// Whether some worker has sent the same message before.
    private func wasSent(_ flight: Flight) -> Bool {
        self.sentBodies.contains(Self.withoutStamp(String(decoding: flight.body, as: UTF8.self)))
    }

    private static func withoutStamp(_ body: String) -> String {
        guard let name = body.firstRange(of: "\"timestamp\":") else { return body }
        return String(body[..<name.upperBound] + body[name.upperBound...].drop { $0.isNumber })
    }

    /// Lets requests reach their phones, and answers reach their workers. The workers read the answers in their next
    /// turn.
    func fly() {
        self.answerQuestions()
        self.flyKept()
        for index in self.flights.indices
        where !self.flights[index].isApplied && self.flights[index].arrivesMillis <= self.steadyMillis {
            self.flights[index].isApplied = true
            self.flights[index].hasArrived = true
            self.arrive(index)
        }
        for flight in self.flights where flight.result != nil && flight.answersMillis <= self.steadyMillis {
            // A stopped process reads nothing.
            let worker = self.workers.first { $0.number == flight.worker && $0.isAlive }
            if let worker, !worker.runs { continue }
            guard let result = flight.result else { continue }
            for index in self.flights.indices where self.flights[index].number == flight.number {
                self.flights[index].result = nil
            }
            guard let worker else { continue }
            if let starter = flight.starter {
                self.log("worker \(worker.number) hears of starter \(starter): \(result)")
                self.settleStarter(flight, result: result)
            } else if let member = flight.member {
                self.log("worker \(worker.number) hears of member \(member): \(result)")
                self.settleMember(flight, result: result)
            } else {
                self.log("worker \(worker.number) hears of activity \(flight.activity): \(result)")
                self.settleBudget(flight, result: result)
                self.rememberAttempt(flight, result: result, worker: worker)
                self.rememberAnswer(flight, result: result)
                if case .accepted = result { self.evidence.rememberAccepted(flight.token, worker: worker.number) }
            }
            worker.answers.append(PushAnswer(id: flight.id, result: result, apnsMicros: 1_000))
        }
        self.flights.removeAll { $0.isApplied && $0.result == nil }
    }

    private func arrive(_ index: Int) {
        let flight = self.flights[index]
        if let member = flight.member { return self.arriveAtMember(index, member: member) }
        if let starter = flight.starter { return self.arriveAtStarter(index, starter: starter) }
        let phone = self.phones[flight.activity]
        guard flight.token == (flight.isStart ? phone.startToken : phone.token), flight.isStart || !phone.isTokenDead
        else {
            if case .accepted = flight.result {
                self.tokensRefused.insert(flight.token)
                guard !self.deadArrivals.tokens.contains(flight.token) else {
                    self.flights[index].result = .response(self.deadArrivals.verdict(nowMillis: self.wallMillis))
                    return
                }
                self.flights[index].result = .response(
                    phone.channel != nil
                        ? PushResponse(status: 400, reason: "ChannelNotRegistered")
                        : PushResponse(status: 410, reason: "Unregistered", timestampMillis: self.wallMillis))
            }
            return
        }
        self.log("a push of worker \(flight.worker) reaches activity \(flight.activity)")
        // A push without a known answer may arrive after newer pushes, with an older stamp. So may a push of a worker
        // that has lost the partition. The phone ignores such pushes, and their stamps are not checked.
        if case .accepted = flight.result, flight.partitionLives,
            self.group.owner(of: flight.partition) == flight.worker
        {
            self.checkStamp(flight)
        }
        do {
            let reaction = try self.phones[flight.activity].device.push(
                body: flight.body, priority: flight.priority, nowMillis: self.wallMillis)
            if reaction == .ignoredSameStamp {
                self.fail("activity \(flight.activity): other content under the same stamp")
            }
            if reaction == .ignoredStale {
                self.fail("activity \(flight.activity): a start arrives that is stale, and puts up no card")
            }
            if flight.isStart { self.phones[flight.activity].hasStarted = true }
            if reaction == .shown { self.rememberShown(flight) }
            try self.deliverToSleeper(flight, isShown: reaction == .shown)
        } catch {
            self.fail("the phone cannot decode \(String(decoding: flight.body, as: UTF8.self)): \(error)")
        }
    }

    // MARK: What must hold for every request

    /// Checks that the stamps of pushes that reach a phone grow, and that two pushes with one stamp have the same
    /// content.
    private func checkStamp(_ flight: Flight) {
        let body = String(decoding: flight.body, as: UTF8.self)
        guard let range = body.range(of: "\"timestamp\":") else { return self.fail("no timestamp in \(body)") }
        let stamp = Int64(body[range.upperBound...].prefix { $0.isNumber })!
        let last = self.lastStamps[flight.activity]
        // A channel that was forgotten after its end begins again, so its stamps may begin again too.
        if self.phones[flight.activity].channel != nil, self.phones[flight.activity].device.phase == .ended { return }
        if stamp < last {
            // A former owner may have sent a newer event that has since expired. If the present owner does not know of
            // that event, the phone rightly ignores the push.
            if let event = self.event(in: body), let shown = self.event(in: self.lastBodies[flight.activity]),
                event.timestampSeconds < shown.timestampSeconds
            {
                return
            }
            self.fail("activity \(flight.activity): stamp \(stamp) after \(last)")
        }
        if stamp == last, body != self.lastBodies[flight.activity] {
            self.fail("activity \(flight.activity): stamp \(stamp) twice for other content")
        }
        self.lastStamps[flight.activity] = stamp
        self.lastBodies[flight.activity] = body
    }

    /// The event whose content a payload shows. `nil`: it shows none.
    func event(in body: String) -> WrittenEvent? {
        self.eventNumber(in: body).flatMap { self.written[self.order[$0]] }
    }

    /// The event whose alert a payload brings, as an index into `order`.
    func alertNumber(in body: String) -> Int? {
        guard let alert = body.range(of: "\"alert\":{\"title\":"),
            let range = body[alert.upperBound...].range(of: "\"body\":\""),
            let number = Int(body[range.upperBound...].prefix { $0.isNumber }), number < self.order.count
        else { return nil }
        return number
    }

    /// The event whose content the body has, as an index into `order`.
    func eventNumber(in body: String) -> Int? {
        guard let range = body.range(of: "\"content-state\":{\"n\":"),
            let number = Int(body[range.upperBound...].prefix { $0.isNumber }), number < self.order.count
        else { return nil }
        return number
    }
}
