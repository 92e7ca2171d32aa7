import Glibc

/// A file that is written at the end of a long task.
package enum OutputFile {
    private static let mode: mode_t = 0o644

    /// Throws when `write` could not write to this path, so that the caller knows this before the long task. An
    /// existing file is not changed, and no new file remains.
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

    /// Replaces the file's content. Blocks on the disk.
    package static func write(_ bytes: [UInt8], to path: String) throws(FileFailure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, Self.mode)
        guard descriptor >= 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
        try Self.write(bytes, to: descriptor, path)
    }

    /// Writes the bytes to a new file, which replaces an existing one. At no time can a user whom `mode` excludes read
    /// the bytes. Blocks on the disk.
    package static func replace(_ path: String, with bytes: [UInt8], mode: UInt32) throws(FileFailure) {
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw FileFailure(path, cannotBe: "written", code: errno) }
        // The mode is set explicitly, because the process's mask may have removed bits.
        fchmod(descriptor, mode)
        try Self.write(bytes, to: descriptor, path)
    }

    /// Makes a directory and its missing parents. An existing directory is not changed.
    package static func makeDirectory(_ path: String) throws(FileFailure) {
        guard mkdir(path, 0o755) != 0 else { return }
        let code = errno
        if code == ENOENT, let end = path.lastIndex(of: "/"), end != path.startIndex {
            try Self.makeDirectory(String(path[..<end]))
            if mkdir(path, 0o755) == 0 { return }
        }
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFailure(path, cannotBe: "made", code: code) }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw FileFailure(path, "is no directory: expected one, or a free name")
        }
    }

    /// Writes the bytes and closes the descriptor.
    private static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(FileFailure) {
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
