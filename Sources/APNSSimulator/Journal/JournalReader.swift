import DeviceModel
import Glibc
import Redaction

/// Reads a simulator's journal from its beginning, and follows it while it is written. It is confined to its owner.
public struct JournalReader: ~Copyable {
    /// Why a file is not a journal, or cannot be read.
    public struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        public var description: String
    }

    /// Number of bytes read from the file at once.
    private static let pieceByteCount = 1 << 16
    /// Longest line of words: a token has at most 512 digits, and a topic about 200 characters.
    private static let lineByteCountMax = 4_096

    private let path: String
    private let descriptor: Int32
    private var bytes: [UInt8] = []
    private var position = 0
    /// Number of bytes of the file in the entries returned so far.
    public private(set) var entriesByteCount: Int64 = 0

    /// - Throws: `Fault` when the file cannot be opened.
    public init(path: String) throws(Fault) {
        self.path = path
        self.descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard self.descriptor >= 0 else {
            throw Fault(
                description:
                    "\(ShownText.path(path) ?? "the journal"): cannot be opened (\(String(cString: strerror(errno))))")
        }
    }

    deinit { close(self.descriptor) }

    /// The next entry; `nil` if the file has no further whole entry now.
    /// - Throws: `Fault` with the position in the file.
    public mutating func next() throws(Fault) -> JournalEntry? {
        while true {
            if let entry = try self.takeEntry() { return entry }
            guard try self.readPiece() else { return nil }
        }
    }

    /// Reads a piece of the file. Returns `false` if there is nothing more now.
    private mutating func readPiece() throws(Fault) -> Bool {
        if self.position > 0 {
            self.bytes.removeFirst(self.position)
            self.position = 0
        }
        let before = self.bytes.count
        self.bytes.append(contentsOf: repeatElement(0, count: Self.pieceByteCount))
        let count = self.bytes.withUnsafeMutableBytes { bytes in
            read(self.descriptor, bytes.baseAddress! + before, Self.pieceByteCount)
        }
        self.bytes.removeLast(Self.pieceByteCount - max(0, count))
        guard count >= 0 else {
            throw Fault(
                description:
                    "\(ShownText.path(self.path) ?? "the journal"): cannot be read (\(String(cString: strerror(errno))))"
            )
        }
        return count > 0
    }

    /// Takes an entry from the bytes read; `nil` if it is not complete yet.
    private mutating func takeEntry() throws(Fault) -> JournalEntry? {
        guard let lineEnd = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "\n")) else {
            guard self.bytes.count - self.position <= Self.lineByteCountMax else {
                throw self.fault("a line without end")
            }
            return nil
        }
        let line = String(decoding: self.bytes[self.position..<lineEnd], as: UTF8.self)
        guard let head = JournalLine(line) else { throw self.fault("\(ShownText.withheld(line)) that begins none") }
        guard head.bodyByteCount >= 0 else {
            self.take(upTo: lineEnd + 1)
            return head.entry(body: [])
        }
        // The body and the line feed behind it.
        guard self.bytes.count - lineEnd - 1 >= head.bodyByteCount + 1 else { return nil }
        let body = Array(self.bytes[lineEnd + 1..<lineEnd + 1 + head.bodyByteCount])
        self.take(upTo: lineEnd + head.bodyByteCount + 2)
        return head.entry(body: body)
    }

    private mutating func take(upTo end: Int) {
        self.entriesByteCount += Int64(end - self.position)
        self.position = end
    }

    private func fault(_ found: String) -> Fault {
        Fault(
            description:
                "\(ShownText.path(self.path) ?? "the journal"): byte \(self.entriesByteCount): expected an entry of a journal, found \(found)"
        )
    }
}
