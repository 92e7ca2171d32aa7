/// One header field of a template: its name, and its value unless that changes with every message.
public struct HTTP2Field: Sendable {
    /// What HPACK may do with the field.
    public enum Indexing: Sendable {
        /// The value is put into the dynamic table: for values that seldom change.
        case allowed
        /// Only the name is worth an entry in the table. The first value is put there with it, and later ones are
        /// literals "never indexed". For values that differ per message and would flush the peer's table (Apple asks
        /// for this for `apns-id` and `apns-expiration`).
        case name
        /// The value is always a literal "never indexed" (RFC 7541 §6.2.3), and so is the name unless it is in the
        /// static table: for secrets.
        case never
    }

    /// The field's name in lower case, as HTTP/2 demands. Pseudo-header fields (`:method`, `:status` …) must precede
    /// the others.
    public var name: String
    /// The fixed value; `nil` if each message has its own.
    public var value: [UInt8]?
    /// What HPACK may do with the field.
    public var indexing: Indexing

    private init(name: String, value: [UInt8]?, indexing: Indexing) {
        self.name = name
        self.value = value
        self.indexing = indexing
    }

    /// A field with the same value in each message made from the template.
    public static func fixed(_ name: String, _ value: String, indexing: Indexing = .allowed) -> HTTP2Field {
        HTTP2Field(name: name, value: Array(value.utf8), indexing: indexing)
    }

    /// A field with the same value in each message made from the template.
    public static func fixed(_ name: String, _ value: [UInt8], indexing: Indexing = .allowed) -> HTTP2Field {
        HTTP2Field(name: name, value: value, indexing: indexing)
    }

    /// A field with a value for each message.
    public static func variable(_ name: String, indexing: Indexing = .name) -> HTTP2Field {
        HTTP2Field(name: name, value: nil, indexing: indexing)
    }
}
