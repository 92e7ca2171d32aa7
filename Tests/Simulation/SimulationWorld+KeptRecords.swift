import ChannelKeeping
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Records that workers write about kept channels, read as any consumer of Kafka reads them.
extension SimulationWorld {
    private static let keptKey = Array("k/".utf8)
    private static let markerKey = Array("m".utf8)

    /// The partition whose owner is the keeper of a home.
    func keeperPartition(_ home: KeptHome) -> Int32 {
        KeptChannelKey.keeperPartition(
            bundleID: self.plan.apps[Int(home.app)].bundleID,
            environment: home.isDevelopment ? .development : .production, partitionCount: self.plan.partitions)
    }

    /// Remembers that a record was stored in `state`. Records of former owners behind the present owner's first marker
    /// do not count, because the present owner overwrites them.
    func rememberKeptRecord(_ transit: SimulatedKafka.Transit, offset: Int64) {
        let (record, partition) = (transit.record, transit.logID.partition)
        guard self.plan.kept.isOn, self.keptHomes.contains(where: { self.keeperPartition($0) == partition }) else {
            return
        }
        let isKept = record.key.starts(with: Self.keptKey)
        guard isKept || record.key == Self.markerKey else { return }
        let description = self.describe(record)
        if case .marker(let marker) = description.content {
            // The present owner writes its first marker before it restores. A marker of a former owner, or of a Kafka
            // client that has ended, is ignored.
            guard marker.epoch == nil, !transit.isOfEndedClient,
                self.group.owner(of: partition) == transit.producer
            else { return }
            self.restoreKeptRecords(of: partition, before: offset)
            self.keptEpochs[partition] = offset
            return
        }
        guard let epoch = Self.epoch(of: description) ?? self.keptEpochs[partition],
            epoch >= self.keptEpochs[partition] ?? .min
        else { return }
        guard let home = self.remember(description, key: record.key, partition: partition) else { return }
        self.rememberDurable(home)
    }

    /// Forgets the partition's records of kept channels, and reads them again as an owner that takes over does.
    private func restoreKeptRecords(of partition: Int32, before marker: Int64) {
        for home in self.keptHomes where self.keeperPartition(home) == partition { self.keptRecords[home] = nil }
        let logID = SimulatedKafka.LogID(topic: .state, partition: partition)
        var newest = Int64.min
        for offset in 0..<marker {
            guard let record = self.kafka.record(logID, offset), !record.isGone else { continue }
            let description = self.describe(record)
            // A first marker contains no epoch. It alone does not show that its owner has begun to work.
            let epoch = Self.epoch(of: description) ?? newest
            guard epoch >= newest else { continue }
            newest = epoch
            if record.key.starts(with: Self.keptKey) {
                _ = self.remember(description, key: record.key, partition: partition)
            }
        }
        // The ids are remembered only now, because a later record of the same key replaces an earlier one.
        for home in self.keptHomes where self.keeperPartition(home) == partition { self.rememberDurable(home) }
    }

    /// Remembers the ids of the home's channels that Mailboat has made, according to `state`.
    private func rememberDurable(_ home: KeptHome) {
        for kept in (self.keptRecords[home] ?? [:]).values where kept.phase != "possiblyOurs" {
            guard let id = kept.id, self.durableChannels.insert(id).inserted else { continue }
            if self.apple[id]?.maker ?? .other == .other { self.fail("\(id) is kept as ours, and is another's") }
        }
    }

    private func describe(_ record: LoggedRecord) -> StateRecordDescription {
        StateRecordReader(inputTopics: Self.topics).read(
            key: record.key, value: record.isTombstone ? nil : record.value,
            tombstoneEpoch: record.header(.epoch).flatMap { Int64($0) }, nowMillis: self.wallMillis)
    }

    /// Epoch of the owner that wrote the record. `nil`: the record does not contain it.
    private static func epoch(of description: StateRecordDescription) -> Int64? {
        switch description.content {
        case .slot(let slot): slot.epoch
        case .member(let member): member.epoch
        case .crowd(let crowd): crowd.epoch
        case .pause(let pause): pause.epoch
        case .keptChannel(let kept): kept.epoch
        case .marker(let marker): marker.epoch
        case .tombstone(let epoch): epoch
        case .unknownVersion, .malformed: nil
        }
    }

    private func remember(_ description: StateRecordDescription, key: [UInt8], partition: Int32) -> KeptHome? {
        guard let id = self.keptID(key, partition: partition) else { return nil }
        switch description.content {
        case .keptChannel(let kept): self.keptRecords[id.home, default: [:]][id.number] = kept
        case .tombstone: self.keptRecords[id.home]?[id.number] = nil
        case .slot, .member, .crowd, .pause, .marker, .unknownVersion, .malformed:
            self.fail("\(String(decoding: key, as: UTF8.self)) says \(description.content)")
        }
        return id.home
    }

