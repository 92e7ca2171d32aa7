import Foundation

/// A span that was read from OTLP in its JSON encoding (opentelemetry/proto/trace/v1/trace.proto).
package struct CollectedSpan: Sendable, Equatable {
    /// Kind of a span. The raw values are the numbers of `Span.SpanKind` in OTLP.
    package enum Kind: Int, Sendable, Decodable {
        case `internal` = 1
        case server, client, producer, consumer
    }

    /// A link to another span.
    package struct Link: Sendable, Equatable {
        package var traceID: String
        package var spanID: String

        package init(traceID: String, spanID: String) {
            self.traceID = traceID
            self.spanID = spanID
        }
    }

    package var traceID: String
    package var spanID: String
    /// Id of the parent span. `nil`: this span is the first of its trace.
    package var parentSpanID: String?
    package var traceState: String
    package var name: String
    package var kind: Kind
    package var startNanos: UInt64
    package var endNanos: UInt64
    /// Attributes of the span. Numbers and flags are written as text.
    package var attributes: [String: String]
    package var links: [Link]
    /// Status of the span: 0 is unset, 1 is ok, 2 is an error.
    package var status: Int
    package var statusMessage: String?
    /// Attributes of the resource that made the span.
    package var resource: [String: String]

    package struct Fault: Error, CustomStringConvertible {
        package var description: String
    }

    /// Reads the spans in the body of a request.
    /// - Throws: if the body violates the specification, or has a field with an unknown name.
    package static func read(_ body: [UInt8]) throws -> [CollectedSpan] {
        let document = try Self.object(JSONSerialization.jsonObject(with: Data(body)), "resourceSpans")
        return try Self.list(document["resourceSpans"]).flatMap { element in
            let resourceSpans = try Self.object(element, "resource", "scopeSpans")
            let resource = try Self.object(resourceSpans["resource"], "attributes")
            let attributes = try Self.attributes(resource["attributes"])
            return try Self.list(resourceSpans["scopeSpans"]).flatMap { element in
                let scopeSpans = try Self.object(element, "scope", "spans")
                _ = try Self.object(scopeSpans["scope"], "name", "version")
                return try Self.list(scopeSpans["spans"]).map { try CollectedSpan($0, resource: attributes) }
            }
        }
    }

    private init(_ element: Any, resource: [String: String]) throws {
        let span = try Self.object(
            element, "traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind", "startTimeUnixNano",
            "endTimeUnixNano", "attributes", "droppedAttributesCount", "events", "droppedEventsCount", "links",
            "droppedLinksCount", "status")
        self.traceID = try Self.identifier(span["traceId"], digitCount: 32)
        self.spanID = try Self.identifier(span["spanId"], digitCount: 16)
        self.parentSpanID = try span["parentSpanId"].map { try Self.identifier($0, digitCount: 16) }
        self.traceState = span["traceState"] as? String ?? ""
        self.name = try Self.text(span["name"])
        guard let number = span["kind"] as? Int, let kind = Kind(rawValue: number) else {
            throw Fault(description: "kind: \(span["kind"] ?? "none")")
        }
        self.kind = kind
        self.startNanos = try Self.nanos(span["startTimeUnixNano"])
        self.endNanos = try Self.nanos(span["endTimeUnixNano"])
        guard self.startNanos <= self.endNanos else { throw Fault(description: "\(self.name) ends before it begins") }
        self.attributes = try Self.attributes(span["attributes"])
        self.links = try Self.list(span["links"]).map { element in
            let link = try Self.object(element, "traceId", "spanId", "traceState", "attributes", "flags")
            return Link(
                traceID: try Self.identifier(link["traceId"], digitCount: 32),
                spanID: try Self.identifier(link["spanId"], digitCount: 16))
        }
        for element in try Self.list(span["events"]) {
            let event = try Self.object(element, "timeUnixNano", "name", "attributes", "droppedAttributesCount")
            _ = try Self.nanos(event["timeUnixNano"])
            _ = try Self.attributes(event["attributes"])
        }
        let status = try span["status"].map { try Self.object($0, "code", "message") } ?? [:]
        self.status = status["code"] as? Int ?? 0
        self.statusMessage = status["message"] as? String
        self.resource = resource
    }

    // MARK: Parts

    private static func object(_ value: Any?, _ names: String...) throws -> [String: Any] {
        guard let object = value as? [String: Any] else { throw Fault(description: "no object: \(value ?? "none")") }
        if let other = object.keys.first(where: { !names.contains($0) }) {
            throw Fault(description: "a field \(other), which there is not")
        }
        return object
    }

    private static func list(_ value: Any?) throws -> [Any] {
        guard let value else { return [] }
        guard let list = value as? [Any] else { throw Fault(description: "no list: \(value)") }
        return list
    }

    private static func text(_ value: Any?) throws -> String {
        guard let text = value as? String else { throw Fault(description: "no text: \(value ?? "none")") }
        return text
    }

    private static func identifier(_ value: Any?, digitCount: Int) throws -> String {
        let text = try Self.text(value)
        guard text.utf8.count == digitCount, text.allSatisfy({ "0123456789abcdef".contains($0) }),
            text.contains(where: { $0 != "0" })
        else { throw Fault(description: "no id of \(digitCount) digits: \(text)") }
        return text
    }

    /// Reads a time in nanoseconds. OTLP writes 64-bit numbers as text.
    private static func nanos(_ value: Any?) throws -> UInt64 {
        guard let nanos = UInt64(try Self.text(value)) else { throw Fault(description: "no time: \(value ?? "none")") }
        return nanos
    }

    private static func attributes(_ value: Any?) throws -> [String: String] {
        var attributes: [String: String] = [:]
        for element in try Self.list(value) {
            let pair = try Self.object(element, "key", "value")
            let name = try Self.text(pair["key"])
            guard attributes[name] == nil else { throw Fault(description: "\(name) stands there twice") }
            attributes[name] = try Self.attribute(pair["value"])
        }
        return attributes
    }

    private static func attribute(_ value: Any?) throws -> String {
        let value = try Self.object(value, "stringValue", "intValue", "doubleValue", "boolValue", "arrayValue")
        guard value.count == 1, let (kind, content) = value.first else {
            throw Fault(description: "not one value: \(value)")
        }
        switch kind {
        case "stringValue": return try Self.text(content)
        case "intValue":
            guard let number = Int64(try Self.text(content)) else { throw Fault(description: "no number: \(content)") }
            return "\(number)"
        case "arrayValue":
            return try Self.list(Self.object(content, "values")["values"]).map { try Self.attribute($0) }
                .joined(separator: ",")
        default: return "\(content)"
        }
    }
}
