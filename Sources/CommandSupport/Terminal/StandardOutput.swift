import ArgumentParser
import Glibc
import Synchronization

/// Standard output. Any thread may write; lines of several threads do not mix.
///
/// When it cannot be written (a full disk, a closed pipe), the exit status is 1. A reader that has gone, such as `head`, needs no telling;
/// anything else is said once on standard error.
package enum StandardOutput {
    /// Written at once when this much is gathered, bytes. A terminal gets each line as it comes.
    private static let gatheredByteCountMax = 32_768

    private struct State {
        var gathered: [UInt8] = []
        var isBroken = false
        let isTerminal = isatty(STDOUT_FILENO) == 1
    }

    private static let state = Mutex(State())

    /// A line of a command that does nothing but show: the command ends here when nobody can read it.
    package static func print(_ line: String) {
        Self.tell(line)
        Self.endIfBroken()
    }

    /// For a command that does nothing but show.
    package static func endIfBroken() { if Self.isBroken { _exit(1) } }

    /// A line of a command whose work has to be finished although nobody reads about it.
    package static func tell(_ line: String) { Self.write(TerminalText.escaped(line) + "\n") }

    /// Writes a line with control sequences of ours. Its maker has escaped what strangers wrote.
    package static func showLine(_ line: String) { Self.write(line + "\n") }

    /// Somebody could still read what is written: a pipe whose reader has gone says so without a write. Never waits.
    package static var hasReader: Bool {
        var look = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&look, 1, 0) <= 0 || look.revents & Int16(POLLERR) == 0
    }

    /// Text as it is, line ends and control sequences included, and at once.
    package static func show(_ text: String) {
        Self.write(text)
        Self.flush()
    }

    /// Some of what was written so far has been lost.
    package static var isBroken: Bool { Self.state.withLock { $0.isBroken } }

    /// Throws the exit status 1 when standard output is broken: for work that is only worth doing while somebody looks.
    package static func check() throws { if Self.isBroken { throw ExitCode.failure } }

    /// Writes what is gathered. - Returns: whether all of it, and all before it, was written.
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

/// Standard error, for what is said about the work. Any thread may write. That it cannot be written is nothing to act on.
package enum StandardError {
    /// One line in one call, so that lines of several threads do not mix.
    package static func print(_ line: String) { Self.show(TerminalText.escaped(line) + "\n") }

    /// Text as it is.
    package static func show(_ text: String) { _ = Descriptor.write(Array(text.utf8), to: STDERR_FILENO) }
}

private enum Descriptor {
    /// Writes all of it; waits for a slow reader. - Returns: the code of what went wrong, as in errno(3).
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
