/// How often in a row pushes to a member have failed, in one byte.
struct FailureStreak: Equatable {
    /// The back-off is longest after this many failures, so further ones are not counted.
    private static let countMax: UInt8 = 20
    private static let earlierDeathMark: UInt8 = 0x80
    private let bits: UInt8

    private init(bits: UInt8) { self.bits = bits }
    init(count: UInt8) { self.bits = min(count, Self.countMax) }
    static var none: FailureStreak { FailureStreak(bits: 0) }

    var isNone: Bool { self.bits == 0 }
    /// Number of failures, for the back-off.
    var count: UInt8 { self.bits & ~Self.earlierDeathMark }
    /// How many answers in a row, up to the latest, said that the token died before the member joined.
    var earlierDeaths: UInt8 { self.bits & Self.earlierDeathMark == 0 ? 0 : self.count }

    /// The streak with one more failure. The first answer about an earlier death begins a new streak, because the
    /// back-off after such answers does not grow.
    func next(isEarlierDeath: Bool) -> FailureStreak {
        isEarlierDeath
            ? FailureStreak(bits: Self.earlierDeathMark | (self.earlierDeaths + 1))
            : FailureStreak(count: self.count + 1)
    }
}
