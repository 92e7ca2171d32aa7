/// Writes JSON (RFC 8259) into a byte buffer. The writer adds commas, colons and brackets. The caller names members and
/// values in their order, and nests objects and arrays by closures.
///
/// A member without a value (`nil`, or JSON of no bytes) is left out. Nothing is allocated except the buffer.
public struct JSONWriter: ~Copyable {
    /// What has been written.
    public private(set) var bytes: [UInt8]
    /// Whether the next value needs a comma, because another is before it in the same object or array.
    private var needsComma = false
    /// Whether each element of the innermost array begins a new line.
    private var isOneALine = false

    private init(_ bytes: consuming [UInt8]) { self.bytes = bytes }

    /// The text that `body` writes.
    public static func bytes(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter([])
        body(&writer)
        return writer.bytes
    }

    /// Appends to `target` the text that `body` writes.
    public static func append(to target: inout [UInt8], _ body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter([])
        swap(&writer.bytes, &target)
        body(&writer)
        swap(&writer.bytes, &target)
    }

    // MARK: Objects and arrays

    /// Writes an object, whose members `body` writes.
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        self.nest("{", "}", isOneALine: false, body)
    }

    /// Writes a member that is an object.
    public mutating func object(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        self.object(body)
    }

    /// Writes an array.
    /// - Parameters:
    ///   - isOneALine: whether each element, and the closing bracket, begins a new line.
    ///   - write: writes one element as one value.
    public mutating func array<Elements: Sequence>(
        _ elements: Elements, isOneALine: Bool = false, _ write: (Elements.Element, inout JSONWriter) -> Void
    ) {
        self.nest("[", "]", isOneALine: isOneALine) { json in
            for element in elements { write(element, &json) }
        }
    }

    /// Writes a member that is an array.
    public mutating func array<Elements: Sequence>(
        _ name: StaticString, _ elements: Elements, isOneALine: Bool = false,
        _ write: (Elements.Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        self.array(elements, isOneALine: isOneALine, write)
    }

    private mutating func nest(
        _ opening: Unicode.Scalar, _ closing: Unicode.Scalar, isOneALine: Bool, _ body: (inout JSONWriter) -> Void
    ) {
        self.beginValue()
        let outer = self.isOneALine
        self.bytes.append(UInt8(ascii: opening))
        (self.needsComma, self.isOneALine) = (false, isOneALine)
        body(&self)
        if isOneALine { self.bytes.append(UInt8(ascii: "\n")) }
        self.bytes.append(UInt8(ascii: closing))
        (self.needsComma, self.isOneALine) = (true, outer)
    }

    // MARK: Members

    /// Writes a member whose value is a string.
    public mutating func member(_ name: StaticString, _ text: String?) {
        guard let text else { return }
        self.name(name)
        self.value(text)
    }

    /// Writes a member whose value is a string, given in UTF-8.
    public mutating func member(_ name: StaticString, utf8 text: Span<UInt8>) {
        self.name(name)
        self.value(utf8: text)
    }

    /// Writes a member whose value is a literal. It must not contain a character that JSON escapes.
    public mutating func member(_ name: StaticString, literal text: StaticString) {
        self.name(name)
        self.beginValue()
        JSONBytes.appendString(literal: text, to: &self.bytes)
        self.needsComma = true
    }

    /// Writes a member whose value is a whole number, clamped to the range of `Int64`.
    @inlinable public mutating func member(_ name: StaticString, _ number: (some BinaryInteger)?) {
        if let number { self.member(name, integer: Int64(clamping: number)) }
    }

    @usableFromInline mutating func member(_ name: StaticString, integer: Int64) {
        self.name(name)
        self.value(integer)
    }

    /// Writes a member whose value is a number, which must be finite.
    public mutating func member(_ name: StaticString, _ number: Double?) {
        if let number { self.member(name, json: "\(number)".utf8) }
    }

    /// Writes a member whose value is `true` or `false`.
    public mutating func member(_ name: StaticString, _ flag: Bool?) {
        if let flag { self.member(name, json: (flag ? "true" : "false").utf8) }
    }

    /// Writes a member whose value is JSON already. If there are no bytes, the member is left out.
    public mutating func member(_ name: StaticString, json: some Collection<UInt8>) {
        guard !json.isEmpty else { return }
        self.name(name)
        self.value(json: json)
    }

    /// Writes a member whose value is JSON already. If there are no bytes, the member is left out.
    public mutating func member(_ name: StaticString, json: Span<UInt8>) {
        guard !json.isEmpty else { return }
        self.name(name)
        self.beginValue()
        self.bytes.append(copying: json)
        self.needsComma = true
    }

    /// Writes the name of a member. The caller then writes its value.
    public mutating func name(_ name: StaticString) {
        self.beginValue()
        JSONBytes.appendString(literal: name, to: &self.bytes)
        self.bytes.append(UInt8(ascii: ":"))
        self.needsComma = false
    }

    /// Writes the name of a member, with escapes where they are needed. The caller then writes its value.
    public mutating func name(escaping name: String) {
        self.value(name)
        self.bytes.append(UInt8(ascii: ":"))
        self.needsComma = false
    }

    // MARK: Values

    /// Writes a string.
    public mutating func value(_ text: String) {
        self.beginValue()
        JSONBytes.appendString(text, to: &self.bytes)
        self.needsComma = true
    }

    /// Writes a string, given in UTF-8.
    public mutating func value(utf8 text: Span<UInt8>) {
        self.beginValue()
        JSONBytes.appendString(text, to: &self.bytes)
        self.needsComma = true
    }

    /// Writes a whole number.
    public mutating func value(_ number: Int64) {
        self.beginValue()
        JSONBytes.appendInteger(number, to: &self.bytes)
        self.needsComma = true
    }

    /// Writes a value that is JSON already.
    public mutating func value(json: some Collection<UInt8>) {
        self.beginValue()
        self.bytes.append(contentsOf: json)
        self.needsComma = true
    }

    private mutating func beginValue() {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        if self.isOneALine { self.bytes.append(UInt8(ascii: "\n")) }
    }
}
