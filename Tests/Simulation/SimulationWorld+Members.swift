import APNSProtocol
import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Pushes to members of audiences: the checks when a push leaves, and its arrival at the phone.
extension SimulationWorld {
    /// The content of a push, and the audience to which it belongs.
    struct MemberBody {
        var bytes: [UInt8]
        var content: PushContent
        /// The life of the audience whose events are in the body.
        var audience: Int
        /// The event that made the version, as an index into `order`. `nil`: it is not known.
        var event: Int?
        /// The event whose content is in the version, as an index into `order`.
        var contentEvent: Int?
        /// The event whose alert is in the body, as an index into `order`.
        var alertEvent: Int?
        /// The body without its alert.
        var silent: [UInt8]
        var alertByteCount: Int { self.bytes.count - self.silent.count }
    }

    func departToMember(_ request: PushRequest, route: UInt16, member: Int, from worker: SimulatedWorker) {
        guard let body = self.readMemberBody(request.body) else {
            return self.fail(
                "member \(member): no audience has \(String(decoding: request.body.prefix(200), as: UTF8.self))")
        }
        let partition = self.home(ofMember: member)
        self.log(
            "worker \(worker.number) pushes member \(member) of partition \(partition) \(request.priority) \(String(decoding: request.body, as: UTF8.self))"
        )
        if request.body.count > 4_096 { self.fail("a payload of \(request.body.count) bytes") }
        let environment: UInt16 = self.members[member].isDevelopment ? 1 : 0
        if route != environment { self.fail("member \(member): pushed by route \(route)") }
        if request.app != self.phones[body.audience].audience?.app {
            self.fail("member \(member): pushed for app \(request.app)")
        }
        if self.group.owner(of: partition) != worker.number {
            self.fail(
                "worker \(worker.number) pushes member \(member) of partition \(partition), which is not its own")
        }
        if self.flights.contains(where: {
            $0.member == member && $0.worker == worker.number && $0.result != nil && $0.partitionLives
        }) {
            self.fail("two pushes to member \(member) in flight")
        }
        let stays = self.possibleStays(of: member, audience: body.audience, worker: worker)
        if stays.isEmpty {
            self.fail("member \(member): pushed for audience \(body.audience), in which it is not")
        } else if stays.allSatisfy({ self.hasPassed($0, of: member, before: body.audience) }) {
            self.fail("member \(member): pushed for audience \(body.audience), and was in its life before")
        }
        var flight = Flight(
            number: self.flightCount, worker: worker.number, id: request.id, activity: body.audience,
            token: self.members[member].token, isStart: false, body: request.body,
            priority: Int(request.priority.rawValue),
            arrivesMillis: self.steadyMillis + Int64.random(in: 1...80, using: &self.random), answersMillis: 0,
            result: .accepted, isApplied: false)
        flight.expirationSeconds = request.expirationSeconds
        flight.partition = partition
        flight.member = member
        flight.stampSeconds = body.content.stampSeconds
        flight.alert = body.alertEvent
        let tenure = SimulatedAudience.Tenure(
            partition: partition, worker: worker.number,
            assignment: worker.partitions[partition]?.assignment ?? 0)
        self.checkPaused(body.audience, partition: partition, worker: worker, whose: "member \(member)")
        self.checkMemberDistance(member, worker: worker)
        self.checkTens(flight, member: member, body: body, stays: stays)
        self.checkVersion(body, in: tenure)
        self.checkExpiry(body, worker: worker)
        self.checkMemberAlert(flight, body: body, stays: stays, in: tenure)
        self.checkRound(flight, body: body, member: member, in: tenure)
        self.rememberMemberDeparture(flight, body: body, in: tenure)
        self.perhapsReleaseVoids(body.audience)
        self.flightCount += 1
        flight.answersMillis = flight.arrivesMillis + Int64.random(in: 1...80, using: &self.random)
        if self.chance(self.plan.slowAnswerPercent) {
            flight.answersMillis += Int64.random(in: 100...8_000, using: &self.random)
        }
        self.decide(&flight)
        self.decideForMember(&flight)
        self.perhapsLoseAnswer(&flight)
        self.rememberMemberReached(flight)
        self.flights.append(flight)
        // No worker dies here after the first 60 workers of the world. After many more takeovers a push may have a
        // stamp that is too old (README, "Limits").
        if self.faultsAreOn, self.workerCount < 60,
            Int.random(in: 0..<100, using: &self.audienceRandom) < self.plan.audiences.strikePercent
        {
            self.log("worker \(worker.number) is to die within a pass")
            worker.fuse = Int.random(in: 1...12, using: &self.audienceRandom)
        }
    }

