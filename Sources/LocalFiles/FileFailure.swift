import Glibc
import Redaction

/// Why a file cannot be used: the path, then what the system says. What was given as a path and does not look like one is not shown: it may be what
/// should lie in the file.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    /// The path as it was given; not to be shown.
    package var path: String
    /// A predicate whose subject is the file.
    package var complaint: String
    package var description: String {
        ShownText.path(self.path).map { "\($0) \(self.complaint)" } ?? ShownText.notPath(self.path)
    }

    init(_ path: String, _ complaint: String) {
        self.path = path
        self.complaint = complaint
    }

    /// - Parameter code: the system's, as in errno(3).
    init(_ path: String, cannotBe verb: String, code: Int32) {
        self.init(path, "cannot be \(verb): \(String(cString: strerror(code)))")
    }
}

extension FileFailure: CustomReflectable {
    /// Shows the description alone: a library that reflects the failure must not tell the path of what may be a secret.
    package var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
