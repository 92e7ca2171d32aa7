import CommandSupport
import Foundation
import Logging
import PushModel

/// Writes log lines to standard error as JSON objects: `time`, `level`, `message`, `logger`, then the metadata. Texts
/// are written without whole device tokens. May be used on any thread.
///
/// Metadata values remain texts, so that a field has one type in every line.
struct JSONLogHandler: LogHandler {
    /// The handler's own fields. Metadata with such a name gets the prefix `metadata.`.
    static let ownNames: Set<String> = ["time", "level", "message", "logger"]
    /// Longest text in bytes; a longer one is cut. Container runtimes break lines at 16 KB, and half an object is not
    /// valid JSON.
    static let textByteCountMax = 4_096
    /// Maximum number of elements of a list, and of fields of an object, that are written. The others are left out.
    static let elementCountMax = 64

    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let show: @Sendable (String) -> Void

    /// Creates a handler.
    /// - Parameter show: writes a line. It gets the line without a line end.
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
        let metadata = self.allMetadata(of: event).sorted { $0.key < $1.key }.prefix(Self.elementCountMax)
        let json = JSONWriter.bytes { json in
            json.object { json in
                json.member(
                    "time",
                    Self.written(time.ISO8601Format(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))
                json.member("level", Self.written(event.level.rawValue))
                json.member("message", Self.written("\(event.message)"))
                json.member("logger", Self.written(self.label))
                for (name, value) in metadata {
                    json.name(escaping: Self.written(Self.ownNames.contains(name) ? "metadata.\(name)" : name))
                    Self.append(value, to: &json)
                }
            }
        }
        return String(decoding: json, as: UTF8.self)
    }

    /// Metadata merged as in swift-log's own handler: the line's own metadata takes precedence.
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

    private static func append(_ value: Logger.Metadata.Value, to json: inout JSONWriter) {
        switch value {
        case .string(let text): json.value(Self.written(text))
        case .stringConvertible(let value): json.value(Self.written("\(value)"))
        case .array(let values):
            json.array(values.prefix(Self.elementCountMax)) { Self.append($0, to: &$1) }
        case .dictionary(let values):
            json.object { json in
                for (name, value) in values.sorted(by: { $0.key < $1.key }).prefix(Self.elementCountMax) {
                    json.name(escaping: Self.written(name))
                    Self.append(value, to: &json)
                }
            }
        }
    }

    /// The text as it is written: without whole tokens, and cut where it is too long.
    private static func written(_ text: String) -> String {
        let shortened = TokenText.shortened(text)
        guard shortened.utf8.count > Self.textByteCountMax else { return shortened }
        // Half a character at the cut becomes U+FFFD.
        let kept = String(decoding: shortened.utf8.prefix(Self.textByteCountMax), as: UTF8.self)
        return "\(kept)…(\(shortened.utf8.count) bytes)"
    }
}
