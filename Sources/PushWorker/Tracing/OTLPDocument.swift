import PushModel
import Tracing

/// The body of a request to a collector: `ExportTraceServiceRequest` in the JSON encoding of OTLP. Names are in lowerCamelCase, ids in hexadecimal,
/// 64-bit numbers in strings, enumerations as numbers (OTLP specification, "JSON Protobuf Encoding").
enum OTLPDocument {
    /// Most attributes of one span that are written; further ones are only counted.
    static let attributeCountMax = 64
    /// Length at which a text is cut.
    static let textByteCountMax = 2_048

    /// - Parameter resource: the worker that has made the spans.
    static func write(_ spans: [FinishedSpan], of resource: TelemetryResource) -> [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(1_024 * spans.count + 512)
        json.append(utf8: "{\"resourceSpans\":[{\"resource\":{\"attributes\":[")
        Self.appendList(resource.attributes, to: &json) { Self.append($0.name, .string($0.value), to: &$1) }
        json.append(utf8: "]},\"scopeSpans\":[{\"scope\":{\"name\":\"mailboat\",\"version\":")
        JSONBytes.appendString(MailboatVersion.current, to: &json)
        json.append(utf8: "},\"spans\":[")
        Self.appendList(spans, to: &json) { Self.append($0, to: &$1) }
        json.append(utf8: "]}]}]}")
        return json
    }

