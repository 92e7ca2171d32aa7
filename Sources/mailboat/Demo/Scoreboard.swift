import CommandSupport
import Foundation

/// Shows the story to the people who watch: a few lines redrawn in a terminal, plain lines anywhere else.
struct Scoreboard {
    /// The numbers at one moment.
    struct Score {
        var published = 0
        var consumed = 0
        var accepted = 0
        var merged = 0
        var pending = 0
        var phones = 0
        var connections = 0
    }

    private let isTerminal: Bool
    private let write: (String) -> Void
    /// Number of lines on the screen that the next drawing replaces.
    private var drawnLineCount = 0

    /// Creates a scoreboard.
    /// - Parameter isTerminal: whether standard output is a terminal. A terminal with `TERM=dumb` does not count.
    init(
        isTerminal: Bool = Self.standardOutputIsTerminal, write: @escaping (String) -> Void = Self.writeToStandardOutput
    ) {
        self.isTerminal = isTerminal
        self.write = write
    }

    /// Prints a line of the story, which stays on the screen.
    mutating func say(_ line: String, atMillis: Int) {
        self.write("\(self.erased)\(Self.time(atMillis))  \(line)\n")
    }

    /// Shows the numbers. In a terminal they replace the earlier ones.
    mutating func show(_ score: Score, atMillis: Int) {
        let numbers = [
            "published \(NumberText.grouped(score.published))", "consumed \(NumberText.grouped(score.consumed))",
            "pushes accepted \(NumberText.grouped(score.accepted))", "merged \(NumberText.grouped(score.merged))",
            "pending \(NumberText.grouped(score.pending))",
        ]
        let line = "\(Self.time(atMillis))  \(numbers.joined(separator: " · "))"
        guard self.isTerminal else {
            self.write(line + "\n")
            return
        }
        let phones = "          \(NumberText.grouped(score.phones)) phones · \(score.connections) connections to APNs"
        self.write("\(self.erased)\(line)\n\(phones)\n")
        self.drawnLineCount = 2
    }

    /// How often `show` is worth calling, milliseconds.
    var intervalMillis: Int { self.isTerminal ? 250 : 2_000 }

    /// Control codes that move up over what was drawn and clear to the end of the screen (ECMA-48: CPL, ED).
    private var erased: String {
        mutating get {
            defer { self.drawnLineCount = 0 }
            return self.drawnLineCount == 0 ? "" : "\u{1B}[\(self.drawnLineCount)F\u{1B}[J"
        }
    }

    private static func time(_ millis: Int) -> String {
        let text = String(format: "%.1f s", Double(millis) / 1_000)
        return String(repeating: " ", count: max(0, 8 - text.count)) + text
    }

    static var standardOutputIsTerminal: Bool {
        isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    static func writeToStandardOutput(_ text: String) { StandardOutput.show(text) }
}
