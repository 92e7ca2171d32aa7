import APNSProtocol
import PushModel

@testable import PushEngine

/// Parts of golden records. Most fields of a part have different values, so that fields that change places are noticed.
enum GoldenParts {
    /// An event's content. Its values depend on `seed`.
    static func layer(_ seed: Int64 = 0, full: Bool = false, _ change: (inout Layer) -> Void = { _ in }) -> Layer {
        var layer = Layer()
        layer.source = SourcePosition(topic: 0, partition: Int32(3 + seed), offset: 99 + seed)
        layer.timestampSeconds = 1_699_999_980 + seed
        layer.stampFloorSeconds = 1_699_999_970 + seed
        layer.recordMillis = 1_699_999_980_003 + seed
        layer.alertSeconds = 1_699_999_940 + seed
        layer.contentSeconds = 1_699_999_930 + seed
        func range(_ text: String) -> ByteRange { layer.append(Array(text.utf8).span) }
        layer.content.contentState = range(#"{"n":\#(seed)}"#)
        if full {
            layer.source.topic = 1
            layer.expiresSeconds = 1_700_000_960 + seed
            layer.expirationHeaderSeconds = 1_700_000_950 + seed
            layer.content.attributesType = range(#""Pizza""#)
            layer.content.attributes = range(#"{"order":12}"#)
            layer.content.relevanceScore = range("0.5")
            layer.content.inputPushChannel = range(#""Y2hhbm5lbA==""#)
            layer.content.inputPushToken = true
            layer.content.staleDateSeconds = 1_700_000_920 + seed
            layer.content.dismissalDateSeconds = 1_700_000_910 + seed
            layer.alert = range(#"{"title":"Goal"}"#)
            layer.eventID = range("event-\(seed)")
            layer.traceparent = range("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        }
        change(&layer)
        return layer
    }
    static func update(_ seed: Int64 = 0, _ change: (inout Update) -> Void = { _ in }) -> Update {
        var update = Update()
        update.top = Self.layer(seed)
        update.firstUnsentMillis = GoldenReading.now.steadyMillis - 700
        update.mergedCount = UInt32(2 + seed)
        change(&update)
        return update
    }
    static func start(_ environment: PushEnvironment = .production) -> StartPart {
        var layer = Layer()
        var content = PayloadContent()
        content.attributesType = layer.append(Array(#""Pizza""#.utf8).span)
        content.attributes = layer.append(Array(#"{"order":13}"#.utf8).span)
        content.inputPushToken = true
        return StartPart(
            token: [0xd0, 0xd1, 0xd2], environment: environment, blob: layer.blob, content: content,
            expiresSeconds: 1_700_000_830)
    }
    static func order(_ seed: Int64 = 0, isHigh: Bool = true) -> StartOrder {
        var order = StartOrder()
        order.life = 1_699_990_000
        order.stampSeconds = 1_699_999_820 + seed
        order.expiresSeconds = 1_700_000_810 + seed
        order.isHigh = isHigh
        order.layer = Self.layer(30 + seed, full: true) { $0.isStart = true }
        return order
    }
    static func version(_ seed: Int64 = 0, _ change: (inout Version) -> Void = { _ in }) -> Version {
        var version = Version()
        version.life = 1_699_990_000
        version.stampSeconds = 1_699_999_720 + seed
        version.layer = Self.layer(40 + seed)
        change(&version)
        return version
    }
    static let channels = [
        VersionChannel(
            environment: .production, id: Array("cHJvZA==".utf8), serves: true, isOpen: true,
            takenStampSeconds: 1_699_999_710, takenAlertStampSeconds: 1_699_999_700),
        VersionChannel(
            environment: .development, id: Array("ZGV2".utf8), serves: false, isOpen: false,
            takenStampSeconds: 1_699_999_690, takenAlertStampSeconds: 0),
    ]
    /// One version for each flag or optional part, one without any, and one with all.
    static let versions: [(name: String, version: Version)] = [
        ("plain", Self.version()), ("high", Self.version { $0.isHigh = true }),
        ("frequent-high", Self.version { $0.isFrequentHigh = true }),
        ("withdraws-alert", Self.version { $0.withdrawsAlert = true }),
        ("end", Self.version { $0.layer.isEnd = true }),
        ("start", Self.version { $0.starts = [Self.order()] }),
        ("start-low", Self.version { $0.starts = [Self.order(isHigh: false)] }),
        ("turn", Self.version { $0.channelRevision = 7 }),
        (
            "all",
            Self.version {
                $0.layer = Self.layer(50, full: true)
                $0.isHigh = true
                $0.isFrequentHigh = true
                $0.withdrawsAlert = true
                $0.starts = [Self.order()]
                $0.channels = Self.channels
                $0.channelRevision = 300
            }
        ),
    ]
    static func refusals() -> RefusalCounts {
        var refusals = RefusalCounts()
        refusals.count(status: 410, reason: "Unregistered", isOfMessage: false)
        refusals.count(status: 410, reason: "Unregistered", isOfMessage: false)
        refusals.count(status: 413, reason: "PayloadTooLarge", isOfMessage: true)
        refusals.count(status: 400, reason: "", isOfMessage: false)
        return refusals
    }
    static func counts(_ seed: UInt64) -> MemberCounters {
        var counts = MemberCounters()
        counts.due = seed + 1
        counts.accepted = seed + 2
        counts.superseded = seed + 3
        counts.expired = seed + 4
        counts.gone = seed + 5
        counts.failed = seed + 6
        counts.unknown = seed + 7
        counts.left = seed + 8
        counts.repeated = seed + 9
        return counts
    }
    static func report(_ seed: Int64 = 0) -> CrowdReport {
        var report = CrowdReport()
        report.stampSeconds = 1_699_999_720 + seed
        report.counts = Self.counts(UInt64(100 + seed))
        report.refusals = Self.refusals()
        report.firstAcceptedMillis = 1_699_999_721_001 + seed
        report.lastAcceptedMillis = 1_699_999_722_002 + seed
        return report
    }
    static func startReport(_ seed: Int64 = 0, refusals: Bool = true) -> StartReport {
        var report = StartReport(of: Self.order())
        report.counts = Self.counts(UInt64(200 + seed))
        report.returnedCount = 61
        if refusals { report.refusals = Self.refusals() }
        report.firstAcceptedMillis = 1_699_999_821_001 + seed
        report.lastAcceptedMillis = 1_699_999_822_002 + seed
        return report
    }
}
