import ChannelKeeping
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// What workers write about channels that are kept, as whoever reads Kafka sees it.
extension SimulationWorld {
    private static let keptKey = Array("k/".utf8)
    private static let markerKey = Array("m".utf8)

    /// The partition whose owner keeps the channels of a home.
    func keeperPartition(_ home: KeptHome) -> Int32 {
        KeptChannelKey.keeperPartition(
            bundleID: self.plan.apps[Int(home.app)].bundleID,
            environment: home.isDevelopment ? .development : .production, partitionCount: self.plan.partitions)
    }

    /// A record has come to lie in `state`. What an owner wrote that was the owner no more, behind the next one's marker, says nothing.
    func noteKeptRecord(_ transit: SimulatedKafka.Transit, offset: Int64) {
        guard self.plan.kept.isOn else { return }
        let (record, partition) = (transit.record, transit.place.partition)
        let isKept = record.key.starts(with: Self.keptKey)
        guard isKept || record.key == Self.markerKey else { return }
        let description = StateRecordReader(inputTopics: Self.topics).read(
            key: record.key, value: record.isTombstone ? nil : record.value,
            tombstoneEpoch: record.header(.epoch).flatMap { Int64($0) }, nowMillis: self.wallMillis)
        let newest = self.keptEpochs[partition] ?? .min
        switch description.content {
        case .marker(let marker): self.keptEpochs[partition] = max(newest, marker.epoch ?? offset)
        case .keptChannel(let kept):
            guard kept.epoch >= newest, let place = self.keptPlace(record.key, partition: partition) else { return }
            self.keptEpochs[partition] = kept.epoch
            self.keptRecords[place.home, default: [:]][place.number] = kept
            guard let id = kept.id, kept.phase != "possiblyOurs" else { return }
            self.durableChannels.insert(id)
            if self.apple[id]?.maker ?? .other == .other { self.fail("\(id) is kept as ours, and is another's") }
        case .tombstone(let epoch):
            guard isKept, epoch ?? newest >= newest, let place = self.keptPlace(record.key, partition: partition) else {
                return
            }
            self.keptRecords[place.home]?[place.number] = nil
        case .slot, .member, .crowd, .pause, .unknownVersion, .malformed:
            self.fail("\(String(decoding: record.key, as: UTF8.self)) says \(description.content)")
        }
    }

    private func keptPlace(_ key: [UInt8], partition: Int32) -> (home: KeptHome, number: Int64)? {
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

    /// A record of outcomes about a channel that is kept.
    func noteKeptOutcome(_ record: LoggedRecord) {
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
        // An owner that is none any more may say so late.
        guard self.durableChannels.contains(id) else { return self.fail("\(id) is told before state has it") }
        guard self.keptRecord(id)?.phase == "open" else { return }
        guard !self.openedChannels.contains(where: { $0.id == id }) else { return }
        self.openedChannels.append(
            OpenedChannel(id: id, audience: audience, isDevelopment: channel.home.isDevelopment))
        self.keptSleepers[id] = KeptSleeper(audience: audience, sinceMillis: self.steadyMillis)
    }

    /// It tells of a channel that is kept, or asks for one.
    func isOfKeptChannel(_ kept: KeptRecord) -> Bool {
        guard self.plan.kept.isOn else { return false }
        let key = kept.key ?? []
        switch kept.topic {
        case .state: return key.starts(with: Self.keptKey)
        case .outcomes: return key.starts(with: Array("channel/".utf8))
        case .routed:
            return kept.headers.contains { String(decoding: $0.value, as: UTF8.self).hasPrefix("channel-") }
        case .deadLetters: return false
        }
    }

    // MARK: Bounds

    /// Records about kept channels that one step adds: each channel's, and what owners and keepers tell each other.
    var keptRecordsAtOnceMax: Int {
        guard self.plan.kept.isOn else { return 0 }
        return 4 * self.apple.channels.count { $0.maker != .other }
            + 8 * self.keptHomes.count * (1 + self.audienceNumbers.count)
    }
    /// Requests of a worker about them at once: of each home a list or a creation, a deletion and 16 beacons; of each audience a broadcast.
    var keptRequestsAtOnceMax: Int {
        guard self.plan.kept.isOn else { return 0 }
        return self.keptHomes.count * 18 + self.audienceNumbers.count * 2
    }
}
