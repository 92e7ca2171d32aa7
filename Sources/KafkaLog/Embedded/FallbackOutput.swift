import Glibc

/// Writes a line to standard error when the caller gave no handler for it.
enum FallbackOutput {
    static func print(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        // One call, so that lines of several threads do not mix. Nothing can be done about a closed standard error.
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
