/// The header fields of a request or response, prepared once, so that a message costs only its own values. There is one
/// per app and provider token for requests, and one per kind of answer for responses.
///
/// It is immutable, so sessions of several loops may share it. A session keeps a template alive while it may need it.
public final class HTTP2HeaderTemplate: Sendable {
    /// The given fields, in their order.
    public let fields: [HTTP2Field]
    /// Number of fields with a value for each message.
    public let variableCount: Int
    /// The fields as HPACK needs them.
    let prepared: [PreparedField]

    /// A template. Field names are changed to lower case. Names and values are not checked further: the peer judges
    /// them.
    public init(_ fields: [HTTP2Field]) {
        self.fields = fields
        self.variableCount = fields.count { $0.value == nil }
        self.prepared = fields.map(PreparedField.init)
    }
}

/// A field with its index in HPACK's static table and its coded value.
struct PreparedField: Sendable {
    let name: [UInt8]
    /// The fixed value; `nil` if each message has its own.
    let value: [UInt8]?
    let indexing: HTTP2Field.Indexing
    /// Index of the static table's entry with this name; 0 for none.
    let staticNameIndex: Int
    /// Index of the static table's entry with this name and value; 0 for none.
    let staticIndex: Int
    let nameLiteral: [UInt8]
    /// The coded value; empty for a variable field.
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
