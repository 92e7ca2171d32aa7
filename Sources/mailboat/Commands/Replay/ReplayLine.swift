import CommandSupport
import KafkaLog
import PushModel

/// What `mailboat replay` does with an event, as a line for a person or a program. Values are not shown, because they
/// may hold tokens.
struct ReplayLine {
    private let source: TopicPartitionOffset
    private let writtenMillis: Int64
    private let key: String?
    private let event: String
    /// What was done: `left-out`, `would-publish` or `published`.
    var action = "left-out"
    /// Why the event was left out.
    var because: String?
    /// Position of the new record.
    var to: TopicPartitionOffset?

    /// Creates a line.
    /// - Parameter source: the event's first position.
    init(source: TopicPartitionOffset, _ record: OwnedRecord) {
        self.source = source
        self.writtenMillis = record.timestampMillis
        self.key = record.keyText
        self.event = ReplayJudge.word(record)
    }

    var text: String {
        let key = self.key.map { "“\(TokenText.shortened($0).prefix(80))”" } ?? "no key"
        let action = self.action.replacing("-", with: " ")
        return "\(action)".padding(to: 14) + "\(self.source)  \(key)  \(self.event)"
            + (self.because.map { ": \($0)" } ?? "") + (self.to.map { " as \($0)" } ?? "")
    }

    private struct Line: Encodable {
        struct Position: Encodable {
            var topic: String
            var partition: Int32
            var offset: Int64
        }
        var source: Position
        var writtenMillis: Int64
        var key: String?
        var event: String
        var action: String
        var because: String?
        var to: Position?
    }

    var json: String {
        func position(_ position: TopicPartitionOffset) -> Line.Position {
            .init(topic: position.topic, partition: position.partition, offset: position.offset)
        }
        return JSONLine.text(
            Line(
                source: position(self.source), writtenMillis: self.writtenMillis, key: self.key, event: self.event,
                action: self.action, because: self.because, to: self.to.map(position)))
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: " ", count: Swift.max(1, count - self.count))
    }
}
