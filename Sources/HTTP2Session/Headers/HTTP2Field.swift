/// One header field of a template: its name, and its value unless that changes with every message.
public struct HTTP2Field: Sendable {
    /// What HPACK may do with the field.
    public enum Indexing: Sendable {
        /// The value goes into the dynamic table: for values that seldom change.
        case allowed
        /// Only the name is of use in the table: the first value goes along with it, later ones are sent as literals
        /// "never indexed". For values that differ per message and would flush the peer's table (Apple asks for this
        /// for `apns-id` and `apns-expiration`).
        case name
        /// Always a literal "never indexed" (RFC 7541 §6.2.3), the name too unless it is in the static table: for
        /// secrets.
        case never
    }

    /// Lower case, as HTTP/2 demands. Pseudo-header fields (`:method`, `:status` …) must come before the others.
    public var name: String
    /// `nil`: given with each message.
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

    /// A field whose value comes with each message.
    public static func variable(_ name: String, indexing: Indexing = .name) -> HTTP2Field {
        HTTP2Field(name: name, value: nil, indexing: indexing)
    }
}