    // MARK: What a body says

    func readMemberBody(_ bytes: [UInt8]) -> MemberBody? {
        let content: PushContent
        do { content = try PayloadReader.read(bytes.span) } catch { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        let contentEvent = self.eventNumber(in: text)
        let alertEvent = self.alertNumber(in: text)
        let ending = content.dismissalDateSeconds.map { $0 - Self.dismissalBeginsSeconds }
            .flatMap { self.order.indices.contains(Int($0)) ? Int($0) : nil }
        let audiences = Set([contentEvent, alertEvent, ending].compactMap { $0 }.map { self.audience(ofEvent: $0) })
        guard audiences.count == 1, let audience = audiences.first, self.isAudience(audience) else { return nil }
        var silent = bytes
        if !content.alert.isEmpty {
            silent.removeSubrange(content.alert.lowerBound - ",\"alert\":".utf8.count..<content.alert.upperBound)
        }
        return MemberBody(
            bytes: bytes, content: content, audience: audience, event: ending ?? contentEvent,
            contentEvent: contentEvent, alertEvent: alertEvent,
            silent: silent)
    }

    private func audience(ofEvent number: Int) -> Int { self.written[self.order[number]]!.activity }

    // MARK: Who is in which audience

    /// Remembers that the worker reads a join or a leave.
    func rememberMovement(_ event: WrittenEvent, worker: SimulatedWorker) {
        guard let member = event.member else { return }
        self.members[member].lastRead[worker.number] = event.movement
        self.members[member].newestRead = event.movement
    }

    func forgetMovements(_ partition: Int32, worker: SimulatedWorker) {
        for member in self.members.indices where self.home(ofMember: member) == partition {
            self.members[member].lastRead[worker.number] = nil
        }
    }

    /// Remembers that the offset of a join or a leave was committed. From then on, every owner of the partition knows
    /// the movement.
    func rememberCommit(_ event: WrittenEvent) {
        guard let member = event.member else { return }
        if self.members[member].movements[event.movement].committedMillis == nil {
            self.members[member].movements[event.movement].committedMillis = self.steadyMillis
        }
    }

    /// The member's stays in an audience that the partition's owner may know of. Each is given by the index of the
    /// movement that began it. The owner knows movements that it has read or that were committed. It may know later
    /// ones from `state`, if an earlier owner read them.
    private func possibleStays(of member: Int, audience: Int, worker: SimulatedWorker) -> [Int] {
        let movements = self.members[member].movements
        let committed = movements.lastIndex { $0.committedMillis != nil }
        var floor = [committed, self.members[member].lastRead[worker.number]].compactMap { $0 }.max() ?? 0
        if self.home(ofMember: member) != self.writtenPartition(ofMember: member) {
            // A worker that died may have forwarded a copy of an older movement. The member's partition may store that
            // copy much later.
            floor = min(floor, self.members[member].newestRead ?? floor)
        }
        return (floor..<movements.count).filter {
            movements[$0].audience != nil && self.isOneAudience(movements[$0].audience, audience)
        }.compactMap { index in movements[...index].lastIndex { $0.isArrival } }
    }

    /// Whether the stay was in an earlier life of the audience, and ended with it.
    private func hasPassed(_ stay: Int, of member: Int, before audience: Int) -> Bool {
        let movement = self.members[member].movements[stay]
        guard let earlier = movement.audience, earlier < audience, let end = self.end(of: earlier) else {
            return false
        }
        let remembered = end.millis + self.plan.app.retentionAfterEndMillis
        // If the owner dies before the join is committed, the next owner reads the join again, perhaps in the
        // audience's next life.
        guard let committedMillis = movement.committedMillis else { return false }
        return max(committedMillis, movement.writtenMillis + Self.delayMillisMax) < remembered
    }

    // MARK: Distance and budget

    private func checkMemberDistance(_ member: Int, worker: SimulatedWorker) {
        let distance = self.plan.app.minimumDistanceMillis
        let departures = self.members[member].departures
        // A member that leaves is forgotten, and may return at once.
        let hasLeft = self.members[member].movements.contains {
            $0.audience == nil && $0.writtenMillis + Self.delayMillisMax > self.steadyMillis
        }
        guard !hasLeft else { return }
        if let last = departures[worker.number], self.steadyMillis - last < distance {
            self.fail("member \(member): \(self.steadyMillis - last) ms after the last push")
        }
        // Between two machines the distance is measured with wall clocks, so it may be shorter by their difference.
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis + self.aheadMillis
        if let last = departures.values.max(), self.steadyMillis - last < distance - slack {
            self.fail("member \(member): \(self.steadyMillis - last) ms after the last push of any worker")
        }
    }

    /// Remembers the time of a push that may reach the phone. A push that APNs refuses does not reach it.
    private func rememberMemberReached(_ flight: Flight) {
        guard let member = flight.member, flight.result != .notProcessed else { return }
        if case .response = flight.result { return }
        self.members[member].departures[flight.worker] = self.steadyMillis
    }

    /// Judges that a phone gets no more pushes of priority 10 within any hour than its limit. A member that joined
    /// after the version usually gets it at low priority: see `wasLeftUnserved`. A member that came from another
    /// audience usually gets no push of priority 10 for an hour: see `hadTens`.
    private func checkTens(_ flight: Flight, member: Int, body: MemberBody, stays: [Int]) {
        guard flight.priority == 10, let audience = self.phones[body.audience].audience else { return }
        let hourMillis: Int64 = 3_600_000
        let slack = 2 * self.plan.clockSkewMillisMax + self.differenceMillis
        let movements = self.members[member].movements
        let limit =
            movements.contains { $0.isFrequent } ? self.plan.audiences.frequentPerHour : self.plan.audiences.perHour
        self.members[member].tens.removeAll { $0.atMillis + hourMillis < self.steadyMillis }
        let spent = self.members[member].tens.count {
            $0.atMillis + hourMillis - (self.aheadMillis - $0.aheadMillis) - slack > self.steadyMillis
        }
        if spent + 1 > limit { self.fail("member \(member): push \(spent + 1) of \(limit) at high priority") }
        self.members[member].tens.append(
            SimulatedMember.Ten(
                worker: flight.worker, id: flight.id, atMillis: self.steadyMillis, aheadMillis: self.aheadMillis))
        let first = audience.versions[flight.stampSeconds]?.first
            .filter { $0.key.partition == flight.partition }.map(\.value).min()
        // `stays.min()` is the earliest stay that the owner may know of. An owner that has read fewer records may treat
        // the member as one that joined before the version.
        if let stay = stays.min() {
            if let first, movements[stay].writtenMillis > first,
                !self.wasLeftUnserved(stay, of: member, by: body, flight)
            {
                self.fail("member \(member): came after version \(flight.stampSeconds), and gets it at high priority")
            }
            if stay > 0, let former = movements[stay - 1].audience, !self.isOneAudience(former, body.audience) {
                // A forgotten audience sends nothing more. Its pushes from more than an hour ago do not count for
                // members that move to another audience.
                let end = self.end(of: former)?.millis
                let over = end.map { $0 + self.plan.app.retentionAfterEndMillis } ?? .max
                let left = min(movements[stay].writtenMillis, over)
                let since = self.steadyMillis - left
                if since < hourMillis - slack - self.aheadMillis,
                    end.map({ $0 + hourMillis > movements[stay].writtenMillis }) ?? true,
                    end == nil
                        || self.hadTens(
                            former, in: flight.partition,
                            sinceMillis: self.steadyMillis - (hourMillis - slack - self.aheadMillis))
                {
                    self.fail("member \(member): at high priority \(since) ms after it came from another audience")
                }
            }
        }
        self.phones[body.audience].audience?.lastHighMillis[flight.partition] = self.steadyMillis
    }
    /// Whether some member of the audience in the partition was sent a push of priority 10 after the given time.
    /// Earlier lives of the audience count too. The partition's owner remembers only when the last such push left to
    /// any member.
    private func hadTens(_ audience: Int, in partition: Int32, sinceMillis: Int64) -> Bool {
        self.phones.indices.contains {
            guard $0 <= audience, let life = self.phones[$0].audience, self.isOneAudience($0, audience) else {
                return false
            }
            return life.lastHighMillis[partition] ?? .min > sinceMillis
        }
    }

    /// Whether the member gets this version only because a newer one expired before the member got it. The member
    /// joined in time to get the newer version at priority 10, so it may get this version at priority 10 instead.
    private func wasLeftUnserved(_ stay: Int, of member: Int, by body: MemberBody, _ flight: Flight) -> Bool {
        guard let versions = self.phones[body.audience].audience?.versions else { return false }
        return versions.contains { stamp, version in
            guard stamp > flight.stampSeconds, let event = version.event,
                let expires = self.written[self.order[event]]!.expiresSeconds,
                expires <= self.wallSeconds + self.clockSlackSeconds
            else { return false }
            let first = version.first.filter { $0.key.partition == flight.partition }.map(\.value).min()
            return first.map { $0 >= self.members[member].movements[stay].writtenMillis } ?? false
        }
    }

    /// Remembers that the worker has the answer to a push to a member.
    func settleMember(_ flight: Flight, result: PushAnswer.Result) {
        guard let member = flight.member else { return }
        switch result {
        case .accepted:
            self.rememberAccepted(flight)
            self.tallyAccepted(flight)
            self.rememberStampHeard(flight, member: member)
            guard let alert = flight.alert,
                let pushes = self.members[member].cards[flight.activity]?.alerts[alert],
                let last = pushes.last, last.id == flight.id, last.worker == flight.worker
            else { return }
            self.members[member].cards[flight.activity]?.alerts[alert]?[pushes.count - 1].isAccepted = true
        case .response, .notProcessed: self.takeBack(flight, member: member)
        case .unknown: self.rememberUnknownAlert(flight, member: member)
        case .channel: break
        }
    }

    /// Settles a push whose answer no worker will get.
    func settleMemberOfTheDead(_ flight: Flight) {
        guard let member = flight.member else { return }
        switch flight.result {
        case .response, .notProcessed: self.takeBack(flight, member: member)
        case .accepted where flight.isApplied && !flight.hasArrived: self.takeBack(flight, member: member)
        default: break
        }
    }

    /// Forgets a push that has not reached the phone.
    private func takeBack(_ flight: Flight, member: Int) {
        self.members[member].tens.removeAll { $0.worker == flight.worker && $0.id == flight.id }
        guard let alert = flight.alert else { return }
        // An earlier push with this alert may have arrived, so that push is kept.
        self.members[member].cards[flight.activity]?.alerts[alert]?.removeAll {
            $0.worker == flight.worker && $0.id == flight.id
        }
    }

    // MARK: What APNs and the phone make of it

    private func decideForMember(_ flight: inout Flight) {
        guard case .response(let response) = flight.result, response.status == 429,
            Bool.random(using: &self.audienceRandom)
        else { return }
        flight.result = .response(
            PushResponse(
                status: 429, reason: response.reason,
                retryAfterSeconds: Int64.random(in: 1...40, using: &self.audienceRandom)))
    }

    func arriveAtMember(_ index: Int, member: Int) {
        let flight = self.flights[index]
        guard !self.members[member].isDead else {
            guard case .accepted = flight.result else { return }
            self.members[member].isRefused = true
            // `BadDeviceToken` is rare, because a wrong configuration of the sender can cause it too.
            self.flights[index].result = .response(
                Int.random(in: 0..<12, using: &self.audienceRandom) == 0
                    ? PushResponse(status: 400, reason: "BadDeviceToken")
                    : PushResponse(status: 410, reason: "Unregistered", timestampMillis: self.wallMillis))
            return
        }
        guard let body = self.readMemberBody(flight.body) else { return }
        self.log("a push of worker \(flight.worker) reaches member \(member)")
        if case .accepted = flight.result, flight.partitionLives,
            self.group.owner(of: flight.partition) == flight.worker
        {
            self.checkMemberStamp(flight, member: member)
        }
        for ten in self.members[member].tens.indices
        where self.members[member].tens[ten].worker == flight.worker && self.members[member].tens[ten].id == flight.id {
            self.members[member].tens[ten].atMillis = self.steadyMillis
        }
        var card = self.members[member].cards[body.audience] ?? MemberCard()
        do {
            let reaction = try card.device.push(
                body: flight.body, priority: flight.priority, nowMillis: self.wallMillis)
            try card.silent.push(body: body.silent, priority: flight.priority, nowMillis: self.wallMillis)
            if reaction == .ignoredSameStamp {
                self.fail("member \(member): other content under the same stamp")
            }
            let version = VersionName(audience: body.audience, stampSeconds: flight.stampSeconds)
            self.members[member].got[version, default: 0] += 1
            if reaction == .shown {
                for event in [body.event, body.contentEvent, body.alertEvent] {
                    if let event { self.shown.insert(self.order[event]) }
                }
                card.shown.formUnion([body.event, body.contentEvent].compactMap { $0 })
                if let alert = body.alertEvent { card.alertsShown.append(alert) }
            }
        } catch {
            self.fail("member \(member) cannot decode \(String(decoding: flight.body, as: UTF8.self)): \(error)")
        }
        self.members[member].cards[body.audience] = card
    }

    /// Judges that stamps grow, in pushes whose worker still owns the partition. There are two exceptions: a newer
    /// version expires before its worker knows whether it has arrived, or a takeover repeats an alert.
    private func checkMemberStamp(_ flight: Flight, member: Int) {
        let newest = self.members[member].cards[flight.activity]?.newestStamp ?? .min
        guard flight.stampSeconds < newest else {
            self.members[member].cards[flight.activity, default: MemberCard()].newestStamp = flight.stampSeconds
            self.members[member].cards[flight.activity]?.newestStampWorker = flight.worker
            self.members[member].cards[flight.activity]?.newestStampPush = flight.id
            self.members[member].cards[flight.activity]?.newestStampHeardAt = .max
            return
        }
        if !self.mayExpire(stamp: newest, audience: flight.activity), !self.isRepeated(flight, member: member) {
            self.fail("member \(member): stamp \(flight.stampSeconds) after \(newest)")
        }
    }
    /// Whether the push has an older stamp because a takeover repeats an alert. The former owner made its last progress
    /// record before it heard that the newest version had reached the member. So the next owner treats the push with
    /// the alert as unanswered, and sends the alert again. If the alert does not fit beside a later version, it goes in
    /// a push of its own, which has the older stamp.
    private func isRepeated(_ flight: Flight, member: Int) -> Bool {
        guard flight.alert != nil, let card = self.members[member].cards[flight.activity],
            card.newestStampWorker != flight.worker
        else { return false }
        let told = self.progressMadeAt[flight.partition]?[self.phones[flight.activity].key]?[card.newestStampWorker]
        return told ?? 0 <= card.newestStampHeardAt
    }

    private func rememberStampHeard(_ flight: Flight, member: Int) {
        guard let card = self.members[member].cards[flight.activity], card.newestStampWorker == flight.worker,
            card.newestStampPush == flight.id
        else { return }
        self.members[member].cards[flight.activity]?.newestStampHeardAt = self.evidence.rememberHeard()
    }

    private func mayExpire(stamp: Int64, audience: Int) -> Bool {
        guard let event = self.phones[audience].audience?.versions[stamp]?.event else { return false }
        return self.written[self.order[event]]!.expiresSeconds != nil
    }
}
