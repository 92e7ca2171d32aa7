/// A file of a page as it is served. They are texts in the program, so that it needs nothing beside it and no tool to build them.
package struct PageFile: Sendable {
    /// Where it is served.
    package let path: String
    /// Its media type.
    package let type: String
    /// All of it.
    package let text: String

    /// - Parameters:
    ///   - path: where it is served.
    ///   - type: its media type.
    ///   - text: all of it.
    package init(path: String, type: String, text: String) {
        self.path = path
        self.type = type
        self.text = text
    }

    /// The field `content-security-policy` of each: everything that a page loads comes from where it came from.
    package static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"
}
