/// The time as the engine and the pool are told it. Both in milliseconds.
public struct EngineTime: Equatable, Sendable {
    /// Runs on while the process is stopped and never goes back (CLOCK_BOOTTIME). Deadlines, budgets and pacing use it.
    public var steadyMillis: Int64
    /// Since 1970; may step. Stamps, expiry dates and whatever is written down use it.
    public var wallMillis: Int64

    @inlinable public init(steadyMillis: Int64, wallMillis: Int64) {
        self.steadyMillis = steadyMillis
        self.wallMillis = wallMillis
    }

    /// Whole seconds since 1970, as APNs and stamps count them.
    @inlinable public var wallSeconds: Int64 { self.wallMillis / 1_000 }
}
