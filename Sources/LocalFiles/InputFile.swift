import Glibc

/// A small file that is read whole: a configuration, a key, certificates.
package enum InputFile {
    /// Maximum size in bytes of a file that any caller accepts. A device or a pipe that never ends must not fill the
    /// memory.
    package static let byteCountMax = 4_194_304

    /// Why the file cannot be read; `nil` when it can. Does not read the file. A directory is a failure unless
    /// `directoryIsFine`.
    package static func failure(_ path: String, directoryIsFine: Bool = false) -> FileFailure? {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            return FileFailure(path, cannotBe: "read", code: errno)
        }
        guard status.st_mode & S_IFMT != S_IFDIR || directoryIsFine else {
            return FileFailure(path, cannotBe: "read", code: EISDIR)
        }
        return nil
    }

    /// The file's bytes. Blocks on the disk, and on a pipe until its other end is closed.
    /// - Parameter pieceByteCount: number of bytes that are read at a time.
    package static func read(
        _ path: String, byteCountMax: Int = Self.byteCountMax, pieceByteCount: Int = 65_536
    ) throws(FileFailure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure(path, cannotBe: "read", code: errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: pieceByteCount)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw FileFailure(path, cannotBe: "read", code: errno)
            }
            bytes += piece[..<count]
            guard bytes.count <= byteCountMax else {
                throw FileFailure(path, "has more than \(byteCountMax) bytes, the most that are read")
            }
        }
    }
}
