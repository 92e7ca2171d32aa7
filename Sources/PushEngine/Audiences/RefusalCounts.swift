import APNSProtocol
import PushModel

/// How often APNs gave each reason that ended what a member was due, for one version or one start.
struct RefusalCounts: Equatable {
    struct Refusal: Equatable {
        var status: UInt16 = 0
        var reason = ""
        /// Whether it is the message's fault, and not a member's.
        var isOfMessage = false
        var count: UInt64 = 0
    }
    /// Maximum number of reasons; further ones are counted together.
    static let reasonsMax = 8
    static let reasonByteCountMax = 128
    static let otherReason = "other"

    private(set) var all: [Refusal] = []

    mutating func note(status: UInt16, reason: String, isOfMessage: Bool) {
        self.note(
            Refusal(status: status, reason: Self.clipped(Array(reason.utf8)), isOfMessage: isOfMessage, count: 1))
    }
    /// Adds counts of others, as if all had been counted here.
    mutating func add(_ other: RefusalCounts) {
        for refusal in other.all { self.note(refusal) }
    }
    /// Sorts the reasons, the most frequent first. The order does not depend on which was counted first.
    mutating func sort() { self.all.sort { ($1.count, $0.reason) < ($0.count, $1.reason) } }
    /// The reason's text, clipped. Bytes that are not UTF-8 become up to three each.
    static func clipped(_ reason: [UInt8]) -> String {
        String(decoding: reason.prefix(Self.reasonByteCountMax / 3), as: UTF8.self)
    }
    private mutating func note(_ refusal: Refusal) {
        func find(_ reason: String) -> Int? {
            self.all.firstIndex { $0.reason == reason && $0.isOfMessage == refusal.isOfMessage }
        }
        if let index = find(refusal.reason) {
            self.all[index].count += refusal.count
        } else if self.all.count < Self.reasonsMax {
            self.all.append(refusal)
        } else if let index = self.all.firstIndex(where: { $0.reason == Self.otherReason }) {
            self.all[index].count += refusal.count
        } else {
            // The last reason makes room, and is counted with later ones.
            let last = self.all.count - 1
            self.all[last] = Refusal(reason: Self.otherReason, count: self.all[last].count + refusal.count)
        }
    }

    // MARK: In outcomes
    /// Appends `,"refused":` and an object with the count of each reason. A refusal without a reason is listed by its
    /// status.
    func append(to bytes: inout [UInt8]) {
        bytes.append(utf8: ",\"refused\":{")
        var reasons: [(name: String, count: UInt64)] = []
        for refusal in self.all {
            let name = refusal.reason.isEmpty ? "\(refusal.status)" : refusal.reason
            if let index = reasons.firstIndex(where: { $0.name == name }) {
                reasons[index].count += refusal.count
            } else {
                reasons.append((name, refusal.count))
            }
        }
        for (index, reason) in reasons.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONBytes.appendString(reason.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            JSONBytes.appendInteger(Int64(clamping: reason.count), to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
