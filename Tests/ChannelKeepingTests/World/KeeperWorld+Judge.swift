import APNSProtocol
import PushModel

@testable import ChannelKeeping

/// Judges each act of the keeper, and the state in the end, by what must always hold.
extension KeeperWorld {
    private func name(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    func record(id: [UInt8]) -> KeptChannel? {
        for bytes in self.state.values {
            if let channel = try? KeptChannelCodec.decode(bytes).channel, channel.id == id { return channel }
        }
        return nil
    }

    var records: [KeptChannel] { self.state.values.compactMap { try? KeptChannelCodec.decode($0).channel } }

    mutating func land(_ write: PendingWrite) {
        self.state[write.number] = write.bytes
        guard let bytes = write.bytes, let channel = try? KeptChannelCodec.decode(bytes).channel else { return }
        if channel.phase != .possiblyOurs, !channel.id.isEmpty { self.durableIDs.insert(channel.id) }
        guard channel.phase == .ended, let owner = channel.owner, let endedMillis = channel.endedMillis else { return }
        guard self.endedLives[owner] == nil else { return }
        self.endedLives[owner] = EndedLife(
            id: channel.id, endedMillis: endedMillis - self.wallOffset, expectsBeacons: channel.policy == .none,
            content: channel.end)
    }

    mutating func judgeWrite(_ channel: KeptChannel?) {
        guard let channel, channel.phase == .ended, let owner = channel.owner else { return }
        guard let audience = self.audiences.first(where: { $0.name == owner.audience }), channel.policy == .none else {
            return
        }
        let content = Array("end of ".utf8) + audience.name + Array("/\(owner.life)".utf8)
        if !channel.end.isEmpty, channel.end != content { self.fail("the end of another life is kept") }
    }

    // MARK: Creations

    mutating func watchQuota() {
        let isFull = self.apple.registeredCount >= self.plan.settings.quota.refusalCount
        if !isFull {
            self.fullSinceMillis = nil
        } else if self.fullSinceMillis == nil {
            self.fullSinceMillis = self.steadyMillis
        }
    }

    mutating func judgeCreation() {
        let settings = self.plan.settings
        let asked = self.records.count { $0.phase == .asked }
        if asked != 1 { self.fail("a creation leaves with \(asked) intents in state") }
        if !self.hasListSinceCreation { self.fail("a creation leaves without a list since the one before") }
        for creation in self.creations where self.steadyMillis - creation.handedMillis < settings.requestTimeoutMillis {
            self.fail("two creations at once: \(creation)")
        }
        self.creations.removeAll { self.steadyMillis - $0.handedMillis >= settings.requestTimeoutMillis }
        // The longest time until the list shows a channel and the intent is in `state`.
        let known = settings.listLagMillis + settings.requestTimeoutMillis + 10_000
        if let full = self.fullSinceMillis, self.steadyMillis - full > known {
            self.fail("a creation leaves although there are \(self.apple.registeredCount) channels")
        }
        if self.apple.registeredCount >= settings.quota.countMax, !self.plan.othersCome {
            self.fail("the quota is passed")
        }
    }

    // MARK: Deletions

    mutating func judgeDeletion(_ id: [UInt8]) {
        guard let channel = self.apple.channel(id) else { return self.fail("\(self.name(id)) never was") }
        if channel.maker == .other { self.fail("\(self.name(id)) is deleted, and is another's") }
        guard let record = self.record(id: id), record.phase == .deleting else {
            return self.fail("\(self.name(id)) is deleted without an intent in state")
        }
        guard let owner = record.owner else { return }
        let isAlive = self.audiences.contains { $0.owner == owner && $0.stage == .alive }
        if isAlive { self.fail("\(self.name(id)) is deleted while its audience lives") }
        guard let life = self.endedLives[owner], life.id == id, !self.hasClockStepped else { return }
        let linger = self.plan.settings.lingerMillis
        let lingered = self.steadyMillis - life.endedMillis
        if lingered < linger { self.fail("\(self.name(id)) lingered for \(lingered) ms only") }
        self.judgeBeacons(life, linger: linger)
    }

    private mutating func judgeBeacons(_ life: EndedLife, linger: Int64) {
        guard life.expectsBeacons, !life.content.isEmpty, self.apple.isRegistered(life.id) else { return }
        var offsets: [Int64] = [60_000, 300_000, 900_000, 1_800_000]
        offsets += stride(from: Int64(3_600_000), to: linger, by: 3_600_000)
        // The last beacon must always be sent. The others may be missing if no keeper ran for a time, or if only one
        // beacon may be in flight.
        let first = life.wasDisturbed || self.plan.settings.beaconsInFlightMax == 1 ? offsets.count - 1 : 0
        for index in first..<offsets.count {
            let until = index + 1 < offsets.count ? offsets[index + 1] : Int64.max
            let isSent = life.beaconMillis.contains {
                let after = $0 - life.endedMillis
                return after >= offsets[index] && after < until
            }
            // A beacon is tried every 30 s. Many failures in a row may delay it into the time of the next.
            let isExcused = until != .max && self.plan.hasFaults
            if !isSent, !isExcused {
                self.fail("\(self.name(life.id)) goes without the beacon of \(offsets[index]) ms: \(life.beaconMillis)")
            }
        }
        if life.beaconMillis.count > offsets.count + 2 * self.crashCount + 40 { self.fail("beacons do not end") }
    }

    mutating func judgeBeacon(_ id: [UInt8], _ end: [UInt8]) {
        guard let record = self.record(id: id), record.phase == .ended, let owner = record.owner else {
            return self.fail("a beacon on \(self.name(id)), which has not ended")
        }
        if end != record.end || end.isEmpty { self.fail("a beacon says something else than the end") }
        guard let life = self.endedLives[owner], !self.hasClockStepped else { return }
        if self.steadyMillis - life.endedMillis < 60_000 { self.fail("a beacon comes too soon") }
    }

    mutating func rememberBeacon(_ id: [UInt8]) {
        self.beaconCount += 1
        guard let owner = self.endedLives.first(where: { $0.value.id == id })?.key else { return }
        self.endedLives[owner]?.beaconMillis.append(self.steadyMillis)
    }

    // MARK: News

    mutating func judgeNews(_ owner: KeptOwner, _ news: KeeperNews) {
        guard case .opened(let id) = news else { return }
        guard let record = self.record(id: id), record.owner == owner, record.phase != .possiblyOurs else {
            return self.fail("\(self.name(id)) is told before state has it")
        }
        if self.apple.channel(id)?.maker == .other { self.fail("\(self.name(id)) is told, and is another's") }
        if let former = self.owners[id], former != owner { self.fail("\(self.name(id)) is told to two") }
        self.owners[id] = owner
        guard self.sentIDs[owner]?.contains(id) != true else { return }
        let stillThere = (self.sentIDs[owner] ?? []).filter { !self.vanishedByOthers.contains($0) }
        if !stillThere.isEmpty { self.fail("a life has two channels") }
        self.sentIDs[owner, default: []].append(id)
    }

    // MARK: The end

    mutating func judgeTheEnd() {
        let records = self.records
        let isFull = self.apple.registeredCount >= self.plan.settings.quota.refusalCount
        if let open = self.resolved.firstIndex(of: false) { self.fail("message \(open) is never resolved") }
        var wanted: Set<[UInt8]> = []
        for audience in self.audiences where audience.stage == .alive {
            guard let id = audience.channel, self.apple.isRegistered(id) else {
                if !isFull { self.fail("\(self.name(audience.name)) has no channel in the end") }
                continue
            }
            wanted.insert(id)
            let isKept = records.contains { $0.id == id && $0.owner == audience.owner && $0.phase == .open }
            if !isKept { self.fail("\(self.name(id)) is told and not kept") }
        }
        let warm = records.filter(\.isWarm).map(\.id)
        if warm.count > self.plan.settings.poolSize { self.fail("\(warm.count) warm channels") }
        let leaks = self.apple.registered.filter {
            $0.maker == .keeper && !wanted.contains($0.id) && !warm.contains($0.id) && !self.isForgottenSecond($0.id)
        }
        self.leakCount = leaks.count
        let shown = Set(records.filter { $0.phase == .possiblyOurs }.map(\.id))
        for leak in leaks {
            if self.plan.settings.isExclusive { self.fail("\(self.name(leak.id)) has leaked") }
            if self.durableIDs.contains(leak.id) { self.fail("\(self.name(leak.id)) was ours, and has leaked") }
            if !shown.contains(leak.id) { self.fail("\(self.name(leak.id)) has leaked, and is not shown") }
        }
        for record in records {
            switch record.phase {
            case .open, .possiblyOurs: break
            case .wanted where isFull: break
            case .wanted, .asked, .ended, .deleting, .deleted:
                self.fail("left over: \(record.phase) \(self.name(record.id))")
            }
        }
        for id in shown where !self.apple.isRegistered(id) { self.fail("\(self.name(id)) is shown, and is gone") }
        self.judgeOthers()
    }

    private mutating func judgeOthers() {
        guard !self.plan.othersCome else { return }
        let others = self.apple.registered.count { $0.maker == .other }
        if others != self.plan.othersAtFirst { self.fail("\(others) channels of others are left") }
    }
}
