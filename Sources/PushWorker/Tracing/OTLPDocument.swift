import PushModel
import Tracing

/// The body of a request to a collector: `ExportTraceServiceRequest` in the JSON encoding of OTLP. Names are in
/// lowerCamelCase, ids in hexadecimal, 64-bit numbers in strings, enumerations as numbers (OTLP specification, "JSON
/// Protobuf Encoding").
enum OTLPDocument {
    /// Maximum number of attributes of a span that are written. Further ones are only counted.
    static let attributeCountMax = 64
    /// Maximum number of bytes of a text. A longer one is cut.
    static let textByteCountMax = 2_048

    /// - Parameter resource: the worker that has made the spans.
    static func write(_ spans: [FinishedSpan], of resource: TelemetryResource) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { json in
                json.array("resourceSpans", [resource]) { resource, json in
                    json.object { Self.append(spans, of: resource, to: &$0) }
                }
            }
        }
    }

    private static func append(_ spans: [FinishedSpan], of resource: TelemetryResource, to json: inout JSONWriter) {
        json.object("resource") { json in
            json.array("attributes", resource.attributes) { Self.append($0.name, .string($0.value), to: &$1) }
        }
        json.array("scopeSpans", [spans]) { spans, json in
            json.object { json in
                json.object("scope") { json in
                    json.member("name", "mailboat")
                    json.member("version", MailboatVersion.current)
                }
                json.array("spans", spans) { span, json in json.object { Self.append(span, to: &$0) } }
            }
        }
    }

    private static func append(_ span: FinishedSpan, to json: inout JSONWriter) {
        json.member("traceId", span.traceContext.traceIDText)
        json.member("spanId", span.traceContext.spanIDText)
        if !span.traceState.isEmpty { json.member("traceState", span.traceState) }
        json.member("parentSpanId", span.parentSpanID.map { TraceContext.text(ofSpanID: $0) })
        // Bits 0 to 7 are the W3C flags. Bits 8 and 9 would say whether another process made the parent, which is not
        // known here.
        json.member("flags", span.traceContext.isSampled ? 1 : 0)
        json.member("name", Self.cut(span.name))
        json.member("kind", Self.number(span.kind))
        json.member("startTimeUnixNano", "\(span.startNanos)")
        json.member("endTimeUnixNano", "\(span.endNanos)")
        Self.append(span.attributes, to: &json)
        if !span.events.isEmpty {
            json.array("events", span.events) { event, json in json.object { Self.append(event, to: &$0) } }
            json.member("droppedEventsCount", Self.ifAny(span.droppedEventCount))
        }
        // A link to a span without a W3C trace context is left out.
        let links = span.links.compactMap { link in link.context.w3cTrace.map { (traceContext: $0, link: link) } }
        if !links.isEmpty {
            json.array("links", links) { link, json in
                json.object { json in
                    json.member("traceId", link.traceContext.traceIDText)
                    json.member("spanId", link.traceContext.spanIDText)
                    Self.append(link.link.attributes, to: &json)
                }
            }
            json.member("droppedLinksCount", Self.ifAny(span.droppedLinkCount))
        }
        if let status = span.status {
            json.object("status") { json in
                json.member("code", status.code == .ok ? 1 : 2)
                json.member("message", status.message.map { Self.cut($0) })
            }
        }
    }

    private static func append(_ event: SpanEvent, to json: inout JSONWriter) {
        json.member("timeUnixNano", "\(event.nanosecondsSinceEpoch)")
        json.member("name", Self.cut(event.name))
        Self.append(event.attributes, to: &json)
    }

    // MARK: Attributes

    /// Writes attributes, sorted by name, so that equal spans are written equally.
    private static func append(_ attributes: SpanAttributes, to json: inout JSONWriter) {
        guard !attributes.isEmpty else { return }
        var pairs: [(name: String, value: SpanAttribute)] = []
        attributes.forEach { name, value in pairs.append((name, value)) }
        pairs.sort { $0.name < $1.name }
        json.array("attributes", pairs.prefix(Self.attributeCountMax)) { Self.append($0.name, $0.value, to: &$1) }
        json.member("droppedAttributesCount", Self.ifAny(pairs.count - Self.attributeCountMax))
    }

    private static func append(_ name: String, _ value: SpanAttribute, to json: inout JSONWriter) {
        json.object { json in
            json.member("key", Self.cut(name))
            json.object("value") { Self.append(value, to: &$0) }
        }
    }

    /// Writes the member that contains the value. The member's name is the value's kind.
    private static func append(_ value: SpanAttribute, to json: inout JSONWriter) {
        switch value {
        case .int32(let number): json.member("intValue", "\(number)")
        case .int64(let number): json.member("intValue", "\(number)")
        case .double(let number) where number.isFinite: json.member("doubleValue", number)
        // JSON has neither NaN nor infinity. They become texts, as in the JSON mapping of Protocol Buffers.
        case .double(let number):
            json.member("doubleValue", number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")
        case .bool(let flag): json.member("boolValue", flag)
        case .string(let text): json.member("stringValue", Self.cut(text))
        case .stringConvertible(let text): json.member("stringValue", Self.cut("\(text)"))
        case .int32Array(let numbers): Self.append(numbers, to: &json) { .int32($0) }
        case .int64Array(let numbers): Self.append(numbers, to: &json) { .int64($0) }
        case .doubleArray(let numbers): Self.append(numbers, to: &json) { .double($0) }
        case .boolArray(let flags): Self.append(flags, to: &json) { .bool($0) }
        case .stringArray(let texts): Self.append(texts, to: &json) { .string($0) }
        case .stringConvertibleArray(let texts): Self.append(texts, to: &json) { .stringConvertible($0) }
        // A kind that a newer version of the package has added becomes an empty value.
        default: break
        }
    }

    private static func append<Value>(
        _ values: [Value], to json: inout JSONWriter, _ attribute: (Value) -> SpanAttribute
    ) {
        json.object("arrayValue") { json in
            json.array("values", values.prefix(Self.attributeCountMax)) { value, json in
                json.object { Self.append(attribute(value), to: &$0) }
            }
        }
    }

    // MARK: Basics

    /// The count, or `nil` to leave the member out when it is 0 or less.
    private static func ifAny(_ count: Int) -> Int? { count > 0 ? count : nil }

    /// The text, cut after a whole character if it is too long.
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
