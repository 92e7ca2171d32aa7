import APNSProtocol
import PushModel

/// A creation that may have been carried out twice, by Apple or by a proxy before it. No answer then has the id of the
/// second channel.
struct AnsweredCreation {
    /// Hashes of ids that do not count as new: those without a record in the list before the creation, and those
    /// found since.
    var before: Set<UInt64>
    /// The storage policy of the created channel.
    var policy: MessageStoragePolicy
    /// When the answer arrived, steady milliseconds.
    var answeredMillis: Int64
}

/// Finds second channels. A new channel in the list, beside the answered one, is shown as possibly ours, or adopted
/// with `isExclusive`. After a takeover the list from before the creation is not known, so a second channel is not
/// noticed.
extension ChannelKeeper {
    /// Remembers an answered creation. A list is requested `settleMillis` later, when it must show everything that the
    /// creation has made.
    mutating func watchForSecond(of number: Int64, now: EngineTime) {
        guard let channel = self.table[number]?.channel else { return }
        self.lastCreation = AnsweredCreation(
            before: Set(channel.strangers), policy: channel.policy, answeredMillis: now.steadyMillis)
        self.listWantedMillis = min(self.listWantedMillis, now.steadyMillis + self.settings.settleMillis)
    }

    /// Looks for a second channel in a list that was requested after the creation.
    mutating func lookForSecond(in unknown: [[UInt8]], askedMillis: Int64, now: EngineTime) {
        guard let creation = self.lastCreation, askedMillis >= creation.answeredMillis else { return }
        if askedMillis >= creation.answeredMillis + self.settings.settleMillis { self.lastCreation = nil }
        for id in self.new(in: unknown, since: creation.before) {
            self.lastCreation?.before.insert(KeptChannel.hash(ofID: id))
            self.keep(
                id, policy: creation.policy, alarm: .perhapsSecond(id: id, sinceMillis: now.wallMillis), now: now)
        }
    }

    /// Keeps an id that may be ours. The id is adopted if `KeeperSettings.isExclusive` is set and there is room for its
    /// record. Otherwise it is shown as possibly ours.
    mutating func keep(_ id: [UInt8], policy: MessageStoragePolicy, alarm: KeeperAlarm, now: EngineTime) {
        if self.settings.isExclusive, self.table.count < self.settings.keptMax {
            self.adopt(id, policy: policy, now: now)
        } else {
            self.show(id, policy: policy, alarm: alarm, now: now)
        }
    }

    /// Adopts an id, because nobody else creates channels here. The channel waits for an audience, or is deleted if the
    /// pool has no room.
    private mutating func adopt(_ id: [UInt8], policy: MessageStoragePolicy, now: EngineTime) {
        var channel = KeptChannel(owner: nil, policy: policy, phase: .open, sinceMillis: now.wallMillis)
        channel.id = id
        channel.openedMillis = now.wallMillis
        channel.isAnnounced = true
        let number = self.table.add(channel)
        self.table.change(number) { _ in }
        self.counters.adopted += 1
    }
}
