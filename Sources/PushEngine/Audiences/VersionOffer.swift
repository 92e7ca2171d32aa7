import PushModel

/// What waits in an audience's slot to become a version, with the stamps that it gets.
struct VersionOffer {
    var top: Layer
    var stampSeconds: Int64
    /// Older layers that are valid for longer than `top`, the oldest first, each with a stamp of its own.
    var under: [(stampSeconds: Int64, layer: Layer)] = []
    var mergedCount: UInt32 = 1
    var withdrawsAlert = false
    /// Whether some of the content should leave with priority 10.
    var isHigh = false

    var isEnd: Bool { self.top.isEnd }
}

extension ShardMemory {
    /// Makes the offer of an update that becomes the next version. The slot uses the offer's stamps for nothing else.
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

/// The content of a broadcast for phones that listen on a channel.
struct OutgoingBroadcast {
    var version: Version
    /// The version whose alert goes along; `nil`: none.
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

    /// Takes over the content of the former version for an `end` without content. Members that have not got the former
    /// version then show the former version's content at the end. If the push would be too large with this content, the
    /// `end` stays without content.
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
    /// The version as it is sent to a partition that has just asked. It gives the partition's members no right to
    /// priority 10.
    /// - Parameter keepsAlert: whether the partition's members are owed the alert. If not, it is removed.
    func answer(keepsAlert: Bool) -> Version {
        var version = self
        version.isHigh = false
        version.isFrequentHigh = false
        if !keepsAlert { version.layer.alert = ByteRange() }
        return version
    }
    /// Lets all members get the version by token.
    mutating func leaveNothingToChannels() {
        for index in self.channels.indices { self.channels[index].serves = false }
    }
    /// Whether this version's content fits into one broadcast together with the alert of `other`.
    func fitsOnChannel(alertOf other: Version) -> Bool {
        PayloadWriter.byteCount(
            kind: self.kind, stampSeconds: max(self.stampSeconds, EventRules.sizedStampSecondsMin),
            content: self.layer.content, source: self.layer.blob.span,
            alert: other.layer.blob.span.extracting(other.layer.alert.range))
            <= PayloadWriter.payloadByteCountMax(for: .channel)
    }
}
