public import PushModel

/// Makes bad inputs by changing good ones.
public struct Mutator {
    /// Maximum number of bytes of an input. A longer one is cut, because shorter inputs also show faults.
    static let byteCountMax = 40_000

    private let corpus: [[UInt8]]
    private let pieces: [[UInt8]]

    public init(corpus: [[UInt8]], pieces: [[UInt8]]) {
        precondition(!corpus.isEmpty, "there is nothing to mutate")
        self.corpus = corpus
        self.pieces = pieces
    }

    /// Makes an input, usually with one change. With more changes, few inputs would pass a reader's first check.
    public func input(_ random: inout SplitMix64) -> [UInt8] {
        var bytes = random.oneOf(self.corpus)
        for _ in 0..<random.oneOf([1, 1, 1, 2, 3, 8]) { self.change(&bytes, &random) }
        if bytes.count > Self.byteCountMax { bytes.removeSubrange(Self.byteCountMax...) }
        return bytes
    }

    private func change(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        let index = random.below(bytes.count + 1)
        switch random.below(13) {
        case 0 where index < bytes.count: bytes[index] = UInt8(random.below(256))
        case 1 where index < bytes.count: bytes[index] ^= 1 << UInt8(random.below(8))
        case 2 where index < bytes.count: bytes[index] = random.oneOf([0, 1, 0x7F, 0x80, 0xFF, 0x20, 0x22, 0x5C])
        case 3 where index < bytes.count: bytes[index] = bytes[index] &+ random.oneOf([1, 255])
        case 4, 5: bytes.insert(contentsOf: random.oneOf(self.pieces), at: index)
        case 6: bytes.removeSubrange(index..<min(bytes.count, index + 1 + random.below(16)))
        case 7: bytes.removeSubrange(index...)
        case 8:
            let run = bytes[index..<min(bytes.count, index + 1 + random.below(64))]
            bytes.insert(contentsOf: Array(run), at: random.below(bytes.count + 1))
        case 9: Self.exchangeNumber(&bytes, &random)
        case 10:
            // The input keeps its beginning, and gets the end of an input of the corpus.
            let other = random.oneOf(self.corpus)
            bytes = Array(bytes[..<index]) + other[random.below(other.count + 1)...]
        case 11:
            let count = random.oneOf([1, 2, 4, 8, 64, 300])
            bytes.insert(contentsOf: (0..<count).map { _ in UInt8(random.below(256)) }, at: index)
        default:
            let piece = random.oneOf(self.pieces)
            for _ in 0..<random.oneOf([2, 70, 300]) { bytes.insert(contentsOf: piece, at: index) }
        }
    }

    private static let numbers = [
        "0", "-1", "1", "255", "65536", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
        "18446744073709551616", "1685952000", "9999999999", "10000000000", "1685952000000", "1.5", "1e400", "01", "1e",
    ]

    /// Replaces a random digit and the digits right after it with another number.
    private static func exchangeNumber(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
        let digits = bytes.indices.filter { isDigit(bytes[$0]) }
        guard !digits.isEmpty else { return }
        let start = random.oneOf(digits)
        let end = bytes[start...].firstIndex { !isDigit($0) } ?? bytes.count
        bytes.replaceSubrange(start..<end, with: random.oneOf(Self.numbers).utf8)
    }
}
