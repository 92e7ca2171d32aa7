import CommandSupport
import KafkaLog

/// What `mailboat dead-letters republish` does with a letter, as a line for a person or a program.
struct RepublishLine {
    /// The action. A program gets the raw value.
    enum Action: String {
        case leftOut = "left-out"
        case wouldSend = "would-send"
        case sent
        case notSent = "not-sent"
    }

    private let partition: Int32
    private let offset: Int64
    private let action: Action
    /// The target topic; `nil`: the letter was left out.
    var topic: String?
    /// Partition of `topic`; `nil`: not chosen yet.
    var toPartition: Int32?
    /// Offset of the new record.
    var toOffset: Int64?
    /// Why the letter was left out or not sent; or on which condition workers take an event that would be sent.
    var because: String?

    init(_ action: Action, _ letter: DeadLetter) {
        self.init(action, partition: letter.partition, offset: letter.offset)
    }

    /// Creates a line.
    /// - Parameters:
    ///   - partition: partition of the dead-letter topic.
    ///   - offset: offset of the letter in it.
    init(_ action: Action, partition: Int32, offset: Int64) {
        self.action = action
        self.partition = partition
        self.offset = offset
    }

    var text: String {
        let words = self.action.rawValue.replacing("-", with: " ")
        var text = words + String(repeating: " ", count: max(1, 11 - words.count)) + "\(self.partition):\(self.offset)"
        if let topic {
            text += " to \(topic)" + (self.toPartition.map { "[\($0)]" } ?? "") + (self.toOffset.map { "@\($0)" } ?? "")
        }
        return text + (self.because.map { ": \($0)" } ?? "")
    }

    private struct Line: Encodable {
        struct Position: Encodable {
            var topic: String
            var partition: Int32?
            var offset: Int64?
        }
        var partition: Int32
        var offset: Int64
        var action: String
        var to: Position?
        var because: String?
    }

    var json: String {
        JSONLine.text(
            Line(
                partition: self.partition, offset: self.offset, action: self.action.rawValue,
                to: self.topic.map { .init(topic: $0, partition: self.toPartition, offset: self.toOffset) },
                because: self.because))
    }
}
