import PushModel

/// What a record of `routed` is (fan-out, "`routed` as a bus"). Its header `RecordHeader.kind` says so; without one it is an event that lay on the
/// wrong partition.
public enum RoutedKind: UInt8, Sendable, CaseIterable {
    /// An event, as its producer wrote it.
    case event
    /// A partition has a member of an audience it does not know, and asks the audience's owner for its newest version.
    case question
    /// The owner of an audience tells a partition of a version.
    case version
    /// The owner of an audience has forgotten it.
    case void
    /// A partition tells the owner how far it is.
    case report
    /// An operator stops the pushes to members of an audience, or of all audiences of an app, or lets them go on.
    case pause
    /// The owner of an audience tells the keeper of its app's channels what it wants for a life.
    case channelWish
    /// The keeper tells the owner of an audience what has become of its channel.
    case channelNews
    /// The partition of a channel asks the keeper of its app's channels whether it is kept for an audience.
    case keptQuestion
    /// The keeper answers.
    case keptAnswer
    /// Of a release to come. Its name is given in place of the record's `traceparent`.
    case unknown

    /// What the header says; `nil`: there is none.
    public var name: StaticString? {
        switch self {
        case .event, .unknown: nil
        case .question: "question"
        case .version: "version"
        case .void: "void"
        case .report: "report"
        case .pause: "pause"
        case .channelWish: "channel-wish"
        case .channelNews: "channel-news"
        case .keptQuestion: "kept-question"
        case .keptAnswer: "kept-answer"
        }
    }
    /// - Parameter name: the header's value.
    public init(named name: Span<UInt8>) {
        for kind in Self.allCases {
            guard let known = kind.name, known.utf8CodeUnitCount == name.count else { continue }
            if (0..<name.count).allSatisfy({ unsafe known.utf8Start[$0] == name[$0] }) {
                self = kind
                return
            }
        }
        self = .unknown
    }
}

/// The values of such records, version 1: integers LEB128, as in `state`. The key is the audience's id.
enum BusRecord {
    static let version: UInt8 = 1
    static let bundleIDByteCountMax = 512

    struct Question: Equatable {
        var bundleID: [UInt8] = []
        var partition: Int32 = 0
        /// The newest life that the partition has met; 0: none.
        var life: Int64 = 0
        /// When the newest member there joined, seconds since 1970.
        var lastJoinSeconds: Int64 = 0
        /// Until when it keeps start members, seconds since 1970; 0: it has none.
        var startsUntilSeconds: Int64 = 0
        /// Those in which it has members, by `AudienceChannels.bit`; 0: it does not say, as its app has no channels.
        var environments: UInt8 = 0
    }
    struct Void: Equatable {
        var bundleID: [UInt8] = []
        var life: Int64 = 0
        /// It was ended; otherwise nothing has come for it for so long that it is forgotten.
        var isEnded = false
    }
    struct Report: Equatable {
        var bundleID: [UInt8] = []
        var partition: Int32 = 0
        var life: Int64 = 0
        /// Nobody here gets priority 10 any more by a version up to that.
        var doneStampSeconds: Int64 = 0
        /// Nobody here is owed the version that is counted.
        var isFinished = false
        var counts = CrowdReport()
        /// Of a start instead of a version.
        var starts: StartReport?
    }
    struct Pause: Equatable {
        var bundleID: [UInt8] = []
        /// The key names the app, and not one audience.
        var isOfApp = false
        var isPaused = false
    }
    struct Versions {
        var bundleID: [UInt8] = []
        /// In ascending order of stamps; the last is the newest.
        var versions: [Version] = []
    }

