import PushModel

/// Cuts a stream of bytes into JSON values: one per line, or one over several lines as people and pretty-printers write
/// them.
///
/// A fault costs only the value that contains it. Reading continues at the next line that can begin a value.
struct JSONValueSplitter {
    enum Item: Equatable {
        /// A whole value, unchanged. `line` is the line where it begins, counted from 1.
        case value(line: Int, bytes: [UInt8])
        /// The text at `line` is not a JSON value.
        case fault(line: Int, reason: String)
    }

    /// Maximum length of a value in bytes. An event may have 16 KiB. Longer values can be published, to see them
    /// refused.
    static let valueByteCountMax = 262_144

    private let valueByteCountMax: Int
    /// Number of the last line taken.
    private var line = 0
    /// The line being gathered. Pieces of input may end anywhere.
    private var partialLine: [UInt8] = []
    /// A value that began and is not complete.
    private var pending: [UInt8] = []
    /// Line where `pending` begins.
    private var pendingLine = 0
    /// Whether lines that look like the rest of a faulty value are skipped.
    private var isPassingOver = false

    init(valueByteCountMax: Int = Self.valueByteCountMax) { self.valueByteCountMax = valueByteCountMax }

    /// Takes the next piece of input and appends the items that it completes.
    mutating func feed(_ piece: [UInt8], into items: inout [Item]) {
        var rest = piece[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.partialLine += rest[...end]
            self.takeLine(into: &items)
            rest = rest[(end + 1)...]
        }
        self.partialLine += rest
        guard self.partialLine.count > self.valueByteCountMax else { return }
        // A text of this length cannot be an event. The rest of its line is skipped, too.
        self.passOver(line: self.line + 1, into: &items)
        self.partialLine = [UInt8(ascii: " ")]
    }

    /// Ends the input.
    mutating func finish(into items: inout [Item]) {
        if !self.partialLine.isEmpty { self.takeLine(into: &items) }
        guard !self.pending.isEmpty else { return }
        items.append(.fault(line: self.pendingLine, reason: "is not valid JSON: it ends too early"))
        self.pending.removeAll()
    }

    /// Gives up the gathered text because it is too long.
    private mutating func passOver(line: Int, into items: inout [Item]) {
        if !self.isPassingOver {
            items.append(
                .fault(
                    line: self.pendingLine == 0 ? line : self.pendingLine,
                    reason: "is longer than \(self.valueByteCountMax) bytes"))
        }
        self.isPassingOver = true
        self.pending.removeAll()
        self.pendingLine = 0
    }

    private mutating func takeLine(into items: inout [Item]) {
        self.line += 1
        let line = self.partialLine
        self.partialLine.removeAll(keepingCapacity: true)
        if self.isPassingOver {
            guard Self.canBeginValue(line) else { return }
            self.isPassingOver = false
        }
        let startedEarlier = !self.pending.isEmpty
        self.pending += line
        // A value may be as long as the limit, and its line one byte longer.
        guard self.pending.count <= self.valueByteCountMax + 1 else {
            return self.passOver(line: self.line, into: &items)
        }
        guard self.cutValues(into: &items, line: self.line) else { return }
        // The fault may be an earlier value that never ended. Then this line begins a value of its own.
        if startedEarlier, Self.canBeginValue(line) {
            self.pending = line
            guard self.cutValues(into: &items, line: self.line) else { return }
        }
        self.isPassingOver = true
    }

    /// Cuts off the whole values at the front of `pending`. Returns true after a fault, which clears `pending`.
    private mutating func cutValues(into items: inout [Item], line: Int) -> Bool {
        while true {
            guard self.pending.contains(where: { !Self.isSpace($0) }) else {
                self.pending.removeAll(keepingCapacity: true)
                return false
            }
            var cursor = JSONCursor()
            do throws(JSONFault) {
                let range = try cursor.skipValue(self.pending.span)
                if self.pendingLine == 0 { self.pendingLine = line }
                items.append(.value(line: self.pendingLine, bytes: Array(self.pending[range.range])))
                self.pending.removeSubrange(..<range.range.upperBound)
                self.pendingLine = 0
            } catch {
                if self.pendingLine == 0 { self.pendingLine = line }
                if error.kind == .unexpectedEnd { return false }
                let column = error.index - (self.pending[..<error.index].lastIndex(of: UInt8(ascii: "\n")) ?? -1)
                let location = self.pendingLine == line ? "column \(column)" : "line \(line), column \(column)"
                items.append(
                    .fault(line: self.pendingLine, reason: "is not valid JSON: at \(location), \(error.expectation)"))
                self.pending.removeAll(keepingCapacity: true)
                self.pendingLine = 0
                return true
            }
        }
    }

    /// Whether a line can begin a value. An indented line belongs to the previous line. So does a line whose first
    /// character ends or continues a value.
    private static func canBeginValue(_ line: [UInt8]) -> Bool {
        switch line.first {
        case nil, UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: ","), UInt8(ascii: "\""): false
        case .some(let byte): !Self.isSpace(byte)
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
