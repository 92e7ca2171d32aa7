import Glibc

/// What goes wrong is said here. Never traps, whatever has become of the stream.
enum StandardError {
    static func say(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }
}
