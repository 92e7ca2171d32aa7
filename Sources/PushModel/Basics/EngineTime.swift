/// The time as it is passed to the engine and the pool, on two clocks. Both are in milliseconds.
public struct EngineTime: Equatable, Sendable {
    /// Time on a steady clock, which never goes back and also runs while the process is stopped (CLOCK_BOOTTIME). It is
    /// used for deadlines, budgets and pacing.
    public var steadyMillis: Int64
    /// Wall time since 1970. It may jump when the clock is set. It is used for stamps, expiry dates and everything that
    /// is written down.
    public var wallMillis: Int64

    @inlinable public init(steadyMillis: Int64, wallMillis: Int64) {
        self.steadyMillis = steadyMillis
        self.wallMillis = wallMillis
    }

    /// Whole seconds since 1970, as APNs and stamps count them.
    @inlinable public var wallSeconds: Int64 { self.wallMillis / 1_000 }
}
