import Foundation
import LocalFiles
import Redaction

/// Header fields that a collector needs, such as `authorization`. They are secrets, so they are read from a file or the
/// environment.
struct OTLPHeaders: Equatable, Sendable {
    /// Maximum number of fields.
    static let countMax = 32
    /// Maximum number of bytes of the file.
    static let byteCountMax = 16_384

    private(set) var fields: [(name: String, value: String)] = []

    /// Why a file's content is not a list of header fields. The text does not contain the content.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Names of fields that the request sets itself.
    private static let reserved: Set<String> = [
        "host", "content-type", "content-length", "transfer-encoding", "connection", "user-agent",
    ]

    /// Reads one field from each line, `name: value`. Empty lines and those that begin with `#` are skipped.
    init(_ content: [UInt8]) throws(Fault) {
        let lines = content.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d })
        for (index, line) in lines.enumerated() {
            let text = String(decoding: line, as: UTF8.self).trimmingBlanks
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let colon = text.firstIndex(of: ":") else {
                throw Fault(description: "has a line \(index + 1) without a colon: expected name: value")
            }
            try self.append(
                String(text[..<colon]), text[text.index(after: colon)...].trimmingBlanks, location: "line \(index + 1)",
                expected: "name: value")
        }
        try self.checkCount()
    }

    /// Reads the form that an environment variable has: `name=value`, separated by commas, each value percent-encoded.
    init(list text: String) throws(Fault) {
        let entries = text.split(separator: ",").filter { !$0.allSatisfy(\.isWhitespace) }
        for (index, entry) in entries.enumerated() {
            let location = "entry \(index + 1)"
            guard let equals = entry.firstIndex(of: "="),
                let value = entry[entry.index(after: equals)...].trimmingBlanks.removingPercentEncoding
            else {
                throw Fault(
                    description: "has an \(location) that is none: expected name=value, its value percent-encoded")
            }
            try self.append(entry[..<equals].trimmingBlanks, value, location: location, expected: "name=value")
        }
        try self.checkCount()
    }

    private mutating func append(
        _ name: String, _ value: String, location: String, expected: String
    ) throws(Fault) {
        let name = name.lowercased()
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isToken) else {
            throw Fault(description: "names no header field on \(location): expected \(expected)")
        }
        guard !Self.reserved.contains(name) else {
            throw Fault(description: "names \(name), which the exporter sets itself: expected other fields")
        }
        guard value.utf8.allSatisfy({ (0x20...0x7e).contains($0) || $0 == 0x09 }) else {
            throw Fault(description: "has something else than visible ASCII characters on \(location)")
        }
        self.fields.append((name, value))
    }

    private func checkCount() throws(Fault) {
        guard self.fields.count <= Self.countMax else {
            throw Fault(description: "names \(self.fields.count) header fields: expected \(Self.countMax) at most")
        }
    }

    /// Reads the file. Blocks on the disk. The fault names the path.
    static func read(path: String) throws(Fault) -> OTLPHeaders {
        let content: [UInt8]
        do throws(FileFailure) {
            content = try InputFile.read(path, byteCountMax: Self.byteCountMax)
        } catch {
            throw Fault(description: error.description)
        }
        do throws(Fault) { return try OTLPHeaders(content) } catch {
            throw Fault(description: "\(ShownText.path(path) ?? "the file") \(error.description)")
        }
    }

    /// Whether the byte may be part of a token (RFC 9110 §5.6.2).
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    static func == (left: Self, right: Self) -> Bool {
        left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at both ends.
    var trimmingBlanks: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(self.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}

extension OTLPHeaders: Redacted {}
