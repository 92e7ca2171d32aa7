import Glibc

/// Why a file cannot be used: the path, then what the system says.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    /// The path as it was given.
    package var path: String
    /// A predicate whose subject is the file.
    package var complaint: String
    package var description: String { "\(self.path) \(self.complaint)" }

    init(_ path: String, _ complaint: String) {
        self.path = path
        self.complaint = complaint
    }

    /// - Parameter code: the system's, as in errno(3).
    init(_ path: String, cannotBe verb: String, code: Int32) {
        self.init(path, "cannot be \(verb): \(String(cString: strerror(code)))")
    }
}
