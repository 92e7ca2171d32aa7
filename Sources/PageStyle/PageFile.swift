/// A file of a page as it is served. It is a part of the program, which needs nothing beside it and no tool to build it.
package struct PageFile: Sendable {
    /// Media types of a page's files.
    package enum MediaType: String, Sendable {
        /// The page's structure.
        case html = "text/html; charset=utf-8"
        /// How it looks.
        case css = "text/css; charset=utf-8"
        /// A module.
        case script = "text/javascript; charset=utf-8"
    }

    /// Where it is served.
    package let path: String
    /// Its media type.
    package let type: MediaType
    /// All of it.
    package let text: String

    /// - Parameters:
    ///   - path: where it is served.
    ///   - type: its media type.
    ///   - bytes: all of it, in UTF-8.
    package init(path: String, type: MediaType, bytes: [UInt8]) {
        self.path = path
        self.type = type
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// Colours, text and controls of every page.
    package static func style(at path: String) -> PageFile {
        PageFile(path: path, type: .css, bytes: PackageResources.style_css)
    }

    /// What all scripts draw with.
    package static func elements(at path: String) -> PageFile {
        PageFile(path: path, type: .script, bytes: PackageResources.elements_js)
    }

    /// The field `content-security-policy` of each: everything that a page loads comes from where it came from.
    package static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
}
