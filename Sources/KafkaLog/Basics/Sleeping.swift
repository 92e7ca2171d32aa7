import Glibc

/// Sleeping for threads of our own.
public enum Sleeping {
    /// Blocks the calling thread, at most about an hour.
    public static func sleep(_ duration: Duration) { usleep(UInt32(clamping: Int64(duration.wholeMillis) * 1_000)) }
}
