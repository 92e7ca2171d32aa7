/// One header field of a template: its name, and its value unless that changes with every message.
public struct HTTP2Field: Sendable {
    /// What HPACK may do with the field.
    public enum Indexing: Sendable {
        /// The compressor may put it into the dynamic table: for values that seldom change. `:path` and `authorization` never are.
        case allowed
        /// Sent as a literal "never indexed" (RFC 7541 §6.2.3): for values that differ per message, which would flush the peer's table,
        /// and for secrets.
        case never
    }

    /// Lower case, as HTTP/2 demands. Pseudo-header fields (`:method`, `:status` …) must come before the others.
    public var name: String
    /// `nil`: given with each message.
    public var value: [UInt8]?
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
    public static func variable(_ name: String, indexing: Indexing = .never) -> HTTP2Field {
        HTTP2Field(name: name, value: nil, indexing: indexing)
    }
}
