import Foundation
import PushModel
import Testing

@testable import PushEngine

/// Records as bytes, made once and kept in `Tests/Golden`. A change to how a record is written or read shows here, even
/// if writing and reading change in the same way.
///
/// A line has a name and a record in hex. If the record has other bytes after it was read and written again, these
/// follow `->`. If it is refused, the reason follows `!`. The part of the name before the dot is the record's kind.
struct GoldenFile {
    struct Record: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        /// The bytes that result if the record is read and written again; `nil` if it is refused.
        var again: [UInt8]?
        var refusal: String?
        var testDescription: String { self.name }

        /// The record as a line of its file.
        var line: String {
            var line = "\(self.name) \(Self.hex(self.bytes))"
            if let refusal = self.refusal { line += " ! \(refusal)" }
            if let again = self.again, again != self.bytes { line += " -> \(Self.hex(again))" }
            return line
        }
        private static func hex(_ bytes: [UInt8]) -> String {
            var digits: [UInt8] = []
            Hex.append(bytes.span, to: &digits)
            return String(decoding: digits, as: UTF8.self)
        }

        init(name: String, bytes: [UInt8], again: [UInt8]? = nil, refusal: String? = nil) {
            self.name = name
            self.bytes = bytes
            self.again = again
            self.refusal = refusal
        }
        /// Reads the record with today's code.
        init(reading bytes: [UInt8], name: String) {
            self.init(name: name, bytes: bytes)
            do throws(StateError) {
                self.again = try GoldenReading.again(bytes, of: name)
            } catch {
                self.refusal = "\(error)"
            }
        }
        fileprivate init?(line: String) {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            guard words.count == 2 || words.count == 4, let bytes = Self.bytes(words[1]) else { return nil }
            self.init(name: words[0], bytes: bytes, again: bytes)
            guard words.count == 4 else { return }
            switch words[2] {
            case "->": self.again = Self.bytes(words[3])
            case "!":
                self.again = nil
                self.refusal = words[3]
            default: return nil
            }
        }
        private static func bytes(_ hex: String) -> [UInt8]? {
            let digits = Array(hex.utf8).map { Character(UnicodeScalar($0)).hexDigitValue }
            guard digits.count.isMultiple(of: 2) else { return nil }
            var bytes: [UInt8] = []
            for index in stride(from: 0, to: digits.count, by: 2) {
                guard let high = digits[index], let low = digits[index + 1] else { return nil }
                bytes.append(UInt8(high << 4 | low))
            }
            return bytes
        }
    }

    static let state = Self.records("state.txt")
    static let routed = Self.records("routed.txt")
    /// Records that no release writes.
    static let broken = Self.records("broken.txt")

    /// For each record, a hash of the results of reading all its broken forms. See `GoldenRecordTests`.
    static let sweeps = Dictionary(
        Self.lines("sweeps.txt").map { $0.split(separator: " ").map(String.init) }.filter { $0.count == 2 }.map {
            ($0[0], $0[1])
        },
        uniquingKeysWith: { first, _ in first })

    private static func records(_ name: String) -> [Record] {
        Self.lines(name).map { line in
            Record(line: line) ?? Record(name: "?", bytes: [], refusal: "no line of a golden file: \(line.prefix(80))")
        }
    }
    private static func lines(_ name: String) -> [String] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = (try? String(contentsOf: tests.appending(path: "Golden/\(name)"), encoding: .utf8)) ?? ""
        return text.components(separatedBy: "\n").filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
