import CommandSupport
import Glibc
import PushModel
import Redaction

/// The file or standard input from which a command reads records.
final class RecordInput {
    /// Maximum number of bytes that one read returns.
    private static let pieceByteCount = 65_536

    /// Name of the input in messages.
    let name: String
    private let path: String
    private let descriptor: Int32

    /// Opens the input.
    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        self.name = path == "-" ? "standard input" : ShownText.file(path) ?? "the file"
        self.path = path
        self.descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard self.descriptor >= 0, fstat(self.descriptor, &status) == 0 else { throw self.failure(code: errno) }
        // Reading would report a directory, too, but only after the command's first steps.
        guard status.st_mode & S_IFMT != S_IFDIR else { throw self.failure(code: EISDIR) }
    }

    deinit { if self.descriptor > STDERR_FILENO { close(self.descriptor) } }

    /// Reads to the end and hands over each value as soon as it is complete. If the input fails, the values before the
    /// failure have been handed over.
    func forEach(_ body: (JSONValueSplitter.Item) throws -> Void) throws {
        var splitter = JSONValueSplitter()
        var items: [JSONValueSplitter.Item] = []
        var piece = [UInt8](repeating: 0, count: Self.pieceByteCount)
        while true {
            // Reading returns what a pipe holds without waiting for more, so that a slow producer is followed line by
            // line.
            let count = read(self.descriptor, &piece, piece.count)
            if count == 0 { break }
            if count < 0 {
                try self.recover(from: errno)
                continue
            }
            let isFirst = !self.hasBegun
            splitter.feed(Array(piece[self.markByteCount(piece, count)..<count]), into: &items)
            if isFirst { try self.refuseSettings(items.first) }
            for item in items { try body(item) }
            items.removeAll(keepingCapacity: true)
            // Write the output about these records before waiting for more input.
            StandardOutput.flush()
        }
        splitter.finish(into: &items)
        for item in items { try body(item) }
    }

    /// Refuses a settings file as a whole, instead of reporting each of its lines. A file counts as settings
    /// if its name ends like that of a YAML file and its first value is not JSON.
    private func refuseSettings(_ item: JSONValueSplitter.Item?) throws {
        guard case .fault? = item, [".yaml", ".yml"].contains(where: { self.path.hasSuffix($0) }) else { return }
        throw CommandFailure(
            Advice.naming(
                settings: self.path,
                in:
                    "\(self.name) is YAML and holds no records. Settings are judged by: mailboat run --check --config FILE"
            )
        )
    }

    /// Whether the input has been read from.
    private var hasBegun = false

    /// Number of bytes of a byte order mark at the beginning of the first piece. Editors write one, and no record has
    /// one. Warns the user about it.
    private func markByteCount(_ piece: [UInt8], _ count: Int) -> Int {
        defer { self.hasBegun = true }
        guard !self.hasBegun, count >= 3, piece.starts(with: ByteOrderMark.utf8) else { return 0 }
        StandardError.print(
            "\(self.name) begins with a byte order mark, which does not belong to a record: it is skipped")
        return 3
    }

    /// Handles a failed read: returns if reading is worth another try, and throws otherwise.
    private func recover(from code: Int32) throws {
        switch code {
        case EINTR: return
        case EAGAIN:
            // Another process with the same stream has made it non-blocking.
            var waits = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&waits, 1, -1)
        default: throw self.failure(code: code)
        }
    }

    private func failure(code: Int32) -> CommandFailure {
        guard self.path == "-" || ShownText.file(self.path) != nil else {
            return CommandFailure(ShownText.notPath(self.path))
        }
        return CommandFailure("\(self.name) cannot be read: \(String(cString: strerror(code)))")
    }
}
