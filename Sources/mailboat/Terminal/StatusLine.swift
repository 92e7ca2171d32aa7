import CommandSupport
import Glibc
import Synchronization

/// Standard error with a progress line at its end, if a person watches. Elsewhere, such as in a log, a step that takes
/// long gets a line that stays. Any thread may write.
final class StatusLine: Sendable {
    /// Least time between two drawings of the line.
    private static let redrawDistance = Duration.milliseconds(100)
    /// How long a step may take before a line about it is written, where no terminal shows the progress.
    private static let silenceMax = Duration.seconds(1)

    private struct State {
        var shown = ""
        var drawnAt: ContinuousClock.Instant?
        /// Writes the line about a step that takes long, if no terminal shows the progress.
        var delayedLine: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Shows the progress in place of the earlier text. Without a terminal, the text becomes a line if nothing follows
    /// it for a second.
    func show(_ text: String) {
        let text = TerminalText.escaped(text)
        self.state.withLock { state in
            guard self.isTerminal else {
                state.delayedLine?.cancel()
                state.delayedLine = Task {
                    do { try await Task.sleep(for: Self.silenceMax) } catch { return }
                    Self.write(text + "\n")
                }
                return
            }
            let now = ContinuousClock.now
            if let drawnAt = state.drawnAt, now - drawnAt < Self.redrawDistance { return }
            state.drawnAt = now
            Self.write("\r\(text)" + String(repeating: " ", count: max(0, state.shown.count - text.count)))
            state.shown = text
        }
    }

    /// Removes the progress line.
    func end() { self.state.withLock { Self.clear(&$0) } }

    /// Writes a line that stays.
    func report(_ text: String) {
        self.state.withLock { state in
            Self.clear(&state)
            StandardError.print(text)
        }
    }

    /// Writes a line to standard output.
    func print(_ text: String) {
        self.state.withLock { state in
            Self.clear(&state)
            StandardOutput.printAlways(text)
        }
    }

    private static func clear(_ state: inout State) {
        state.delayedLine?.cancel()
        guard !state.shown.isEmpty else { return }
        Self.write("\r" + String(repeating: " ", count: state.shown.count) + "\r")
        state.shown = ""
    }

    private static func write(_ text: String) { StandardError.show(text) }
}