    // MARK: Writing
    static func write(_ question: borrowing Question, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.run(question.bundleID.span)
        writer.signed(Int64(question.partition))
        writer.signed(question.life)
        writer.signed(question.lastJoinSeconds)
        writer.signed(question.startsUntilSeconds)
        if question.environments != 0 { writer.byte(question.environments) }
    }
    static func write(_ void: borrowing Void, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.run(void.bundleID.span)
        writer.signed(void.life)
        writer.byte(void.isEnded ? 1 : 0)
    }
    static func write(_ pause: borrowing Pause, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.run(pause.bundleID.span)
        writer.byte((pause.isPaused ? 1 : 0) | (pause.isOfApp ? 2 : 0))
    }
    static func write(_ report: borrowing Report, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.run(report.bundleID.span)
        writer.signed(Int64(report.partition))
        writer.signed(report.life)
        writer.signed(report.doneStampSeconds)
        let hasListeners = !report.counts.listeners.isZero
        writer.byte((report.isFinished ? 1 : 0) | (report.starts == nil ? 0 : 2) | (hasListeners ? 4 : 0))
        report.counts.write(to: &writer)
        if hasListeners { report.counts.listeners.write(to: &writer) }
        report.starts?.write(to: &writer)
        report.starts?.refusals.write(to: &writer)
    }
    static func write(
        bundleID: [UInt8], versions: [Version], topicHashes: [UInt32], to writer: inout ByteCursor
    ) {
        writer.byte(Self.version)
        writer.run(bundleID.span)
        writer.unsigned(UInt64(versions.count))
        for version in versions { AudienceCodec.write(version, topicHashes: topicHashes, to: &writer) }
    }
    static func byteCountMax(bundleID: [UInt8], versions: [Version] = []) -> Int {
        var count = 32 * ByteCursor.leb128ByteCountMax + bundleID.count + CrowdReport.byteCountMax
        count += StartReport.byteCountMax + ListenerCounts.byteCountMax
        for version in versions { count += AudienceCodec.byteCountMax(version) }
        return count
    }

    // MARK: Reading
    static func readHead(_ reader: inout StateReader) throws(StateError) -> [UInt8] {
        let version = try reader.byte()
        guard version == Self.version else { throw .unknownVersion(version) }
        return try reader.run(byteCountMax: Self.bundleIDByteCountMax)
    }
    private static func readPartition(_ reader: inout StateReader) throws(StateError) -> Int32 {
        guard let partition = Int32(exactly: try reader.signed()) else { throw .malformed("a partition number") }
        return partition
    }
    static func readQuestion(_ value: Span<UInt8>) throws(StateError) -> Question {
        var reader = StateReader(value)
        var question = Question(
            bundleID: try Self.readHead(&reader), partition: try Self.readPartition(&reader),
            life: try StateCodec.readSeconds(&reader),
            lastJoinSeconds: try StateCodec.readSeconds(&reader),
            startsUntilSeconds: try StateCodec.readSeconds(&reader))
        if !reader.isAtEnd {
            question.environments = try reader.byte()
            guard question.environments < 4 else {
                throw .malformed("environments \(question.environments) of a question")
            }
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a question") }
        return question
    }
    static func readVoid(_ value: Span<UInt8>) throws(StateError) -> Void {
        var reader = StateReader(value)
        let void = Void(
            bundleID: try Self.readHead(&reader), life: try StateCodec.readSeconds(&reader),
            isEnded: try reader.byte() != 0)
        guard reader.isAtEnd else { throw .malformed("bytes behind a void") }
        return void
    }
    static func readPause(_ value: Span<UInt8>) throws(StateError) -> Pause {
        var reader = StateReader(value)
        var pause = Pause(bundleID: try Self.readHead(&reader))
        let flags = try reader.byte()
        guard flags < 4, reader.isAtEnd else { throw .malformed("flags \(flags) of a pause, or bytes behind them") }
        pause.isPaused = flags & 1 != 0
        pause.isOfApp = flags & 2 != 0
        return pause
    }
    static func readReport(_ value: Span<UInt8>) throws(StateError) -> Report {
        var reader = StateReader(value)
        var report = Report()
        report.bundleID = try Self.readHead(&reader)
        report.partition = try Self.readPartition(&reader)
        report.life = try StateCodec.readSeconds(&reader)
        report.doneStampSeconds = try StateCodec.readSeconds(&reader)
        let flags = try reader.byte()
        guard flags < 8 else { throw .malformed("flags \(flags) of a report") }
        report.isFinished = flags & 1 != 0
        report.counts = try CrowdReport(&reader)
        if flags & 4 != 0 { report.counts.listeners = try ListenerCounts(&reader) }
        if flags & 2 != 0 {
            report.starts = try StartReport(&reader)
            report.starts?.refusals = try RefusalCounts(&reader)
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a report") }
        return report
    }
    static func readVersions(
        _ value: Span<UInt8>, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> Versions {
        var reader = StateReader(value)
        let bundleID = try Self.readHead(&reader)
        let versions = try AudienceCodec.readVersions(&reader, topicHashes: topicHashes, now: now)
        guard reader.isAtEnd, !versions.isEmpty else { throw .malformed("bytes behind the last version, or none") }
        return Versions(bundleID: bundleID, versions: versions)
    }
}
