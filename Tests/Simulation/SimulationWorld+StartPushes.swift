import APNSProtocol
import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Pushes to start members: the checks when a start leaves, and its arrival at the phone. The judge knows only which
/// records were stored and which pushes left.
extension SimulationWorld {
    /// Index in `order` of the start event that a body was made from. The body's attributes contain it. `nil`: the body
    /// was not made from a start event.
    private func startEvent(in text: String) -> Int? {
        guard let range = text.range(of: "\"attributes\":{\"start\":"),
            let number = Int(text[range.upperBound...].prefix { $0.isNumber }), number < self.order.count,
            self.written[self.order[number]]!.kind == .start
        else { return nil }
        return number
    }

    func departToStarter(_ request: PushRequest, route: UInt16, starter: Int, from worker: SimulatedWorker) {
        let text = String(decoding: request.body, as: UTF8.self)
        guard let start = self.startEvent(in: text), text.hasPrefix("{\"aps\":{\"event\":\"start\"") else {
            return self.fail("starter \(starter): no start is \(text.prefix(200))")
        }
        let audience = self.written[self.order[start]]!.activity
        let partition = self.home(ofStarter: starter)
        self.log("worker \(worker.number) starts audience \(audience) on starter \(starter): \(text)")
        if request.body.count > 4_096 { self.fail("a payload of \(request.body.count) bytes") }
        if route != (self.starters[starter].isDevelopment ? 1 : 0) {
            self.fail("starter \(starter): pushed by route \(route)")
        }
        if request.app != self.phones[audience].audience?.app {
            self.fail("starter \(starter): pushed for app \(request.app)")
        }
        if self.group.owner(of: partition) != worker.number {
            self.fail(
                "worker \(worker.number) pushes starter \(starter) of partition \(partition), which is not its own")
        }
        self.checkPaused(audience, partition: partition, worker: worker, whose: "starter \(starter)")
        self.checkSecondStart(start, starter: starter, worker: worker)
        self.checkIsNotUnheard(start, starter: starter)
        self.checkStartInTime(start, text: text, starter: starter, worker: worker)
        self.checkIsStarter(starter, audience: audience, worker: worker)
        _ = self.judgeStartInput(request.body, starter: starter, audience: audience)
        var flight = Flight(
            number: self.flightCount, worker: worker.number, id: request.id, activity: audience,
            token: self.starters[starter].token, isStart: true, body: request.body,
            priority: Int(request.priority.rawValue),
            arrivesMillis: self.steadyMillis + Int64.random(in: 1...80, using: &self.startRandom), answersMillis: 0,
            result: .accepted, isApplied: false)
        flight.expirationSeconds = request.expirationSeconds
        flight.partition = partition
        flight.starter = starter
        flight.start = start
        self.flightCount += 1
        flight.answersMillis = flight.arrivesMillis + Int64.random(in: 1...80, using: &self.startRandom)
        if self.chance(self.plan.slowAnswerPercent) {
            flight.answersMillis += Int64.random(in: 100...8_000, using: &self.random)
        }
        self.decide(&flight)
        self.starters[starter].pushes[start, default: []].append(
            SimulatedStarter.Push(
                worker: worker.number, id: flight.id, assignment: worker.partitions[partition]?.assignment ?? 0,
                leftMillis: self.steadyMillis))
        self.checkStartsPerHour(flight, starter: starter)
        self.flights.append(flight)
        self.strikeAtPushOverLateRecord(flight, of: worker)
        self.strikeOverAnnouncement(flight, of: worker)
        if self.faultsAreOn, self.workerCount < 60,
            Int.random(in: 0..<100, using: &self.startRandom) < self.plan.audiences.strikePercent
        {
            self.log("worker \(worker.number) is to die within a start")
            worker.fuse = Int.random(in: 1...12, using: &self.startRandom)
        }
    }

    // MARK: What must hold for every start

    /// Judges, with `start.on-unknown: drop`, that an owner does not knowingly send a start twice. Every earlier push
    /// of the start must have been refused, and its worker must have got that answer.
    private func checkSecondStart(_ start: Int, starter: Int, worker: SimulatedWorker) {
        guard self.plan.app.startOnUnknown == .drop else { return }
        for push in self.starters[starter].pushes[start] ?? [] where push.end != .refused {
            self.fail(
                "starter \(starter): event \(start) starts it a second time, and the push of worker \(push.worker) is \(push.end)"
            )
        }
    }

