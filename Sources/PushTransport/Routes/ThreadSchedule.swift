import Glibc
import PushModel

/// What the kernel's scheduler reports about this thread in `/proc/thread-self/schedstat`. The file has three numbers:
/// nanoseconds of running, nanoseconds of waiting for a core, and how many times the thread ran.
enum ThreadSchedule {
    private static let path = "/proc/thread-self/schedstat"
    /// Enough bytes for three numbers of 64 bits, spaces, and the line's end.
    private static let byteCountMax = 64

    /// How long this thread has waited for a core so far, microseconds; `nil` if the kernel does not say.
    static func waitedMicros() -> Int64? {
        let file = open(Self.path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: Self.byteCountMax, alignment: 1) { bytes in
            let count = read(file, bytes.baseAddress, bytes.count)
            guard count > 0 else { return nil }
            return Self.waitedMicros(of: bytes.prefix(count))
        }
    }

    /// The second number of the file's text, in microseconds; `nil` if the text does not have three numbers.
    static func waitedMicros(of text: some Collection<UInt8>) -> Int64? {
        let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        guard words.count == 3 else { return nil }
        let nanos = Array(words[1])
        return DecimalDigits.value(of: nanos.span).map { $0 / 1_000 }
    }
}
