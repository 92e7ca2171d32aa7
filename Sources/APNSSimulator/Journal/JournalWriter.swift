import Glibc
import Redaction

/// Appends to a journal. What was handed over is in the file, as far as the system goes, once `flush` has returned: it outlives the
/// process, however it ends, though not the machine.
struct JournalWriter {
    private let descriptor: Int32
    private var bytes: [UInt8] = []
    /// Why writing has stopped; `nil`: all is well.
    private(set) var failure: String?

    /// Opens `path`, making it if need be, and cuts off what lies behind `byteCount`: an entry that was not finished.
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

    /// Nothing may be appended after this.
    func close() { Glibc.close(self.descriptor) }
}
