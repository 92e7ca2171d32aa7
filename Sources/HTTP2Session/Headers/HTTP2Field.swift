/// One header field of a template. It has a fixed value, or gets one with each message.
public struct HTTP2Field: Sendable {
    /// What HPACK may do with the field.
    public enum Indexing: Sendable {
        /// Name and value are put into the dynamic table. This is for values that seldom change.
        case allowed
        /// The first value is put into the dynamic table, together with the name, if no table has the name. All other
        /// values are literals that are never indexed. This is for values that differ per message and would displace
        /// other entries. Apple asks for this for `apns-id` and `apns-expiration`.
        case name
        /// The value is always a literal that is never indexed (RFC 7541 §6.2.3). The name is a literal too, unless a
        /// table has it. This is for secrets.
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

    /// A field that gets a value with each message.
    public static func variable(_ name: String, indexing: Indexing = .name) -> HTTP2Field {
        HTTP2Field(name: name, value: nil, indexing: indexing)
    }
}
