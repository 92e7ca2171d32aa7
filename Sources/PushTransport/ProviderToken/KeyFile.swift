import Glibc
import Redaction

/// The bytes of a provider key's file, and a mark that differs when the file has changed.
struct KeyFile {
    /// What `stat` says about a file. The mark differs after the file was replaced or rewritten.
    struct Mark: Equatable {
        var device: UInt64
        var inode: UInt64
        var byteCount: Int64
        var changedSeconds: Int
        var changedNanos: Int
    }

    /// Maximum size of a file that is read, bytes. A `.p8` file has about 260 bytes.
    static let byteCountMax = 65_536

    var mark: Mark
    var bytes: [UInt8]

    /// The file's present mark; `nil` if there is no such file.
    static func mark(path: String) -> Mark? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Mark(status)
    }

    /// Reads the file. Blocks on the disk. The error says in words what is wrong.
    static func read(path: String) throws(KeyFileError) -> KeyFile {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let code = errno
            let advice =
                switch code {
                case EACCES: ". The user that runs this process has to be allowed to read it"
                case ENOENT where !path.hasPrefix("/"):
                    ". The path is relative to the directory in which this process was started"
                default: ""
                }
            throw KeyFileError(detail: "cannot be opened: \(String(cString: strerror(code)))\(advice)")
        }
        defer { Glibc.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw KeyFileError(detail: "cannot be examined: \(Self.errorText())")
        }
        guard status.st_size <= Self.byteCountMax else {
            throw KeyFileError(detail: "has \(status.st_size) bytes; a key has at most \(Self.byteCountMax)")
        }
        var bytes = [UInt8](repeating: 0, count: Self.byteCountMax)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress! + count, buffer.count - count)
            }
            guard got >= 0 else { throw KeyFileError(detail: "cannot be read: \(Self.errorText())") }
            guard got > 0 else { break }
            count += got
        }
        return KeyFile(mark: Mark(status), bytes: Array(bytes[..<count]))
    }

    private static func errorText() -> String { String(cString: strerror(errno)) }
}

extension KeyFile.Mark {
    /// The mark of a key that was given as text, without a file.
    static let unchanging = Self(device: 0, inode: 0, byteCount: 0, changedSeconds: 0, changedNanos: 0)

    init(_ status: stat) {
        self.init(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
            changedSeconds: status.st_mtim.tv_sec, changedNanos: status.st_mtim.tv_nsec)
    }
}

struct KeyFileError: Error {
    var detail: String
}

extension KeyFile: Redacted {}
