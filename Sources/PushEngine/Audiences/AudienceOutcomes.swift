import PushModel

/// Outcome records about many: a version in one partition (`pass`), and in all of them (`audience`). They are of no source position. Their keys
/// name the version, so that of several records about the same the last one counts.
enum AudienceOutcomes {
    /// Partitions that are named; of more the number is said.
    static let partitionsMax = 64

    /// `pass/<bundle id>/<audience id>/<life>/<version>/<partition>`; a bundle id has no slash.
    static func appendPassKey(
        bundleID: String, id: Span<UInt8>, life: Int64, stampSeconds: Int64, partition: Int32, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: "pass/")
        Self.appendVersionKey(bundleID: bundleID, id: id, life: life, stampSeconds: stampSeconds, to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        JSONBytes.appendInteger(Int64(partition), to: &bytes)
    }
    /// `audience/<bundle id>/<audience id>/<life>/<version>`.
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
        Self.append(",\"partitions\":", Int64(Set(rollUp.asked).union(rollUp.told.keys).count), to: &bytes)
        Self.append(",\"finished\":", Int64(rollUp.told.values.count { $0.isFinished }), to: &bytes)
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
        let counts = report.counts
        Self.append(",\"members\":", Int64(clamping: counts.due), to: &bytes)
        Self.append(",\"accepted\":", Int64(clamping: counts.accepted), to: &bytes)
        Self.append(",\"superseded\":", Int64(clamping: counts.superseded), to: &bytes)
        Self.append(",\"expired\":", Int64(clamping: counts.expired), to: &bytes)
        Self.append(",\"gone\":", Int64(clamping: counts.gone), to: &bytes)
        Self.append(",\"failed\":", Int64(clamping: counts.failed), to: &bytes)
        Self.append(",\"left\":", Int64(clamping: counts.left), to: &bytes)
        Self.append(",\"waiting\":", Int64(clamping: report.waitingCount), to: &bytes)
        Self.append(",\"retried\":", Int64(clamping: counts.repeated), to: &bytes)
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
    /// What became of a version in one partition.
    mutating func recordPass(
        _ report: CrowdReport, of crowd: CrowdID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        self.recordPass(
            isStart: false, life: audiences.crowds[crowd].versions.life, stampSeconds: report.stampSeconds, of: crowd,
            in: &memory, audiences: audiences
        ) { AudienceOutcomes.appendCounts(report, to: &$0) }
    }
    /// What became of a start in one partition.
    mutating func recordStartPass(
        _ report: StartReport, of crowd: CrowdID, in memory: inout ShardMemory, audiences: borrowing Audiences
    ) {
        self.recordPass(
            isStart: true, life: report.life, stampSeconds: report.stampSeconds, of: crowd, in: &memory,
            audiences: audiences
        ) { report.appendCounts(to: &$0) }
    }
    private mutating func recordPass(
        isStart: Bool, life: Int64, stampSeconds: Int64, of crowd: CrowdID, in memory: inout ShardMemory,
        audiences: borrowing Audiences, appendingCounts append: (inout [UInt8]) -> Void
    ) {
        guard memory.configuration.settings.outcomePublication.includesPasses else { return }
        let partition = audiences.crowds[crowd].partition
        let number = memory.partitions[partition].number
        let bundleID = memory.configuration.apps[Int(audiences.crowds[crowd].app)].bundleID
        let id = audiences.crowds[crowd].id
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
            acknowledgement: self.open(.logRecord(.outcome, .none), partition: partition, in: &memory))
    }
    /// What became of a version everywhere, as far as its owner was told.
    mutating func recordRollUp(_ rollUp: RollUp, of slot: SlotID, in memory: inout ShardMemory) {
        guard memory.configuration.settings.outcomePublication.includesPasses else { return }
        let bundleID = memory.app(of: slot).bundleID
        // The slot lives, so its bytes do.
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
