import Glibc

/// Sleep for a thread of our own.
enum Sleeping {
    static func sleep(_ duration: Duration) { usleep(UInt32(clamping: Int64(duration.wholeMillis) * 1_000)) }
}