    /// Judges that a start leaves before it expires, and before its partition's owner has sent an end. The start's
    /// content must not be older than the content that this owner has sent to update members.
    private func checkStartInTime(_ start: Int, text: String, starter: Int, worker: SimulatedWorker) {
        let event = self.written[self.order[start]]!
        let now = self.now(of: worker).wallMillis
        let expires = event.expiresSeconds.map { $0 * 1_000 + 1_000 } ?? (event.writtenWallMillis + 900_000)
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis + self.aheadMillis
        if now > expires + slack + 1_000 {
            self.fail("starter \(starter): event \(start) starts it \(now - expires) ms after it has expired")
        }
        guard let audience = self.phones[event.activity].audience else { return }
        let partition = self.home(ofStarter: starter)
        let tenure = SimulatedAudience.Tenure(
            partition: partition, worker: worker.number,
            assignment: worker.partitions[partition]?.assignment ?? 0)
        let content = self.eventNumber(in: text)
        for (stamp, version) in audience.versions where version.first[tenure] != nil {
            guard let number = version.event, let made = self.written[self.order[number]] else { continue }
            if made.kind == .end, made.expiresSeconds == nil {
                self.fail("starter \(starter): started after version \(stamp), which ends audience \(event.activity)")
            }
            guard made.kind == .update, made.expiresSeconds == nil, made.body.utf8.count < 1_500, let content,
                content < number, self.written[self.order[content]]!.timestampSeconds < made.timestampSeconds
            else { continue }
            self.fail("starter \(starter): started with event \(content) after version \(stamp) of event \(number)")
        }
    }

    private func checkIsStarter(_ starter: Int, audience: Int, worker: SimulatedWorker) {
        let movements = self.starters[starter].movements
        let committed = movements.lastIndex { $0.committedMillis != nil }
        var floor = [committed, self.starters[starter].lastRead[worker.number]].compactMap { $0 }.max() ?? 0
        if self.home(ofStarter: starter) != self.writtenPartition(ofStarter: starter) {
            // A worker that died may have forwarded a copy of an older movement, which is stored in the phone's
            // partition much later.
            floor = min(floor, self.starters[starter].newestRead ?? floor)
        }
        let isIn = (floor..<movements.count).contains {
            self.joined(starter, audience: audience, upTo: $0 + 1) != nil
        }
        if !isIn { self.fail("starter \(starter): started for audience \(audience), in which it is not") }
    }

    private func checkStartsPerHour(_ flight: Flight, starter: Int) {
        let hourMillis: Int64 = 3_600_000
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis
        self.starters[starter].spent = self.starters[starter].spent.filter {
            $0.value.atMillis + hourMillis >= self.steadyMillis
        }
        guard let start = flight.start else { return }
        // A start that is sent twice counts once.
        let spent = self.starters[starter].spent.count {
            $0.key != start
                && $0.value.atMillis + hourMillis - (self.aheadMillis - $0.value.aheadMillis) - slack
                    > self.steadyMillis
        }
        let limit = self.plan.audiences.startsPerHour
        if spent + 1 > limit { self.fail("starter \(starter): start \(spent + 1) of \(limit) within an hour") }
        self.starters[starter].spent[start] = SimulatedMember.Ten(
            worker: flight.worker, id: flight.id, atMillis: self.steadyMillis, aheadMillis: self.aheadMillis)
    }

    // MARK: Answers

    func arriveAtStarter(_ index: Int, starter: Int) {
        let flight = self.flights[index]
        guard !self.starters[starter].isDead else {
            if case .accepted = flight.result {
                self.flights[index].result = .response(
                    PushResponse(status: 410, reason: "Unregistered", timestampMillis: self.wallMillis))
            }
            return
        }
        self.log("a start of worker \(flight.worker) reaches starter \(starter)")
        guard let start = flight.start else { return }
        self.starters[starter].cards[start, default: 0] += 1
        if self.plan.app.startOnUnknown == .drop, self.starters[starter].cards[start]! > 1 {
            self.fail("starter \(starter): \(self.starters[starter].cards[start]!) cards of event \(start)")
        }
        var device = Device()
        do {
            let reaction = try device.push(body: flight.body, priority: flight.priority, nowMillis: self.wallMillis)
            if reaction != .shown { self.fail("starter \(starter): its start is \(reaction)") }
        } catch {
            self.fail("starter \(starter) cannot decode \(String(decoding: flight.body, as: UTF8.self)): \(error)")
        }
        self.getUpdateToken(
            starter, audience: flight.activity,
            channel: self.judgeStartInput(flight.body, starter: starter, audience: flight.activity))
    }

    /// Remembers that the worker has the answer to a start.
    func settleStarter(_ flight: Flight, result: PushAnswer.Result) {
        switch result {
        case .accepted: self.remember(.accepted, of: flight)
        case .response, .notProcessed: self.remember(.refused, of: flight)
        case .unknown, .channel: self.remember(.unknown, of: flight)
        }
    }
    private func remember(_ end: SimulatedStarter.Push.End, of flight: Flight) {
        guard let starter = flight.starter, let start = flight.start,
            let index = self.starters[starter].pushes[start]?
                .lastIndex(where: { $0.worker == flight.worker && $0.id == flight.id })
        else { return }
        self.starters[starter].pushes[start]?[index].end = end
        guard end == .refused else { return }
        if self.starters[starter].spent[start]?.id == flight.id { self.starters[starter].spent[start] = nil }
    }
}
