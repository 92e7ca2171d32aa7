import Glibc

/// Sleeping on threads that may block (see `NamedThread`).
public enum Sleeping {
    /// Blocks the calling thread for `duration`, at most about an hour.
    public static func sleep(_ duration: Duration) { usleep(UInt32(clamping: Int64(duration.wholeMillis) * 1_000)) }
}
