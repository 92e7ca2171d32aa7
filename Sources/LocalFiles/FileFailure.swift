import Glibc
import Redaction

/// Why a file cannot be used. The description has the path and the system's reason. A text that does not look like a
/// path is not shown, because it may be the content of a file.
package struct FileFailure: Error, Equatable, CustomStringConvertible {
    /// The path as it was given. It must not be shown.
    package var path: String
    /// What is wrong, in words that follow the path, such as "cannot be read: No such file or directory".
    package var complaint: String
    package var description: String {
        ShownText.path(self.path).map { "\($0) \(self.complaint)" } ?? ShownText.notPath(self.path)
    }

    /// Describes the failure of a file that was named on a command line. No secret is expected there, so a plain word
    /// is shown as a path, too.
    package var commandLineDescription: String {
        ShownText.file(self.path).map { "\($0) \(self.complaint)" } ?? ShownText.notPath(self.path)
    }

    init(_ path: String, _ complaint: String) {
        self.path = path
        self.complaint = complaint
    }

    /// - Parameter code: the system's error code, as in errno(3).
    init(_ path: String, cannotBe verb: String, code: Int32) {
        self.init(path, "cannot be \(verb): \(String(cString: strerror(code)))")
    }
}

extension FileFailure: CustomReflectable {
    /// Shows only the description, because a library that reflects the failure must not show a path that may be a
    /// secret.
    package var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
