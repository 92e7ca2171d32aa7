import CommandSupport
import Glibc
import PushModel
import Redaction

/// The file, or standard input, that a command reads records from.
final class RecordInput {
    /// Bytes asked for at a time.
    private static let pieceByteCount = 65_536

    /// How the input is called in messages.
    let name: String
    private let path: String
    private let descriptor: Int32

    /// - Parameter path: `-` for standard input.
    init(path: String) throws {
        self.name = path == "-" ? "standard input" : ShownText.file(path) ?? "the file"
        self.path = path
        self.descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard self.descriptor >= 0, fstat(self.descriptor, &status) == 0 else { throw self.failure(code: errno) }
        // Reading would say so, too, but only after what a command does first.
        guard status.st_mode & S_IFMT != S_IFDIR else { throw self.failure(code: EISDIR) }
    }

    deinit { if self.descriptor > STDERR_FILENO { close(self.descriptor) } }

    /// Reads to the end and hands over each value as soon as it is complete. What was complete before the input failed has been handed over.
    func forEach(_ body: (JSONValueSplitter.Item) throws -> Void) throws {
        var splitter = JSONValueSplitter()
        var items: [JSONValueSplitter.Item] = []
        var piece = [UInt8](repeating: 0, count: Self.pieceByteCount)
        while true {
            // Gives what a pipe holds without waiting for more, so that a slow producer is followed line by line.
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
            // What was said about these is not kept back while the producer is awaited.
            StandardOutput.flush()
        }
        splitter.finish(into: &items)
        for item in items { try body(item) }
    }

    /// Ends at a first value that is none, of a file that is called as settings are: every line of it would be told of.
    private func refuseSettings(_ item: JSONValueSplitter.Item?) throws {
        guard case .fault? = item, [".yaml", ".yml"].contains(where: { self.path.hasSuffix($0) }) else { return }
        throw CommandFailure(
            "\(self.name) is YAML and holds no records. Settings are judged by: mailboat run --check --config \(ShownText.file(self.path).map(ShellWord.quoted) ?? "FILE")"
        )
    }

    /// The input has been read from.
    private var hasBegun = false

    /// How many bytes of the first piece are a byte order mark, which editors write and no record has. Says so.
    private func markByteCount(_ piece: [UInt8], _ count: Int) -> Int {
        defer { self.hasBegun = true }
        guard !self.hasBegun, count >= 3, piece.starts(with: ByteOrderMark.utf8) else { return 0 }
        StandardError.print("\(self.name) begins with a byte order mark, which is no part of a record: left out")
        return 3
    }

    /// Returns when reading is worth another try.
    private func recover(from code: Int32) throws {
        switch code {
        case EINTR: return
        case EAGAIN:
            // Another process that shares the stream has made it non-blocking.
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
