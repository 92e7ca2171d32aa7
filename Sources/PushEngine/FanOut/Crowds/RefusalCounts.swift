import APNSProtocol
import PushModel

/// How often APNs gave each reason for which members of one version or start were not served.
struct RefusalCounts: Equatable {
    struct Refusal: Equatable {
        var status: UInt16 = 0
        var reason = ""
        /// Whether the message is at fault, and not the member.
        var isOfMessage = false
        var count: UInt64 = 0
    }
    /// Maximum number of reasons. If APNs gives more, one of them is `otherReason`, which stands for the rest.
    static let reasonsMax = 8
    static let reasonByteCountMax = 128
    static let otherReason = "other"

    private(set) var all: [Refusal] = []

    mutating func count(status: UInt16, reason: String, isOfMessage: Bool) {
        self.count(
            Refusal(status: status, reason: Self.clipped(Array(reason.utf8)), isOfMessage: isOfMessage, count: 1))
    }
    /// Adds counts of another report, as if all had been counted here.
    mutating func add(_ other: RefusalCounts) {
        for refusal in other.all { self.count(refusal) }
    }
    /// Sorts the reasons, the most frequent first. The order does not depend on which was counted first.
    mutating func sort() { self.all.sort { ($1.count, $0.reason) < ($0.count, $1.reason) } }
    /// The reason's text, at most `reasonByteCountMax` bytes long. Only a third as many bytes are read, because a byte
    /// that is not UTF-8 becomes up to three bytes.
    static func clipped(_ reason: [UInt8]) -> String {
        String(decoding: reason.prefix(Self.reasonByteCountMax / 3), as: UTF8.self)
    }
    private mutating func count(_ refusal: Refusal) {
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
            // The last reason makes room, and is counted under `other` with later ones.
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
