import Glibc

/// A file that is written at the end of something long.
package enum OutputFile {
    private static let mode: mode_t = 0o644

    /// Throws when `write` could not write to this path, so that whoever asked is told before the work and not after it. Leaves a file that is
    /// there as it is, and makes none.
    package static func check(_ path: String) throws(FileFailure) {
        var status = stat()
        if stat(path, &status) == 0 {
            if status.st_mode & S_IFMT == S_IFDIR { throw FileFailure(path, cannotBe: "written", code: EISDIR) }
            guard access(path, W_OK) == 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
            return
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, Self.mode)
        guard descriptor >= 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
        close(descriptor)
        unlink(path)
    }

    /// Writes the bytes in place of what the file held. Blocks on the disk.
    package static func write(_ bytes: [UInt8], to path: String) throws(FileFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, Self.mode)
        guard descriptor >= 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR {
                let code = errno
                close(descriptor)
                throw FileFailure(path, cannotBe: "written", code: code)
            }
            rest = rest.dropFirst(max(0, count))
        }
        guard close(descriptor) == 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
    }
}
