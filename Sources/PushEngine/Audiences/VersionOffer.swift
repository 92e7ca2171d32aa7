import PushModel

/// What waits at an audience's slot and is to become a version, with the stamps that it gets.
struct VersionOffer {
    var top: Layer
    var stampSeconds: Int64
    /// Older content beneath it, the oldest first, each with a stamp of its own.
    var under: [(stampSeconds: Int64, layer: Layer)] = []
    var mergedCount: UInt32 = 1
    var withdrawsAlert = false
    /// Some of it is to leave with priority 10.
    var isHigh = false

    var isEnd: Bool { self.top.isEnd }
}

extension ShardMemory {
    /// The update becomes a version next: its stamps are taken.
    mutating func takeOffer(_ update: UpdateID, of slot: SlotID) -> VersionOffer {
        let under = self.updates[update].under.map { layer in
            (self.nextVersionStamp(slot, floorSeconds: layer.stampFloorSeconds), layer)
        }
        let top = self.updates[update].top
        return VersionOffer(
            top: top, stampSeconds: self.nextVersionStamp(slot, floorSeconds: top.stampFloorSeconds), under: under,
            mergedCount: self.updates[update].mergedCount, withdrawsAlert: self.updates[update].withdrawsAlert,
            isHigh: self.updates[update].priority == .high)
    }
}

/// What a broadcast brings that leaves for those who listen on a channel.
struct OutgoingBroadcast {
    var version: Version
    /// Whose alert goes along; `nil`: none.
    var alert: Version?
    /// The channel's id.
    var channel: [UInt8]
    var isHigh: Bool
}

extension Version {
    init(life: Int64, stampSeconds: Int64, layer: Layer) {
        self.life = life
        self.stampSeconds = stampSeconds
        self.layer = layer
    }

    /// An `end` without content: members that have not got the version before are to show that when they end.
    mutating func bringAlong(contentOf former: Version) {
        guard self.layer.isEnd, self.layer.content.contentState.isEmpty, former.life == self.life else { return }
        var content = former.layer
        content.alert = ByteRange()
        let own = self.layer
        self.layer.inherit(from: content)
        let isTooLarge =
            self.layer.payloadByteCount(start: nil) > PayloadWriter.payloadByteCountMax
        if isTooLarge { self.layer = own }
    }
    /// As a partition gets it that has just asked: its members joined after it, so its alert and its priority are not for them.
    /// - Parameter keepsAlert: the version itself may come to that partition only after this.
    func answer(keepsAlert: Bool) -> Version {
        var version = self
        version.isHigh = false
        version.isFrequentHigh = false
        if !keepsAlert { version.layer.alert = ByteRange() }
        return version
    }
    /// Everybody gets it by token.
    mutating func leaveNothingToChannels() {
        for index in self.channels.indices { self.channels[index].serves = false }
    }
    /// Whether content and that alert go into one broadcast.
    func fitsOnChannel(alertOf other: Version) -> Bool {
        PayloadWriter.byteCount(
            kind: self.kind, stampSeconds: max(self.stampSeconds, EventRules.sizedStampSecondsMin),
            content: self.layer.content, source: self.layer.blob.span,
            alert: other.layer.blob.span.extracting(other.layer.alert.range))
            <= PayloadWriter.payloadByteCountMax(for: .channel)
    }
}