    private func keptID(_ key: [UInt8], partition: Int32) -> (home: KeptHome, number: Int64)? {
        guard let key = try? KeptChannelKey(key),
            let app = self.plan.apps.firstIndex(where: { $0.bundleID == key.bundleID })
        else {
            self.fail("\(String(decoding: key, as: UTF8.self)) is no key of a kept channel")
            return nil
        }
        let home = KeptHome(app: UInt16(app), isDevelopment: key.environment == .development)
        if self.keeperPartition(home) != partition {
            self.fail("a kept channel's record lies in partition \(partition)")
        }
        return (home, key.number)
    }

    func keptRecord(_ id: String) -> StateRecordDescription.KeptChannel? {
        guard let home = self.apple[id]?.home else { return nil }
        return self.keptRecords[home]?.values.first { $0.id == id }
    }

    // MARK: Outcomes

    /// Judges an outcome record about a kept channel, and remembers whether the channel is open.
    func rememberKeptOutcome(_ record: LoggedRecord) {
        let key = String(decoding: record.key, as: UTF8.self)
        guard key.hasPrefix("channel/") else { return }
        guard let json = try? JSONSerialization.jsonObject(with: Data(record.value)),
            let fields = json as? [String: Any], let outcome = fields["outcome"] as? String,
            let name = fields["audience"] as? String, let bundleID = fields["app"] as? String
        else { return self.fail("\(key) cannot be read: \(String(decoding: record.value, as: UTF8.self))") }
        guard let id = fields["channel"] as? String else { return }
        if outcome == "channel-closed" { return self.openedChannels.removeAll { $0.id == id } }
        guard outcome == "channel-opened" else { return self.fail("\(key) is \(outcome)") }
        let audience = self.audienceNumbers.last {
            self.phones[$0].key == name
                && self.phones[$0].audience.map { self.plan.apps[Int($0.app)].bundleID } == bundleID
        }
        guard let audience else { return self.fail("\(key): there is no such audience") }
        guard let channel = self.apple[id], channel.maker != .other else {
            return self.fail("\(id) is told of, and is not ours")
        }
        guard self.durableChannels.contains(id) else { return self.fail("\(id) is told before state has it") }
        // A former owner's outcome may arrive late, when the channel is no longer open.
        guard self.keptRecord(id)?.phase == "open" else { return }
        guard !self.openedChannels.contains(where: { $0.id == id }) else { return }
        self.reportedChannels.append(id)
        self.openedChannels.append(
            OpenedChannel(id: id, audience: audience, isDevelopment: channel.home.isDevelopment))
        self.onlyListeners[id] = OnlyListener(audience: audience)
        self.keptSleepers[id] = KeptSleeper(audience: audience, sinceMillis: self.steadyMillis)
    }

    /// Whether the record is about a kept channel, or asks a keeper for one.
    func isOfKeptChannel(_ kept: KeptRecord) -> Bool {
        guard self.plan.kept.isOn else { return false }
        let key = kept.key ?? []
        switch kept.topic {
        case .state: return key.starts(with: Self.keptKey)
        case .outcomes: return key.starts(with: Array("channel/".utf8))
        case .routed:
            return kept.headers.contains {
                let kind = String(decoding: $0.value, as: UTF8.self)
                return kind.hasPrefix("channel-") || kind.hasPrefix("kept-")
            }
        case .deadLetters: return false
        }
    }

    // MARK: Bounds

    /// Number of uncommitted records in `routed` with which audiences ask for channels. Each keeps its own offset open,
    /// although all records of one audience wait for the same `state` record.
    var uncommittedWishCount: Int {
        guard self.plan.kept.isOn else { return 0 }
        return Set(self.keptHomes.map(self.keeperPartition)).reduce(0) { count, partition in
            let logID = SimulatedKafka.LogID(topic: .routed, partition: partition)
            let end = self.kafka.end(logID)
            return count
                + (min(self.kafka.committed[logID] ?? 0, end)..<end).count {
                    self.kafka.record(logID, $0)?.header(.kind) == "channel-wish"
                }
        }
    }

    /// Maximum number of records about kept channels that one step adds: records of each channel, and messages between
    /// owners and keepers.
    var keptRecordsAtOnceMax: Int {
        guard self.plan.kept.isOn else { return 0 }
        return 4 * self.apple.channels.count { $0.maker != .other }
            + 8 * self.keptHomes.count * (1 + self.audienceNumbers.count)
    }
    /// Maximum number of a worker's concurrent requests about kept channels. A home can have a list or a creation, a
    /// deletion, and 16 repeated ends. An audience can have a broadcast in each environment.
    var keptRequestsAtOnceMax: Int {
        guard self.plan.kept.isOn else { return 0 }
        return self.keptHomes.count * 18 + self.audienceNumbers.count * 2
    }
}
