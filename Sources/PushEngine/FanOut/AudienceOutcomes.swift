import PushModel

/// Outcome records about many members. They say what became of a version in one partition (`pass`) and in all
/// partitions (`audience`), and of a start in one partition (`start-pass`). The key names the version or start, so the
/// last record about it counts.
enum AudienceOutcomes {
    /// Maximum number of partitions that are named. If there are more, only their number is given.
    static let partitionsMax = 64

    /// Appends the key `pass/<bundle id>/<audience id>/<life>/<version>/<partition>`. A bundle id has no slash.
    static func appendPassKey(
        bundleID: String, id: Span<UInt8>, life: Int64, stampSeconds: Int64, partition: Int32, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: "pass/")
        Self.appendVersionKey(bundleID: bundleID, id: id, life: life, stampSeconds: stampSeconds, to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        JSONBytes.appendInteger(Int64(partition), to: &bytes)
    }
    /// Appends the key `audience/<bundle id>/<audience id>/<life>/<version>`.
    static func appendAudienceKey(
        bundleID: String, id: Span<UInt8>, life: Int64, stampSeconds: Int64, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: "audience/")
        Self.appendVersionKey(bundleID: bundleID, id: id, life: life, stampSeconds: stampSeconds, to: &bytes)
    }
    private static func appendVersionKey(
        bundleID: String, id: Span<UInt8>, life: Int64, stampSeconds: Int64, to bytes: inout [UInt8]
    ) {
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(copying: id)
        bytes.append(UInt8(ascii: "/"))
        JSONBytes.appendInteger(life, to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        JSONBytes.appendInteger(stampSeconds, to: &bytes)
    }

    static func appendAudience(
        _ rollUp: RollUp, bundleID: String, id: Span<UInt8>, topics: [String], to bytes: inout [UInt8]
    ) {
        let version = rollUp.version
        Self.appendHead("audience", bundleID: bundleID, id: id, life: version.life, version.stampSeconds, to: &bytes)
        bytes.append(utf8: ",\"sources\":[{")
        if !version.layer.eventID.isEmpty {
            bytes.append(utf8: "\"event-id\":")
            JSONBytes.appendString(version.layer.blob.span.extracting(version.layer.eventID.range), to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(utf8: "\"topic\":")
        JSONBytes.appendString(topics[Int(version.layer.source.topic)], to: &bytes)
        Self.append(",\"partition\":", Int64(version.layer.source.partition), to: &bytes)
        Self.append(",\"offset\":", version.layer.source.offset, to: &bytes)
        bytes.append(utf8: "}]")
        Self.append(",\"merged\":", Int64(rollUp.mergedCount), to: &bytes)
        Self.append(",\"partitions\":", Int64(Set(rollUp.asked).union(rollUp.reported.keys).count), to: &bytes)
        Self.append(",\"finished\":", Int64(rollUp.reported.values.count { $0.isFinished }), to: &bytes)
        Self.append(",\"missing\":", partitions: rollUp.missing, to: &bytes)
        Self.append(",\"unfinished\":", partitions: rollUp.unfinished, to: &bytes)
        Self.appendCounts(rollUp.sum, to: &bytes)
        if !rollUp.broadcasts.isEmpty {
            bytes.append(utf8: ",\"broadcasts\":[")
            let listeners = rollUp.sum.listeners
            for (index, broadcast) in rollUp.broadcasts.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                broadcast.append(listeners: listeners[broadcast.environment], to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }
        if let sum = rollUp.startSum {
            Self.append(",\"starts\":{\"partitions\":", Int64(rollUp.starts.count), to: &bytes)
            sum.appendCounts(to: &bytes)
            bytes.append(UInt8(ascii: "}"))
        }
        bytes.append(UInt8(ascii: "}"))
    }
    fileprivate static func appendHead(
        _ outcome: StaticString, bundleID: String, id: Span<UInt8>, life: Int64, _ stampSeconds: Int64,
        to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: "{\"outcome\":")
        JSONBytes.appendString(literal: outcome, to: &bytes)
        bytes.append(utf8: ",\"app\":")
        JSONBytes.appendString(bundleID, to: &bytes)
        bytes.append(utf8: ",\"audience\":")
        JSONBytes.appendString(id, to: &bytes)
        Self.append(",\"life\":", life, to: &bytes)
        Self.append(",\"version\":", stampSeconds, to: &bytes)
    }
    fileprivate static func appendCounts(_ report: CrowdReport, to bytes: inout [UInt8]) {
        report.counts.append(ofStarts: false, waitingCount: report.waitingCount, to: &bytes)
        report.refusals.append(to: &bytes)
        guard report.firstAcceptedMillis > 0 else { return }
        Self.append(",\"first-accepted\":", report.firstAcceptedMillis, to: &bytes)
        Self.append(",\"last-accepted\":", report.lastAcceptedMillis, to: &bytes)
    }
    fileprivate static func append(_ name: StaticString, _ number: Int64, to bytes: inout [UInt8]) {
        bytes.append(utf8: name)
        JSONBytes.appendInteger(number, to: &bytes)
    }
    private static func append(_ name: StaticString, partitions: [Int32], to bytes: inout [UInt8]) {
        bytes.append(utf8: name)
        guard partitions.count <= Self.partitionsMax else {
            return JSONBytes.appendInteger(Int64(partitions.count), to: &bytes)
        }
        bytes.append(UInt8(ascii: "["))
        for (index, partition) in partitions.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONBytes.appendInteger(Int64(partition), to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}

extension Journal {
    /// Records what became of a version in one partition.
    mutating func recordPass(_ report: CrowdReport, of crowd: borrowing Crowd, in memory: inout ShardMemory) {
        self.recordPass(
            isStart: false, life: crowd.versions.life, stampSeconds: report.stampSeconds, of: crowd, in: &memory
        ) { AudienceOutcomes.appendCounts(report, to: &$0) }
    }
    /// Records what became of a start in one partition.
    mutating func recordStartPass(_ report: StartReport, of crowd: borrowing Crowd, in memory: inout ShardMemory) {
        self.recordPass(
            isStart: true, life: report.life, stampSeconds: report.stampSeconds, of: crowd, in: &memory
        ) { report.appendCounts(to: &$0) }
    }
    private mutating func recordPass(
        isStart: Bool, life: Int64, stampSeconds: Int64, of crowd: borrowing Crowd, in memory: inout ShardMemory,
        appendingCounts append: (inout [UInt8]) -> Void
    ) {
        guard memory.configuration.settings.outcomePublication.includesPasses else { return }
        let number = memory.partitions[crowd.partition].number
        let bundleID = memory.configuration.apps[Int(crowd.app)].bundleID
        let id = crowd.id
        let keyStart = self.batch.bytes.count
        if isStart { self.batch.bytes.append(utf8: "start-") }
        AudienceOutcomes.appendPassKey(
            bundleID: bundleID, id: id.span, life: life, stampSeconds: stampSeconds, partition: number,
            to: &self.batch.bytes)
        let valueStart = self.batch.bytes.count
        AudienceOutcomes.appendHead(
            isStart ? "start-pass" : "pass", bundleID: bundleID, id: id.span, life: life, stampSeconds,
            to: &self.batch.bytes)
        AudienceOutcomes.append(",\"partition\":", Int64(number), to: &self.batch.bytes)
        append(&self.batch.bytes)
        self.batch.bytes.append(UInt8(ascii: "}"))
        self.batch.append(
            .outcomes, key: keyStart..<valueStart, value: valueStart..<self.batch.bytes.count,
            acknowledgement: self.open(.logRecord(.outcome, .none), partition: crowd.partition, in: &memory))
    }
    /// Records what became of a version in all partitions, according to their reports to the owner.
    mutating func recordRollUp(_ rollUp: RollUp, of slot: SlotID, in memory: inout ShardMemory) {
        guard memory.configuration.settings.outcomePublication.includesPasses else { return }
        let bundleID = memory.app(of: slot).bundleID
        // The slot is not freed meanwhile, so the bytes of its id are valid.
        let idBytes = unsafe memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        let keyStart = self.batch.bytes.count
        AudienceOutcomes.appendAudienceKey(
            bundleID: bundleID, id: id, life: rollUp.version.life, stampSeconds: rollUp.version.stampSeconds,
            to: &self.batch.bytes)
        let valueStart = self.batch.bytes.count
        AudienceOutcomes.appendAudience(
            rollUp, bundleID: bundleID, id: id, topics: memory.configuration.inputTopics, to: &self.batch.bytes)
        self.batch.append(
            .outcomes, key: keyStart..<valueStart, value: valueStart..<self.batch.bytes.count,
            acknowledgement: self.open(
                .logRecord(.outcome, .none), partition: memory.slots[slot].partition, in: &memory))
    }
}
