import PushModel

extension SplitMix64 {
    /// A random device token: 32 bytes in hex.
    mutating func nextToken() -> String {
        (0..<4).map { _ in
            let word = String(self.next(), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }
}
