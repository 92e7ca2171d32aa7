import ChannelKeeping
import PushModel

/// What the partition of a channel asks the keeper of its app's channels before the channel's first broadcast, and what that answers (fan-out contract: Mixed audiences;
/// events sent straight to a kept channel are rejected). The key of both is the channel's id, and values are version 1.
extension BusRecord {
    struct KeptQuestion: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        /// Where the channel's slot is, and the answer goes.
        var partition: Int32 = 0
    }
    struct KeptAnswer: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        /// The channel is one of the keeper's.
        var isKept = false
        /// For whom; empty: for an audience that has not come yet, or nobody.
        var audience: [UInt8] = []
    }

    static func byteCountMax(_ question: borrowing KeptQuestion) -> Int {
        3 * ByteCursor.leb128ByteCountMax + question.bundleID.count
    }
    static func byteCountMax(_ answer: borrowing KeptAnswer) -> Int {
        5 * ByteCursor.leb128ByteCountMax + answer.bundleID.count + answer.audience.count
    }

    static func write(_ question: borrowing KeptQuestion, to writer: inout ByteCursor) {
        Self.writeHead(question.bundleID, question.environment, to: &writer)
        writer.signed(Int64(question.partition))
    }
    static func write(_ answer: borrowing KeptAnswer, to writer: inout ByteCursor) {
        Self.writeHead(answer.bundleID, answer.environment, to: &writer)
        writer.byte(answer.isKept ? 1 : 0)
        if answer.isKept { writer.run(answer.audience.span) }
    }

    static func readKeptQuestion(_ value: Span<UInt8>) throws(StateError) -> KeptQuestion {
        var reader = StateReader(value)
        let head = try Self.readChannelHead(&reader)
        guard let partition = Int32(exactly: try reader.signed()), partition >= 0 else {
            throw .malformed("a partition number")
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a question about a channel") }
        return KeptQuestion(bundleID: head.bundleID, environment: head.environment, partition: partition)
    }
    static func readKeptAnswer(_ value: Span<UInt8>) throws(StateError) -> KeptAnswer {
        var reader = StateReader(value)
        let head = try Self.readChannelHead(&reader)
        var answer = KeptAnswer(bundleID: head.bundleID, environment: head.environment)
        switch try reader.byte() {
        case 0: break
        case 1:
            answer.isKept = true
            answer.audience = try reader.run(byteCountMax: KeptChannelCodec.audienceByteCountMax)
        case let standing: throw .malformed("an answer of kind \(standing) about a channel")
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind an answer about a channel") }
        return answer
    }
}

extension Journal {
    /// The partition of a channel asks the keeper.
    mutating func askKeeper(
        _ question: BusRecord.KeptQuestion, channel: Span<UInt8>, at partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .keptQuestion, id: channel, to: partition, byteCountMax: BusRecord.byteCountMax(question),
            acknowledgement: acknowledgement
        ) { BusRecord.write(question, to: &$0) }
    }
    /// The keeper answers.
    mutating func answerKept(
        _ answer: BusRecord.KeptAnswer, channel: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .keptAnswer, id: channel, to: partition, byteCountMax: BusRecord.byteCountMax(answer),
            acknowledgement: acknowledgement
        ) { BusRecord.write(answer, to: &$0) }
    }
}
