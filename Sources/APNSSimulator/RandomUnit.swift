import PushModel

extension SplitMix64 {
    /// A random number from 0 up to, but not including, 1.
    mutating func unit() -> Double { Double(self.next() >> 11) * 0x1p-53 }
}
