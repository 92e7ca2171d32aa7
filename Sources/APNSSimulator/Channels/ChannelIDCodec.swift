import FoundationEssentials
import PushModel

/// The id of a channel: base64 of random bytes, as APNs gives it.
enum ChannelIDCodec {
    /// Longest id that is looked up, characters. This server makes shorter ids.
    static let byteCountMax = 256
    /// Range of the number of random bytes in a new id. The number varies, because Apple says to assume no length.
    static let randomByteCounts = 12...20

    /// A new id.
    /// - Parameters:
    ///   - salt: differs between environments and between starts of a server, so that equal seeds do not give equal
    ///     ids.
    static func make(_ random: inout SplitMix64, salt: UInt64) -> [UInt8] {
        let byteCount = Int.random(in: Self.randomByteCounts, using: &random)
        var salted = SplitMix64(seed: random.next() ^ salt)
        let bytes = (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: salted.next()) }
        return Array(Data(bytes).base64EncodedString().utf8)
    }

    /// Whether an id is base64 (RFC 4648 §4) with its padding.
    static func isWellFormed(_ id: Span<UInt8>) -> Bool {
        guard (4...Self.byteCountMax).contains(id.count), id.count % 4 == 0 else { return false }
        var count = id.count
        while count > id.count - 2, id[count - 1] == UInt8(ascii: "=") { count -= 1 }
        for index in 0..<count {
            switch id[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                continue
            default: return false
            }
        }
        return true
    }

    /// Returns the id in a JSON string. The string includes its quotes, and may escape slashes. Returns `nil` if it is
    /// not an id.
    static func read(_ string: Span<UInt8>) -> [UInt8]? {
        guard string.count > 2, string.count <= 2 * Self.byteCountMax else { return nil }
        var id: [UInt8] = []
        var index = 1
        while index < string.count - 1 {
            if string[index] == UInt8(ascii: "\\") { index += 1 }
            id.append(string[index])
            index += 1
        }
        return Self.isWellFormed(id.span) ? id : nil
    }
}
