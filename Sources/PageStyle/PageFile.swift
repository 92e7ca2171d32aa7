/// A file of a web page, served unchanged. It is embedded in the program, so no files of a page need to be installed.
package struct PageFile: Sendable {
    /// Media types of a page's files.
    package enum MediaType: String, Sendable {
        /// The page's structure.
        case html = "text/html; charset=utf-8"
        /// The page's appearance.
        case css = "text/css; charset=utf-8"
        /// A JavaScript module.
        case script = "text/javascript; charset=utf-8"
    }

    /// Path under which the file is served.
    package let path: String
    /// The file's media type.
    package let type: MediaType
    /// The whole text.
    package let text: String

    /// Creates a file.
    /// - Parameters:
    ///   - path: the path under which it is served.
    ///   - type: its media type.
    ///   - bytes: its whole content, in UTF-8.
    package init(path: String, type: MediaType, bytes: [UInt8]) {
        self.path = path
        self.type = type
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// The style sheet of every page: colours, text and controls.
    package static func style(at path: String) -> PageFile {
        PageFile(path: path, type: .css, bytes: PackageResources.style_css)
    }

    /// The script with the functions that all other scripts draw with.
    package static func elements(at path: String) -> PageFile {
        PageFile(path: path, type: .script, bytes: PackageResources.elements_js)
    }

    /// The header field `content-security-policy` of each page: everything that a page loads must have the page's
    /// origin.
    package static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
}
