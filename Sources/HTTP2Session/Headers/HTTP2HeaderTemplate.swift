/// The header fields of a request or response, prepared once. A message then only adds its own values. Requests have a
/// template per app, priority and provider token; responses have one per kind of answer.
///
/// It is immutable, so sessions on several loops may share it. A session keeps a template alive while it needs it.
public final class HTTP2HeaderTemplate: Sendable {
    /// The fields in the given order.
    public let fields: [HTTP2Field]
    /// Number of fields that get a value with each message.
    public let variableCount: Int
    /// The fields with their table indexes and coded texts.
    let prepared: [PreparedField]

    /// Makes a template. Field names are changed to lower case. Names and values are not checked otherwise: the peer
    /// judges them.
    public init(_ fields: [HTTP2Field]) {
        self.fields = fields
        self.variableCount = fields.count { $0.value == nil }
        self.prepared = fields.map(PreparedField.init)
    }
}

/// A field with its index in HPACK's static table and its coded texts.
struct PreparedField: Sendable {
    let name: [UInt8]
    /// The fixed value; `nil` if each message has its own.
    let value: [UInt8]?
    let indexing: HTTP2Field.Indexing
    /// Index of the first entry with this name in the static table; 0 if there is none.
    let staticNameIndex: Int
    /// Index of the entry with this name and value in the static table; 0 if there is none.
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
