import Foundation

/// The file, or standard input, that a command reads records from.
struct RecordInput {
    /// Bytes asked for at a time.
    private static let pieceByteCount = 65_536

    /// How the input is called in messages.
    let name: String
    private let handle: FileHandle

    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        guard path != "-" else {
            self.name = "standard input"
            self.handle = .standardInput
            return
        }
        self.name = path
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure("'\(path)' cannot be read: expected a file, or '-' for standard input")
        }
        self.handle = handle
    }

    /// Reads to the end and hands over each value as soon as it is complete.
    func forEach(_ body: (JSONValueSplitter.Item) throws -> Void) throws {
        var splitter = JSONValueSplitter()
        var items: [JSONValueSplitter.Item] = []
        // `availableData` gives what a pipe holds without waiting for more, so that a slow producer is followed line by line.
        while case let piece = self.handle.availableData, !piece.isEmpty {
            splitter.feed(Array(piece), into: &items)
            for item in items { try body(item) }
            items.removeAll(keepingCapacity: true)
        }
        splitter.finish(into: &items)
        for item in items { try body(item) }
    }
}
