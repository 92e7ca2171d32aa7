import PushModel

extension SplitMix64 {
    /// 0 up to, not including, 1.
    mutating func unit() -> Double { Double(self.next() >> 11) * 0x1p-53 }
}
