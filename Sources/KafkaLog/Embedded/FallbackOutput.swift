import Glibc

/// Writes lines to standard error if the caller has given no handler for them.
enum FallbackOutput {
    static func print(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // The line is written with one call, so that lines of several threads do not mix. If standard error is closed,
        // the line is lost.
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
