/// The header fields of a request or response, prepared once, so that a message costs only its own values. One per app
/// and provider token for requests; one per kind of answer for responses.
///
/// Immutable, so it may be shared by sessions of several loops. A session keeps a template alive while it may need it.
public final class HTTP2HeaderTemplate: Sendable {
    /// The fields as given, in their order.
    public let fields: [HTTP2Field]
    /// How many fields have a value of their own per message.
    public let variableCount: Int
    /// The fields as HPACK wants them.
    let prepared: [PreparedField]

    /// Field names are made lower case. Neither names nor values are checked further: the peer judges them.
    public init(_ fields: [HTTP2Field]) {
        self.fields = fields
        self.variableCount = fields.count { $0.value == nil }
        self.prepared = fields.map(PreparedField.init)
    }
}

/// A field with what HPACK's static table and string coding make of it.
struct PreparedField: Sendable {
    let name: [UInt8]
    /// `nil`: given with each message.
    let value: [UInt8]?
    let indexing: HTTP2Field.Indexing
    /// The static table's entry with this name; 0: none.
    let staticNameIndex: Int
    /// The static table's entry with this name and value; 0: none.
    let staticIndex: Int
    let nameLiteral: [UInt8]
    /// Empty for a variable field.
    let valueLiteral: [UInt8]

    init(_ field: HTTP2Field) {
        self.name = Array(field.name.lowercased().utf8)
        self.value = field.value
        self.indexing = field.indexing
        self.staticNameIndex = HPACKStaticTable.index(name: self.name) ?? 0
        self.staticIndex = field.value.flatMap { [name] in HPACKStaticTable.index(name: name, value: $0) } ?? 0
        self.nameLiteral = HPACKText.literal(self.name)
        self.valueLiteral = field.value.map(HPACKText.literal) ?? []
    }
}
