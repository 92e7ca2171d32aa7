import APNSProtocol
import PushModel

/// What a push needs of its version besides the body. It is a small type because taking a `Version` itself out of its
/// array retains all that the version holds.
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

/// One state of an audience, as its owner has published it: what every member is to be shown.
struct Version {
    /// The life of the audience that the version belongs to; only grows.
    var life: Int64 = 0
    /// `aps.timestamp` of every push that brings it; grows from version to version of a life.
    var stampSeconds: Int64 = 0
    /// What members get, and the event that speaks for it.
    var layer = Layer()
    /// Whether the ledger has a unit for it: then the first push of its pass to a member leaves with priority 10.
    var isHigh = false
    /// Whether the ledger for members with `frequent-updates` has a unit for it.
    var isFrequentHigh = false
    /// Whether it withdraws alerts of earlier versions that have not been sent.
    var withdrawsAlert = false
    /// One element while a start goes round.
    var starts: [StartOrder] = []
    /// The audience's channels as of `turn`.
    var channels: [VersionChannel] = []
    /// Number of the channel list. A version is sent again with a higher one when the list has changed; 0: the audience
    /// has had no channel.
    var turn: UInt32 = 0

    /// Moves the version, and what it brings, to that life.
    mutating func enterLife(_ life: Int64) {
        self.life = life
        for index in self.starts.indices { self.starts[index].life = life }
    }
    var isEnd: Bool { self.layer.isEnd }
    var hasAlert: Bool { !self.layer.alert.isEmpty }
    var kind: EventKind { self.layer.isEnd ? .end : .update }
    /// Whether a partition that has the other has this one, too.
    func isNewer(thanLife life: Int64, stampSeconds: Int64) -> Bool {
        (self.life, self.stampSeconds) > (life, stampSeconds)
    }
    @inline(__always) func isExpired(nowSeconds: Int64) -> Bool { self.layer.expiresSeconds <= nowSeconds }

    /// Older versions that a partition keeps beneath one that expires then: each outlives all behind it. The one that
    /// lives longest stays, as without it there would be nothing to show in the end. If there are too many, the oldest
    /// behind it is given up.
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
    /// Whether content and that alert go into one push.
    func fits(alertOf other: Version) -> Bool {
        PayloadWriter.byteCount(
            kind: self.kind, stampSeconds: max(self.stampSeconds, EventRules.sizedStampSecondsMin),
            content: self.layer.content, source: self.layer.blob.span,
            alert: other.layer.blob.span.extracting(other.layer.alert.range)) <= PayloadWriter.payloadByteCountMax
    }
}
