import CNGHTTP2

/// The header fields of a request or response, prepared once: names, fixed values and indexing rules lie ready in memory that does not
/// move, so that a message costs only its own values. One per app and provider token for requests; one per kind of answer for responses.
///
/// Immutable, so it may be shared by sessions of several loops. A session keeps a template alive while a frame still refers to it.
///
/// `@unchecked`: the pointers are written in `init` only and freed in `deinit` only.
public final class HTTP2HeaderTemplate: @unchecked Sendable {
    /// The fields as given, in their order.
    public let fields: [HTTP2Field]
    /// How many fields have a value of their own per message.
    public let variableCount: Int

    /// nghttp2's form of the fields; the values of variable fields are empty. Names and values point into `text`.
    let prepared: UnsafeMutablePointer<nghttp2_nv>
    /// Places of the variable fields in `prepared`.
    let variablePlaces: UnsafeMutablePointer<Int>
    private let text: UnsafeMutablePointer<UInt8>

    /// Field names are made lower case. Neither names nor values are checked further: the peer judges them.
    public init(_ fields: [HTTP2Field]) {
        let names = fields.map { Array($0.name.lowercased().utf8) }
        let values = fields.map { $0.value ?? [] }
        let places = fields.indices.filter { fields[$0].value == nil }
        self.fields = fields
        self.variableCount = places.count
        self.prepared = .allocate(capacity: max(fields.count, 1))
        self.variablePlaces = .allocate(capacity: max(places.count, 1))
        self.text = .allocate(capacity: max(names.reduce(0) { $0 + $1.count } + values.reduce(0) { $0 + $1.count }, 1))

        var next = self.text
        func place(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8> {
            let start = next
            start.initialize(from: bytes, count: bytes.count)
            next += bytes.count
            return start
        }
        for (index, field) in fields.enumerated() {
            // NO_COPY: nghttp2 reads names and values where they are until the frame is serialised. The session holds the template, and the
            // stream's own values, until then.
            var flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
            if field.indexing == .never { flags |= NGHTTP2_NV_FLAG_NO_INDEX.rawValue }
            (self.prepared + index).initialize(
                to: nghttp2_nv(
                    name: place(names[index]), value: place(values[index]), namelen: names[index].count, valuelen: values[index].count,
                    flags: UInt8(truncatingIfNeeded: flags)))
        }
        for (index, place) in places.enumerated() { self.variablePlaces[index] = place }
    }

    deinit {
        self.prepared.deallocate()
        self.variablePlaces.deallocate()
        self.text.deallocate()
    }
}