    private static func append(_ span: FinishedSpan, to json: inout [UInt8]) {
        json.append(utf8: "{\"traceId\":")
        JSONBytes.appendString(span.place.traceIDText, to: &json)
        json.append(utf8: ",\"spanId\":")
        JSONBytes.appendString(span.place.spanIDText, to: &json)
        if !span.traceState.isEmpty {
            json.append(utf8: ",\"traceState\":")
            JSONBytes.appendString(span.traceState, to: &json)
        }
        if let parent = span.parentSpanID {
            json.append(utf8: ",\"parentSpanId\":\"")
            Hex.append(parent, to: &json)
            json.append(UInt8(ascii: "\""))
        }
        // Bits 0 to 7 are the W3C flags. Bits 8 and 9 say whether the parent belongs to another process, which nobody
        // here knows.
        json.append(utf8: span.place.isSampled ? ",\"flags\":1,\"name\":" : ",\"flags\":0,\"name\":")
        JSONBytes.appendString(Self.cut(span.name), to: &json)
        json.append(utf8: ",\"kind\":")
        JSONBytes.appendInteger(Self.number(span.kind), to: &json)
        json.append(utf8: ",\"startTimeUnixNano\":")
        Self.append(quoted: span.startNanos, to: &json)
        json.append(utf8: ",\"endTimeUnixNano\":")
        Self.append(quoted: span.endNanos, to: &json)
        Self.append(span.attributes, to: &json)
        if !span.events.isEmpty {
            json.append(utf8: ",\"events\":[")
            Self.appendList(span.events, to: &json) { Self.append($0, to: &$1) }
            json.append(UInt8(ascii: "]"))
            Self.append(dropped: span.droppedEventCount, ",\"droppedEventsCount\":", to: &json)
        }
        // A link to a span of another tracer is left out.
        let links = span.links.compactMap { link in link.context.w3cTrace.map { (place: $0, link: link) } }
        if !links.isEmpty {
            json.append(utf8: ",\"links\":[")
            Self.appendList(links, to: &json) { Self.append($0.place, $0.link.attributes, to: &$1) }
            json.append(UInt8(ascii: "]"))
            Self.append(dropped: span.droppedLinkCount, ",\"droppedLinksCount\":", to: &json)
        }
        if let status = span.status {
            json.append(utf8: status.code == .ok ? ",\"status\":{\"code\":1" : ",\"status\":{\"code\":2")
            if let message = status.message {
                json.append(utf8: ",\"message\":")
                JSONBytes.appendString(Self.cut(message), to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ event: SpanEvent, to json: inout [UInt8]) {
        json.append(utf8: "{\"timeUnixNano\":")
        Self.append(quoted: event.nanosecondsSinceEpoch, to: &json)
        json.append(utf8: ",\"name\":")
        JSONBytes.appendString(Self.cut(event.name), to: &json)
        Self.append(event.attributes, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ place: TraceContext, _ attributes: SpanAttributes, to json: inout [UInt8]) {
        json.append(utf8: "{\"traceId\":")
        JSONBytes.appendString(place.traceIDText, to: &json)
        json.append(utf8: ",\"spanId\":")
        JSONBytes.appendString(place.spanIDText, to: &json)
        Self.append(attributes, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    // MARK: Attributes

    /// Attributes are in the order of their names, so that a span is always written in the same way.
    private static func append(_ attributes: SpanAttributes, to json: inout [UInt8]) {
        guard !attributes.isEmpty else { return }
        var pairs: [(name: String, value: SpanAttribute)] = []
        attributes.forEach { name, value in pairs.append((name, value)) }
        pairs.sort { $0.name < $1.name }
        json.append(utf8: ",\"attributes\":[")
        Self.appendList(pairs.prefix(Self.attributeCountMax), to: &json) { Self.append($0.name, $0.value, to: &$1) }
        json.append(UInt8(ascii: "]"))
        Self.append(dropped: pairs.count - Self.attributeCountMax, ",\"droppedAttributesCount\":", to: &json)
    }

    private static func append(_ name: String, _ value: SpanAttribute, to json: inout [UInt8]) {
        json.append(utf8: "{\"key\":")
        JSONBytes.appendString(Self.cut(name), to: &json)
        json.append(utf8: ",\"value\":")
        Self.append(value, to: &json)
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ value: SpanAttribute, to json: inout [UInt8]) {
        switch value {
        case .int32(let number): Self.append(Int64(number), to: &json)
        case .int64(let number): Self.append(number, to: &json)
        case .double(let number): Self.append(number, to: &json)
        case .bool(let flag): json.append(utf8: flag ? "{\"boolValue\":true}" : "{\"boolValue\":false}")
        case .string(let text): Self.append(text, to: &json)
        case .stringConvertible(let text): Self.append("\(text)", to: &json)
        case .int32Array(let numbers): Self.appendArray(numbers, to: &json) { Self.append(Int64($0), to: &$1) }
        case .int64Array(let numbers): Self.appendArray(numbers, to: &json) { Self.append($0, to: &$1) }
        case .doubleArray(let numbers): Self.appendArray(numbers, to: &json) { Self.append($0, to: &$1) }
        case .boolArray(let flags):
            Self.appendArray(flags, to: &json) { flag, json in Self.append(SpanAttribute.bool(flag), to: &json) }
        case .stringArray(let texts): Self.appendArray(texts, to: &json) { Self.append($0, to: &$1) }
        case .stringConvertibleArray(let texts): Self.appendArray(texts, to: &json) { Self.append("\($0)", to: &$1) }
        // The package may add other kinds. A value of unknown kind becomes an empty one.
        default: json.append(utf8: "{}")
        }
    }

    private static func append(_ number: Int64, to json: inout [UInt8]) {
        json.append(utf8: "{\"intValue\":\"")
        JSONBytes.appendInteger(number, to: &json)
        json.append(utf8: "\"}")
    }

    /// A number that JSON cannot express becomes text, as in the mapping of Protocol Buffers.
    private static func append(_ number: Double, to json: inout [UInt8]) {
        json.append(utf8: "{\"doubleValue\":")
        if number.isFinite {
            json.append(contentsOf: "\(number)".utf8)
        } else {
            json.append(utf8: number.isNaN ? "\"NaN\"" : number < 0 ? "\"-Infinity\"" : "\"Infinity\"")
        }
        json.append(UInt8(ascii: "}"))
    }

    private static func append(_ text: String, to json: inout [UInt8]) {
        json.append(utf8: "{\"stringValue\":")
        JSONBytes.appendString(Self.cut(text), to: &json)
        json.append(UInt8(ascii: "}"))
    }

    private static func appendArray<Value>(
        _ values: [Value], to json: inout [UInt8], _ append: (Value, inout [UInt8]) -> Void
    ) {
        json.append(utf8: "{\"arrayValue\":{\"values\":[")
        Self.appendList(values.prefix(Self.attributeCountMax), to: &json, append)
        json.append(utf8: "]}}")
    }

    // MARK: Basics

    private static func appendList<Elements: Sequence>(
        _ elements: Elements, to json: inout [UInt8], _ append: (Elements.Element, inout [UInt8]) -> Void
    ) {
        var isFirst = true
        for element in elements {
            if !isFirst { json.append(UInt8(ascii: ",")) }
            isFirst = false
            append(element, &json)
        }
    }

    private static func append(dropped count: Int, _ name: StaticString, to json: inout [UInt8]) {
        guard count > 0 else { return }
        json.append(utf8: name)
        JSONBytes.appendInteger(Int64(count), to: &json)
    }

    private static func append(quoted number: UInt64, to json: inout [UInt8]) {
        json.append(contentsOf: "\"\(number)\"".utf8)
    }

    /// Cuts the text at the end of a character.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > Self.textByteCountMax else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: Self.textByteCountMax)
        while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
        return String(text[..<end])
    }

    private static func number(_ kind: SpanKind) -> Int64 {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
