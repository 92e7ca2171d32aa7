import APNSProtocol
import PushModel

/// The identity of a start. The stamp alone is not enough, because starts of different lives of an audience may have
/// the same stamp.
struct StartStamp: Hashable, Comparable {
    /// The audience's life; 0: no start, or the stamp was read from an older release's record, which has no life.
    var life: Int64 = 0
    /// Stamp of the version that first carried the start; 0: no start.
    var stampSeconds: Int64 = 0

    static func < (one: Self, other: Self) -> Bool {
        (one.life, one.stampSeconds) < (other.life, other.stampSeconds)
    }
    /// Whether this stamp means the other stamp's start. A stamp of life 0 means any start with its `stampSeconds`.
    func names(_ other: Self) -> Bool {
        self.stampSeconds == other.stampSeconds && (self.life == other.life || self.life == 0)
    }
    init(life: Int64 = 0, stampSeconds: Int64 = 0) {
        self.life = life
        self.stampSeconds = stampSeconds
    }
}

/// One `start` of an audience, as it goes to push-to-start tokens (fan-out contract: Starts of an audience).
///
/// Later versions of the life carry the start until it expires, a newer start replaces it, or the life ends. A
/// partition gets the start with any of these versions. Life and stamp distinguish the start from every other one.
struct StartOrder {
    /// The audience's life.
    var life: Int64 = 0
    /// Stamp of the version that first carried the start.
    var stampSeconds: Int64 = 0
    /// When the start expires, seconds since 1970. Members that have not been sent the start by then do not get one.
    var expiresSeconds: Int64 = 0
    /// Whether the event had priority 10.
    var isHigh = true
    /// The whole content: attributes, the start's own content-state and alert, and the event that the start comes from.
    var layer = Layer()

    var stamp: StartStamp { StartStamp(life: self.life, stampSeconds: self.stampSeconds) }
    func isSame(as other: borrowing StartOrder) -> Bool { self.stamp == other.stamp }
    func isExpired(nowSeconds: Int64) -> Bool { self.expiresSeconds <= nowSeconds }

    /// What only a start says, such as the attributes. A body combines this with the content of the start or of a
    /// version.
    private func part(isChannelCapable: Bool, channel: [UInt8]) -> StartPart {
        var content = self.layer.content
        var blob = self.layer.blob
        if isChannelCapable {
            // A channel that the event itself names, or a token that it asks for, has precedence.
            if !channel.isEmpty, content.inputPushChannel.isEmpty, !content.inputPushToken {
                let start = blob.count
                JSONBytes.appendString(channel.span, to: &blob)
                content.inputPushChannel = ByteRange(start: start, count: blob.count - start)
            }
            content.inputPushToken = content.inputPushChannel.isEmpty
        } else {
            // A phone that cannot listen does not start a card that names a channel. It gives a token without being
            // asked.
            content.inputPushChannel = ByteRange()
            content.inputPushToken = false
        }
        return StartPart(
            token: [], environment: .production, blob: blob, content: content,
            expiresSeconds: self.expiresSeconds)
    }

    /// Appends the body of a push that starts the card. The content is that of `newest`, if it has content that fits.
    /// The alert of `newest` replaces the start's own alert if it arrived later and fits, too.
    /// - Parameter channel: the audience's channel, for phones that can listen; empty: there is none.
    func appendBody(newest: Version?, isChannelCapable: Bool, channel: [UInt8] = [], to body: inout [UInt8]) {
        var part = self.part(isChannelCapable: isChannelCapable, channel: channel)
        if let newest, self.shows(newest) {
            let own = self.layer.blob.span.extracting(self.layer.alert.range)
            let stamp = newest.stampSeconds
            if self.givesWay(toAlertOf: newest) {
                let alert = newest.layer.blob.span.extracting(newest.layer.alert.range)
                if Self.append(newest.layer, part, alert: alert, stampSeconds: stamp, to: &body) { return }
            }
            if Self.append(newest.layer, part, alert: own, stampSeconds: stamp, to: &body) { return }
        }
        let own = self.layer.blob.span.extracting(self.layer.alert.range)
        if Self.append(self.layer, part, alert: own, stampSeconds: self.stampSeconds, to: &body) { return }
        // An added channel may not fit. Without the channel, the phone is asked for a token.
        part = self.part(isChannelCapable: isChannelCapable, channel: [])
        if Self.append(self.layer, part, alert: own, stampSeconds: self.stampSeconds, to: &body) { return }
        // Without an added `input-push-token`, the content fits: its size was checked when the event was accepted.
        part.content.inputPushToken = self.layer.content.inputPushToken && isChannelCapable
        _ = Self.append(self.layer, part, alert: own, stampSeconds: self.stampSeconds, isForced: true, to: &body)
    }
    /// Whether the card begins with the content of the newest version, if that content fits.
    func shows(_ newest: borrowing Version) -> Bool {
        newest.life == self.life && newest.stampSeconds >= self.stampSeconds
            && !newest.layer.content.contentState.isEmpty
    }
    /// Whether the version has an alert that arrived after this start. An earlier event's alert, which some update
    /// members have not had yet, does not count.
    private func givesWay(toAlertOf newest: borrowing Version) -> Bool {
        guard newest.hasAlert else { return false }
        let isOfEvent = !newest.layer.isStart && !newest.layer.alertIsInherited
        return isOfEvent || newest.layer.alertSeconds > self.layer.alertSeconds
    }
    /// Appends a body, if it fits.
    /// - Returns: whether it fits. If not, nothing was appended.
    private static func append(
        _ layer: borrowing Layer, _ part: StartPart, alert: Span<UInt8>, stampSeconds: Int64, isForced: Bool = false,
        to body: inout [UInt8]
    ) -> Bool {
        let (blob, content) = layer.combined(with: part)
        guard
            isForced
                || PayloadWriter.byteCount(
                    kind: .start, stampSeconds: max(stampSeconds, EventRules.sizedStampSecondsMin), content: content,
                    source: blob.span, alert: alert) <= PayloadWriter.payloadByteCountMax
        else { return false }
        PayloadWriter.append(
            kind: .start, stampSeconds: stampSeconds, content: content, source: blob.span, alert: alert, to: &body)
        return true
    }
}

extension Version {
    /// The start that goes round while this version is the newest.
    var start: StartOrder? { self.starts.first }

    /// Makes this version the first that carries the start.
    mutating func begin(_ start: StartOrder) {
        var order = start
        order.life = self.life
        order.stampSeconds = self.stampSeconds
        self.starts = [order]
    }
    /// Continues the start that an earlier version of the same life carried, unless that start has expired. A version
    /// that has a start of its own, or is the end, does not continue it.
    mutating func carry(startOf former: Version, nowSeconds: Int64) {
        guard self.starts.isEmpty, !self.isEnd, former.life == self.life, let order = former.start,
            !order.isExpired(nowSeconds: nowSeconds)
        else { return }
        self.starts = [order]
    }
}
