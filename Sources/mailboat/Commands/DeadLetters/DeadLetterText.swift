import CommandSupport
import Foundation
import KafkaLog
import PushInspection
import PushModel

/// Dead letters as lines for a person or a program. Values are shown only on demand, because they may hold tokens. A
/// program gets keys unchanged; for a person, anything in a key that looks like a token is shortened.
enum DeadLetterText {
    /// - Parameters:
    ///   - successor: the event that the letter was sent back as; `nil`: none is known.
    ///   - showsRecord: whether to show key and value as `mailboat publish` takes them.
    static func lines(
        _ letter: DeadLetter, _ verdict: DeadLetter.Verdict, sentBackAs successor: SentBackLetters.Event? = nil,
        showsRecord: Bool = false
    ) -> [String] {
        let source = letter.source.map { "\($0.topic)[\($0.partition)]@\($0.offset)" } ?? "unknown source"
        let written = Date(timeIntervalSince1970: Double(letter.writtenMillis) / 1_000).ISO8601Format()
        let key = letter.record.keyText.map { "key “\(TokenText.shortened($0).prefix(80))”" } ?? "no key"
        let value = letter.record.value.map { "\($0.count) bytes" } ?? "no value"
        let id = letter.eventID.map { ", id \(TokenText.shortened($0))" } ?? ""
        let again = letter.republishedFrom.map { "; republished from \($0) before" } ?? ""
        return [
            "\(letter.position)  \(written)  \(source)  \(key)\(id), \(value)\(again)",
            "    \(TokenText.shortened(letter.reason))",
            "    " + (successor.map { "was sent back as \($0.text)" } ?? Self.words(verdict)),
        ] + (showsRecord ? ["    \(Self.record(letter))"] : [])
    }

    /// Key and value of the letter, as one line of JSON. A value that is JSON is shown as it came, escapes and spaces
    /// included, but with a space for each line end and tab. Any other value is a string.
    private static func record(_ letter: DeadLetter) -> String {
        let key = letter.record.keyText.map(JSONTree.string) ?? .null
        return "{\"key\":\(key.text),\"value\":\(letter.record.value.map(Self.value) ?? "null")}"
    }

    private static func value(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard (try? JSONTree.parse(bytes)) != nil, Array(text.utf8) == bytes else { return JSONTree.string(text).text }
        // In JSON, a line end or a tab is never inside a string.
        return String(decoding: bytes.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    }

    private static func words(_ verdict: DeadLetter.Verdict) -> String {
        switch verdict {
        case .sendable(let condition): "can be republished" + (condition.map { ", \($0)" } ?? "")
        case .doubtful(let reason): "republish needs --force: \(reason)"
        case .impossible(let reason): "cannot be republished: \(reason)"
        }
    }

    private struct Line: Encodable {
        struct Source: Encodable {
            var topic: String
            var partition: Int32
            var offset: Int64
            var timestampMillis: Int64?
        }
        var partition: Int32
        var offset: Int64
        var writtenMillis: Int64
        var source: Source?
        var key: String?
        var eventID: String?
        var valueBytes: Int?
        var reason: String
        /// Whether the letter can be republished: `yes`, `force` or `no`.
        var republish: String
        var because: String?
        var republishedFrom: String?
        /// The event that the letter was sent back as.
        var sentBackAs: SentBackLetters.Event?
        /// The record, as one line of JSON.
        var record: String?
    }

    static func json(
        _ letter: DeadLetter, _ verdict: DeadLetter.Verdict, sentBackAs successor: SentBackLetters.Event? = nil,
        showsRecord: Bool = false
    ) -> String {
        let (republish, because): (String, String?) =
            switch verdict {
            case .sendable(let condition): ("yes", condition)
            case .doubtful(let reason): ("force", reason)
            case .impossible(let reason): ("no", reason)
            }
        return JSONLine.text(
            Line(
                partition: letter.partition, offset: letter.offset, writtenMillis: letter.writtenMillis,
                source: letter.source.map {
                    .init(
                        topic: $0.topic, partition: $0.partition, offset: $0.offset, timestampMillis: $0.timestampMillis
                    )
                },
                key: letter.record.keyText, eventID: letter.eventID, valueBytes: letter.record.value?.count,
                reason: letter.reason,
                republish: republish, because: because, republishedFrom: letter.republishedFrom,
                sentBackAs: successor,
                record: showsRecord ? Self.record(letter) : nil))
    }
}
