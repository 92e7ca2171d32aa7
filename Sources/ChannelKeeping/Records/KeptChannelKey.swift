public import PushModel

/// The key of a kept channel's record in `state`: `k/<bundle id>/<p or d>/<number>`. The number has no meaning, and is
/// reused once its record is gone.
public struct KeptChannelKey: Hashable, Sendable {
    /// The beginning of the key.
    public static let prefix: StaticString = "k/"
    static let bundleIDByteCountMax = 512

    /// The app's bundle identifier.
    public var bundleID: String
    /// The environment, which is also the choice between Apple's two push services.
    public var environment: PushEnvironment
    /// Number of the record, 0 or more.
    public var number: Int64

    public init(bundleID: String, environment: PushEnvironment, number: Int64) {
        self.bundleID = bundleID
        self.environment = environment
        self.number = number
    }

    /// The partition whose owner keeps the app's channels in that environment. It is the partition of the key `<bundle
    /// id>/<p or d>`.
    public static func keeperPartition(
        bundleID: String, environment: PushEnvironment, partitionCount: Int32
    ) -> Int32 {
        let name = Array((bundleID + (environment == .production ? "/p" : "/d")).utf8)
        return Murmur2.partition(key: name.span, count: partitionCount)
    }

    /// The key's bytes in Kafka.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(utf8: Self.prefix)
        bytes += self.bundleID.utf8
        bytes += self.environment == .production ? "/p/".utf8 : "/d/".utf8
        JSONBytes.appendInteger(self.number, to: &bytes)
        return bytes
    }

    /// - Parameter bytes: a key that begins with `prefix`.
    /// - Throws: `StateError.malformed`, which says what is wrong with it.
    public init(_ bytes: [UInt8]) throws(StateError) {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "k" else {
            throw .malformed("a key \(text.prefix(80)) in place of k/<bundle id>/<p or d>/<number>")
        }
        guard (1...Self.bundleIDByteCountMax).contains(parts[1].utf8.count) else {
            throw .malformed("a key with a bundle id of \(parts[1].utf8.count) bytes")
        }
        switch parts[2] {
        case "p": self.environment = .production
        case "d": self.environment = .development
        default: throw .malformed("a key with environment \(parts[2].prefix(80)) in place of p or d")
        }
        // A second spelling of a number would be a second key of the same record.
        guard let number = Int64(parts[3]), number >= 0, String(number) == parts[3] else {
            throw .malformed("a key with number \(parts[3].prefix(80))")
        }
        self.bundleID = String(parts[1])
        self.number = number
        guard self.bytes == bytes else { throw .malformed("a key that is not UTF-8") }
    }
}
