import ArgumentParser
import Glibc
import Synchronization

/// Standard output. Any thread may write; lines of several threads do not mix.
///
/// If it cannot be written (a full disk, a closed pipe), the exit status is 1. The error is reported once on standard
/// error, unless the reader has gone, such as `head`.
package enum StandardOutput {
    /// The gathered bytes are written once there are this many. A terminal gets each line immediately.
    private static let gatheredByteCountMax = 32_768

    private struct State {
        var gathered: [UInt8] = []
        var isBroken = false
        let isTerminal = isatty(STDOUT_FILENO) == 1
    }

    private static let state = Mutex(State())

    /// Writes a line of a command that only shows something. The command ends here if nobody can read it.
    package static func print(_ line: String) {
        Self.printAlways(line)
        Self.endIfBroken()
    }

    /// Ends a command that only shows something, if nobody can read it.
    package static func endIfBroken() { if Self.isBroken { _exit(1) } }

    /// Writes a line of a command whose work must be finished even if nobody reads the output.
    package static func printAlways(_ line: String) { Self.write(TerminalText.escaped(line) + "\n") }

    /// Writes a line with control sequences of ours. The caller has escaped foreign text.
    package static func showLine(_ line: String) { Self.write(line + "\n") }

    /// Whether somebody can still read the output. A pipe shows that its reader has gone, even if nothing is
    /// written. Never waits.
    package static var hasReader: Bool {
        var look = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&look, 1, 0) <= 0 || look.revents & Int16(POLLERR) == 0
    }

    /// Writes text unchanged, line ends and control sequences included, and at once.
    package static func show(_ text: String) {
        Self.write(text)
        Self.flush()
    }

    /// Whether some of the output so far has been lost.
    package static var isBroken: Bool { Self.state.withLock { $0.isBroken } }

    /// Throws exit status 1 if standard output is broken: for work that is only worth doing while somebody reads.
    package static func check() throws { if Self.isBroken { throw ExitCode.failure } }

    /// Writes the gathered bytes.
    /// - Returns: whether all of them, and all before them, were written.
    @discardableResult
    package static func flush() -> Bool {
        Self.state.withLock { state in
            Self.flush(&state)
            return !state.isBroken
        }
    }

    private static func write(_ text: String) {
        Self.state.withLock { state in
            state.gathered += text.utf8
            if state.isTerminal || state.gathered.count >= Self.gatheredByteCountMax { Self.flush(&state) }
        }
    }

    private static func flush(_ state: inout State) {
        defer { state.gathered.removeAll(keepingCapacity: true) }
        guard !state.isBroken, !state.gathered.isEmpty else { return }
        guard let code = Descriptor.write(state.gathered, to: STDOUT_FILENO) else { return }
        state.isBroken = true
        guard code != EPIPE else { return }
        StandardError.print("standard output cannot be written: \(String(cString: strerror(code)))")
    }
}

/// Standard error, for messages about the work. Any thread may write. A failure to write is ignored.
package enum StandardError {
    /// Writes a line in one call, so that lines of several threads do not mix.
    package static func print(_ line: String) { Self.show(TerminalText.escaped(line) + "\n") }

    /// Writes text unchanged.
    package static func show(_ text: String) { _ = Descriptor.write(Array(text.utf8), to: STDERR_FILENO) }
}

private enum Descriptor {
    /// Writes all bytes; waits for a slow reader.
    /// - Returns: the error code, as in errno(3); `nil` for success.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that shares the stream has made it non-blocking.
                var waits = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waits, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
