import APNSProtocol
import PushModel

/// What a push needs of its version besides the body. A small type, because taking a `Version` out of its array would
/// retain all that the version holds.
struct VersionFacts {
    var stampSeconds: Int64 = 0
    var recordMillis: Int64 = 0
    var expirationHeaderSeconds: Int64?
    var kind = EventKind.update

    init() {}
    @inline(__always) init(_ version: borrowing Version) {
        self.stampSeconds = version.stampSeconds
        self.recordMillis = version.layer.recordMillis
        self.expirationHeaderSeconds = version.layer.expirationHeaderSeconds
        self.kind = version.layer.isEnd ? .end : .update
    }
}

/// One state of an audience, as its owner has published it: what every member should see.
struct Version {
    /// The number of the audience's life that the version belongs to. Numbers of lives only grow.
    var life: Int64 = 0
    /// `aps.timestamp` of every push that brings the version. It grows from version to version of a life.
    var stampSeconds: Int64 = 0
    /// The content that members get, and the event that it comes from.
    var layer = Layer()
    /// Whether the ledger for members without `frequent-updates` has a unit for the version. If so, such a member's
    /// first push of the version has priority 10.
    var isHigh = false
    /// Whether the ledger for members with `frequent-updates` has a unit for the version.
    var isFrequentHigh = false
    /// Whether the version withdraws alerts of earlier versions that have not been sent.
    var withdrawsAlert = false
    /// The start that goes round: one element, or none.
    var starts: [StartOrder] = []
    /// The audience's channels at revision `channelRevision`.
    var channels: [VersionChannel] = []
    /// Revision of the list of channels; 0: the audience has had no channel. When the list has changed, the version is
    /// sent again with a higher revision.
    var channelRevision: UInt32 = 0

    /// Moves the version, and the start that it brings, to another life.
    mutating func enterLife(_ life: Int64) {
        self.life = life
        for index in self.starts.indices { self.starts[index].life = life }
    }
    var isEnd: Bool { self.layer.isEnd }
    var hasAlert: Bool { !self.layer.alert.isEmpty }
    var kind: EventKind { self.layer.isEnd ? .end : .update }
    /// Whether this version is newer than the one with that life and stamp.
    func isNewer(thanLife life: Int64, stampSeconds: Int64) -> Bool {
        (self.life, self.stampSeconds) > (life, stampSeconds)
    }
    @inline(__always) func isExpired(nowSeconds: Int64) -> Bool { self.layer.expiresSeconds <= nowSeconds }

    /// Selects the older versions that a partition keeps for members that a version with this expiry does not reach in
    /// time. Each kept version expires later than all versions after it. The oldest kept version expires last and is
    /// never dropped, because otherwise there would be nothing to show in the end. If too many are kept, the second
    /// oldest is dropped.
    /// - Parameter versions: the oldest first.
    static func outliving(_ expiresSeconds: Int64, of versions: [Version]) -> [Version] {
        var kept: [Version] = []
        var newest = expiresSeconds
        for version in versions.reversed() where version.layer.expiresSeconds > newest {
            newest = version.layer.expiresSeconds
            kept.insert(version, at: 0)
        }
        while kept.count >= CrowdVersions.countMax { kept.remove(at: 1) }
        return kept
    }

    /// Appends the body of a push that brings the version.
    /// - Parameter other: the version whose alert goes along; `nil`: none.
    func appendBody(alertOf other: Version?, to body: inout [UInt8]) {
        guard let other else {
            return PayloadWriter.append(
                kind: self.kind, stampSeconds: self.stampSeconds, content: self.layer.content,
                source: self.layer.blob.span, alert: Span(), to: &body)
        }
        PayloadWriter.append(
            kind: self.kind, stampSeconds: self.stampSeconds, content: self.layer.content,
            source: self.layer.blob.span, alert: other.layer.blob.span.extracting(other.layer.alert.range), to: &body)
    }
    /// Whether this version's content fits into one push together with the alert of `other`.
    func fits(alertOf other: Version) -> Bool {
        PayloadWriter.byteCount(
            kind: self.kind, stampSeconds: max(self.stampSeconds, EventRules.sizedStampSecondsMin),
            content: self.layer.content, source: self.layer.blob.span,
            alert: other.layer.blob.span.extracting(other.layer.alert.range)) <= PayloadWriter.payloadByteCountMax
    }
}
