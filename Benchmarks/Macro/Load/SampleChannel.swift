import Foundation
import PushModel

/// Ids of broadcast channels, as Apple's look: base64 of 16 bytes. They belong to `SampleRequest.bundleID`.
enum SampleChannel {
    /// Characters of an id.
    static let idByteCount = 24

    /// The id of number `index`, each another, and the same in every process.
    static func id(_ index: Int) -> [UInt8] {
        var random = SplitMix64(seed: UInt64(index))
        let bytes = [random.next(), random.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        }
        return Array(Data(bytes).base64EncodedString().utf8)
    }

    /// The ids of these numbers, in order.
    static func ids(_ indices: Range<Int>) -> [[UInt8]] { indices.map(Self.id) }
}
