import CommandSupport
import Glibc
import Synchronization

/// Standard error with a line of progress at its end, when a person watches. Any thread may write.
final class StatusLine: Sendable {
    /// How often the line is written anew.
    private static let redrawDistance = Duration.milliseconds(100)

    private struct State {
        var shown = ""
        var drawnAt: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Says what goes on, in place of what was said before; nothing when nobody watches.
    func show(_ text: String) {
        guard self.isTerminal else { return }
        let text = TerminalText.escaped(text)
        self.state.withLock { state in
            let now = ContinuousClock.now
            if let drawnAt = state.drawnAt, now - drawnAt < Self.redrawDistance { return }
            state.drawnAt = now
            Self.write("\r\(text)" + String(repeating: " ", count: max(0, state.shown.count - text.count)))
            state.shown = text
        }
    }

    /// Takes the line of progress away.
    func end() { self.state.withLock { Self.clear(&$0) } }

    /// A line that stays.
    func report(_ text: String) {
        self.state.withLock { state in
            Self.clear(&state)
            StandardError.print(text)
        }
    }

    /// A line for standard output.
    func print(_ text: String) {
        self.state.withLock { state in
            Self.clear(&state)
            StandardOutput.tell(text)
        }
    }

    private static func clear(_ state: inout State) {
        guard !state.shown.isEmpty else { return }
        Self.write("\r" + String(repeating: " ", count: state.shown.count) + "\r")
        state.shown = ""
    }

    private static func write(_ text: String) { StandardError.show(text) }
}
