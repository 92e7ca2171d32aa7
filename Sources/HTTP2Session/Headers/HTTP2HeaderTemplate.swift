import CNGHTTP2

/// The header fields of a request or response, prepared once: names, fixed values and indexing rules lie ready in memory that does not
/// move, so that a message costs only its own values. One per app and provider token for requests; one per kind of answer for responses.
///
/// Immutable, so it may be shared by sessions of several loops. A session keeps a template alive while a frame still refers to it.
public final class HTTP2HeaderTemplate: Sendable {
    /// The fields as given, in their order.
    public let fields: [HTTP2Field]
    /// How many fields have a value of their own per message.
    public let variableCount: Int

    /// Field names are made lower case. Neither names nor values are checked further: the peer judges them.
    public init(_ fields: [HTTP2Field]) {
        self.fields = fields
        self.variableCount = fields.count { $0.value == nil }
    }
}
