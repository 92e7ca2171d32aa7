import APNSProtocol
import PushModel

/// What became of the members of one version in one partition (fan-out §5): told to the audience's owner, and written as a `pass` record. A
/// later one of the same version replaces it.
struct CrowdReport: Equatable {
    /// How often APNs gave a reason that ended what a member was due.
    struct Refusal: Equatable {
        var status: UInt16 = 0
        var reason = ""
        /// It is the message's fault, and no member's.
        var isOfMessage = false
        var count: UInt64 = 0
    }
    /// Of more reasons the last are counted together.
    static let refusalsMax = 8
    static let reasonByteCountMax = 128
    static let otherReason = "other"

    var stampSeconds: Int64 = 0
    /// `due` are its members; those that joined late are among them. `repeated` are answers after which a member was tried again.
    var counts = MemberCounters()
    var refusals: [Refusal] = []
    /// Wall milliseconds; 0: none.
    var firstAcceptedMillis: Int64 = 0
    var lastAcceptedMillis: Int64 = 0
    /// Something has changed since it was last told.
    var isUntold = false
    /// Another owner of the partition has counted its pass, and has not said how far it came.
    var isOfOthers = false

    /// Members that are owed it still, those without an answer included.
    var waitingCount: UInt64 {
        let ended =
            self.counts.accepted + self.counts.superseded + self.counts.expired + self.counts.gone + self.counts.failed
            + self.counts.left
        // Of an alert that goes alone members are counted with either version.
        return self.counts.due > ended ? self.counts.due - ended : 0
    }

    mutating func noteAccepted(wallMillis: Int64) {
        self.counts.accepted += 1
        if self.firstAcceptedMillis == 0 { self.firstAcceptedMillis = wallMillis }
        self.lastAcceptedMillis = wallMillis
        self.isUntold = true
    }
    mutating func note(_ response: PushResponse, isOfMessage: Bool) {
        self.note(
            Refusal(
                status: response.status, reason: Self.clipped(Array(response.reason.utf8)), isOfMessage: isOfMessage,
                count: 1))
    }
    /// Bytes that are no UTF-8 become up to three each.
    private static func clipped(_ reason: [UInt8]) -> String {
        String(decoding: reason.prefix(Self.reasonByteCountMax / 3), as: UTF8.self)
    }
    private mutating func note(_ refusal: Refusal) {
        func find(_ reason: String) -> Int? {
            self.refusals.firstIndex { $0.reason == reason && $0.isOfMessage == refusal.isOfMessage }
        }
        if let index = find(refusal.reason) {
            self.refusals[index].count += refusal.count
        } else if self.refusals.count < Self.refusalsMax {
            self.refusals.append(refusal)
        } else if let index = self.refusals.firstIndex(where: { $0.reason == Self.otherReason }) {
            self.refusals[index].count += refusal.count
        } else {
            // The last makes room, and is counted with those to come.
            let last = self.refusals.count - 1
            self.refusals[last] = Refusal(
                reason: Self.otherReason, count: self.refusals[last].count + refusal.count)
        }
    }
    /// A new owner of the partition goes on counting; who waits is counted anew.
    mutating func resume() { self.counts.due -= min(self.counts.due, self.waitingCount) }
    /// As if all had been counted here.
    mutating func add(_ other: CrowdReport) {
        for field in Self.fields { self.counts[keyPath: field] &+= other.counts[keyPath: field] }
        for refusal in other.refusals { self.note(refusal) }
        let firsts = [self.firstAcceptedMillis, other.firstAcceptedMillis].filter { $0 > 0 }
        self.firstAcceptedMillis = firsts.min() ?? 0
        self.lastAcceptedMillis = max(self.lastAcceptedMillis, other.lastAcceptedMillis)
    }

    // MARK: In records
    /// What is counted, in the order in which it is written.
    private static var fields: [WritableKeyPath<MemberCounters, UInt64>] {
        [\.due, \.accepted, \.superseded, \.expired, \.gone, \.failed, \.left, \.repeated]
    }
    static let byteCountMax =
        (12 + 3 * CrowdReport.refusalsMax) * ByteCursor.leb128ByteCountMax
        + CrowdReport.refusalsMax * (CrowdReport.reasonByteCountMax + ByteCursor.leb128ByteCountMax)

    func write(to writer: inout ByteCursor) {
        writer.signed(self.stampSeconds)
        for field in Self.fields { writer.unsigned(self.counts[keyPath: field]) }
        writer.signed(self.firstAcceptedMillis)
        writer.signed(self.lastAcceptedMillis)
        writer.unsigned(UInt64(self.refusals.count))
        for refusal in self.refusals {
            writer.unsigned(UInt64(refusal.status))
            writer.byte(refusal.isOfMessage ? 1 : 0)
            writer.unsigned(refusal.count)
            let reason = Array(refusal.reason.utf8)
            writer.run(reason.span)
        }
    }
    init() {}
    init(_ reader: inout StateReader) throws(StateError) {
        self.stampSeconds = try StateCodec.readSeconds(&reader)
        for field in Self.fields {
            let count = try reader.unsigned()
            guard count <= Self.countMax else { throw .malformed("\(count) members") }
            self.counts[keyPath: field] = count
        }
        self.firstAcceptedMillis = try StateCodec.readMillis(&reader)
        self.lastAcceptedMillis = try StateCodec.readMillis(&reader)
        let count = try reader.unsigned()
        guard count <= UInt64(Self.refusalsMax) else { throw .malformed("\(count) reasons") }
        for _ in 0..<count {
            var refusal = Refusal()
            guard let status = UInt16(exactly: try reader.unsigned()) else { throw .malformed("a status") }
            refusal.status = status
            refusal.isOfMessage = try reader.byte() != 0
            refusal.count = try reader.unsigned()
            guard refusal.count <= Self.countMax else { throw .malformed("\(refusal.count) members") }
            refusal.reason = Self.clipped(try reader.run(byteCountMax: Self.reasonByteCountMax))
            self.refusals.append(refusal)
        }
    }
    /// No record counts more; the sums of all partitions stay in range.
    private static let countMax: UInt64 = 1 << 40
}
