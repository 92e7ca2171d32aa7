import Glibc

/// The text of `--help`, for the width of a terminal. The parser breaks each long line at a space, even in the middle
/// of a command that somebody wants to copy.
enum HelpText {
    /// Least number of columns. In fewer, the parser has no room for the options' texts.
    private static let columnsMin = 40
    private static let columnsUsual = 80
    /// Number of columns at which the parser breaks nothing.
    private static let columnsUnbroken = 1_000_000
    private static let options = "\n\nUSAGE: "

    /// The help for the terminal's width.
    /// - Parameter rendered: the parser's text for a width.
    static func text(_ rendered: (Int) -> String) -> String {
        let columns = Self.columns
        let text = rendered(columns)
        guard let lower = text.firstRange(of: Self.options) else { return text }
        let whole = rendered(Self.columnsUnbroken)
        guard let upper = whole.firstRange(of: Self.options) else { return text }
        let rest = text[lower.lowerBound...].dropFirst(2)
        let end = rest.firstRange(of: "\n\n")?.lowerBound ?? rest.endIndex
        return Self.wrapped(String(whole[..<upper.lowerBound]), to: columns) + "\n\n"
            + Self.usage(String(rest[..<end]), columns: columns) + rest[end...]
    }

    /// Makes the parser write 40 columns where the terminal has fewer. The parser traps when its indentations do not
    /// fit. Call this function before the parser reads anything.
    static func widenNarrowTerminal() {
        if Self.columns == Self.columnsMin { setenv("COLUMNS", "\(Self.columnsMin)", 1) }
    }

    /// The terminal's number of columns, or `COLUMNS`.
    private static var columns: Int {
        if let text = getenv("COLUMNS").map({ String(cString: $0) }), let columns = Int(text) {
            return max(Self.columnsMin, columns)
        }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return Self.columnsUsual }
        return max(Self.columnsMin, Int(size.ws_col))
    }

    /// The usage with unbroken options, each further line indented to the first option.
    static func usage(_ text: String) -> String { Self.usage(text, columns: Self.columns) }

    static func usage(_ text: String, columns: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("U") ? Self.filled(Self.usageWords(line), indent: 7, columns: columns) : String(line)
        }.joined(separator: "\n")
    }

    /// The words of a usage line. An option in brackets is one word.
    private static func usageWords(_ line: Substring) -> [Substring] {
        var words: [Substring] = []
        var (start, depth) = (line.startIndex, 0)
        for index in line.indices {
            switch line[index] {
            case "[", "<": depth += 1
            case "]", ">": depth -= 1
            case " " where depth == 0:
                words.append(line[start..<index])
                start = line.index(after: index)
            default: break
            }
        }
        words.append(line[start...])
        return words
    }

    // MARK: Descriptions

    /// Text with its paragraphs wrapped, its tables wrapped within their last column, and its examples unchanged.
    static func wrapped(_ text: String, to columns: Int) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { Self.wrapped($0, to: columns) }.joined(separator: "\n")
    }

    private static func wrapped(_ line: Substring, to columns: Int) -> String {
        guard line.count > columns else { return String(line) }
        let indent = line.prefix { $0 == " " }.count
        let words = line.dropFirst(indent).split(separator: " ", omittingEmptySubsequences: false)
        if indent == 0 { return Self.filled(words, indent: 0, columns: columns) }
        let margin = String(repeating: " ", count: indent)
        // The description of an example ends with a colon; a row of a table has a gap behind its first column.
        if line.hasSuffix(":") { return margin + Self.filled(words, indent: indent, columns: columns, start: indent) }
        guard let gap = line.dropFirst(indent).firstRange(of: "  ") else { return String(line) }
        let cell = line[gap.lowerBound...].drop { $0 == " " }
        let start = line.distance(from: line.startIndex, to: cell.startIndex)
        guard start <= columns / 2 else { return String(line) }
        return line[..<cell.startIndex]
            + Self.filled(cell.split(separator: " "), indent: start, columns: columns, start: start)
    }

    /// Words with spaces between them and a line end where the next would not fit.
    /// - Parameters:
    ///   - indent: spaces before each line but the first.
    ///   - start: number of columns before the first word.
    private static func filled(_ words: [Substring], indent: Int, columns: Int, start: Int = 0) -> String {
        var text = ""
        var column = start
        for (index, word) in words.enumerated() {
            if index > 0, column + 1 + word.count > columns {
                text += "\n" + String(repeating: " ", count: indent)
                column = indent
            } else if index > 0 {
                text += " "
                column += 1
            }
            text += word
            column += word.count
        }
        return text
    }
}
