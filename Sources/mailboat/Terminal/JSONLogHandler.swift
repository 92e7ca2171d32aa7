import CommandSupport
import Foundation
import Logging
import PushModel

/// Writes log lines to standard error as JSON objects: `time`, `level`, `message`, `logger`, then the metadata. Texts
/// are written without whole device tokens. Any thread.
///
/// Metadata values remain texts, so that a field has one type in every line.
struct JSONLogHandler: LogHandler {
    /// The handler's own fields. Metadata with such a name gets the prefix `metadata.`.
    static let ownNames: Set<String> = ["time", "level", "message", "logger"]
    /// Longest text in bytes; a longer one is cut. Container runtimes break lines at 16 KB, and half an object is not
    /// valid JSON.
    static let textByteCountMax = 4_096
    /// Most elements of a list and fields of an object that are written. The others are left out.
    static let elementCountMax = 64

    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let show: @Sendable (String) -> Void

    /// Creates a handler.
    /// - Parameter show: writes a line, given without its end.
    init(label: String, show: @escaping @Sendable (String) -> Void = { StandardError.print($0) }) {
        self.label = label
        self.show = show
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) { self.show(self.line(event, at: Date())) }

    /// The event as an object, without a line end.
    func line(_ event: LogEvent, at time: Date) -> String {
        var json: [UInt8] = []
        json.append(utf8: "{\"time\":")
        Self.append(time.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: true)), to: &json)
        json.append(utf8: ",\"level\":")
        Self.append(event.level.rawValue, to: &json)
        json.append(utf8: ",\"message\":")
        Self.append("\(event.message)", to: &json)
        json.append(utf8: ",\"logger\":")
        Self.append(self.label, to: &json)
        for (name, value) in self.allMetadata(of: event).sorted(by: { $0.key < $1.key }).prefix(Self.elementCountMax) {
            json.append(UInt8(ascii: ","))
            Self.append(Self.ownNames.contains(name) ? "metadata.\(name)" : name, to: &json)
            json.append(UInt8(ascii: ":"))
            Self.append(value, to: &json)
        }
        json.append(UInt8(ascii: "}"))
        return String(decoding: json, as: UTF8.self)
    }

    /// Metadata merged as in swift-log's own handler: that of the line takes precedence.
    private func allMetadata(of event: LogEvent) -> Logger.Metadata {
        var all = self.metadata
        if let provided = self.metadataProvider?.get() { all.merge(provided) { $1 } }
        if let said = event.metadata { all.merge(said) { $1 } }
        if let error = event.error {
            all["error.message"] = "\(error)"
            all["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        return all
    }

    private static func append(_ value: Logger.Metadata.Value, to json: inout [UInt8]) {
        switch value {
        case .string(let text): Self.append(text, to: &json)
        case .stringConvertible(let value): Self.append("\(value)", to: &json)
        case .array(let values):
            json.append(UInt8(ascii: "["))
            for (index, value) in values.prefix(Self.elementCountMax).enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                Self.append(value, to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .dictionary(let values):
            json.append(UInt8(ascii: "{"))
            let pairs = values.sorted { $0.key < $1.key }.prefix(Self.elementCountMax)
            for (index, (name, value)) in pairs.enumerated() {
                if index > 0 { json.append(UInt8(ascii: ",")) }
                Self.append(name, to: &json)
                json.append(UInt8(ascii: ":"))
                Self.append(value, to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ text: String, to json: inout [UInt8]) {
        let shortened = TokenText.shortened(text)
        guard shortened.utf8.count > Self.textByteCountMax else {
            return JSONBytes.appendString(shortened, to: &json)
        }
        // Half a character at the cut becomes U+FFFD.
        let kept = String(decoding: shortened.utf8.prefix(Self.textByteCountMax), as: UTF8.self)
        JSONBytes.appendString("\(kept)…(\(shortened.utf8.count) bytes)", to: &json)
    }
}
