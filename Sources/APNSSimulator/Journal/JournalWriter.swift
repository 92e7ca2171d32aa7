import Glibc
import Redaction

/// Appends to a journal. After `flush`, the operating system has every entry. The entries survive a crash of the
/// process, but perhaps not of the machine.
struct JournalWriter {
    private let descriptor: Int32
    private var bytes: [UInt8] = []
    /// Why writing has stopped; `nil` if it has not.
    private(set) var failure: String?

    /// Opens `path`, making the file if necessary. Keeps the first `byteCount` bytes, and removes the incomplete entry
    /// after them.
    init(path: String, keeping byteCount: Int64) throws(JournalReader.Fault) {
        self.descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard self.descriptor >= 0, ftruncate(self.descriptor, off_t(byteCount)) == 0 else {
            throw JournalReader.Fault(
                description:
                    "\(ShownText.path(path) ?? "the journal"): cannot be written (\(String(cString: strerror(errno))))")
        }
    }

    mutating func append(_ entry: JournalEntry) { entry.append(to: &self.bytes) }

    mutating func flush() {
        guard !self.bytes.isEmpty, self.failure == nil else { return }
        self.bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = write(self.descriptor, bytes.baseAddress! + written, bytes.count - written)
                guard count >= 0 || errno == EINTR else {
                    self.failure = String(cString: strerror(errno))
                    return
                }
                written += max(0, count)
            }
        }
        self.bytes.removeAll(keepingCapacity: true)
    }

    /// Closes the file, after which nothing may be appended.
    func close() { Glibc.close(self.descriptor) }
}
