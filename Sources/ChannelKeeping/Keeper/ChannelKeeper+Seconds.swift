import APNSProtocol
import PushModel

/// A creation that was carried out twice, by Apple or by a proxy before it: one of the two channels is in no answer.
struct AnsweredCreation {
    /// Hashes of the ids that the list before it had and that were not ours.
    var before: Set<UInt64>
    /// What its channel keeps.
    var policy: MessageStoragePolicy
    /// When the answer came, steady milliseconds.
    var answeredMillis: Int64
}

/// What is new in the list beside the channel that a creation was answered with is shown as possibly ours, or adopted with `isExclusive`. Nobody
/// remembers the list before over a takeover: a second channel is unknown then.
extension ChannelKeeper {
    /// A creation is answered. The list in which all that it has made must stand is asked for when the time has come.
    mutating func watchForSecond(of number: Int64, now: EngineTime) {
        guard let channel = self.table[number]?.channel else { return }
        self.lastCreation = AnsweredCreation(
            before: Set(channel.strangers), policy: channel.policy, answeredMillis: now.steadyMillis)
        self.listWantedMillis = min(self.listWantedMillis, now.steadyMillis + self.settings.settleMillis)
    }

    /// A list has come that was asked for after the creation.
    mutating func lookForSecond(in unknown: [[UInt8]], askedMillis: Int64, now: EngineTime) {
        guard let creation = self.lastCreation, askedMillis >= creation.answeredMillis else { return }
        if askedMillis >= creation.answeredMillis + self.settings.settleMillis { self.lastCreation = nil }
        for id in self.new(in: unknown, since: creation.before) {
            self.lastCreation?.before.insert(KeptChannel.hash(ofID: id))
            self.keep(
                id, policy: creation.policy, alarm: .perhapsSecond(id: id, sinceMillis: now.wallMillis), now: now)
        }
    }

    /// An id that may be ours: it surely is where nobody else creates.
    mutating func keep(_ id: [UInt8], policy: MessageStoragePolicy, alarm: KeeperAlarm, now: EngineTime) {
        if self.settings.isExclusive, self.table.count < self.settings.keptMax {
            self.adopt(id, policy: policy, now: now)
        } else {
            self.show(id, policy: policy, alarm: alarm, now: now)
        }
    }

    /// Nobody else creates here: it is ours, and waits for an audience, or is deleted where the pool has no room for it.
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
