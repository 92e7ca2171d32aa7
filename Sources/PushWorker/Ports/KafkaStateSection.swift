import KafkaLog
import PushEngine
import PushModel
import ShardLoop

/// A part of `state` as the loop reads it.
final class KafkaStateSection: StateSection {
    private let section: LogSection
    private let isReadable = ReadableFlag()

    /// Starts waking the shard when something can be read.
    init(_ section: LogSection, waker: ShardWaker) {
        self.section = section
        let flag = self.isReadable
        section.onReadable {
            flag.set()
            waker.wake()
        }
    }

    func takeReadable() -> Bool { self.isReadable.take() }

    func read(max: Int, _ body: StateRecordBody) -> SectionRead {
        let result = self.section.read(max: max) { record in
            body(record.key, record.value, !record.hasValue, Self.header(record), record.offset)
        }
        return SectionRead(
            recordCount: result.recordCount, mayHaveMore: result.mayHaveMore, isFinished: result.isFinished,
            failure: result.failure.map { LogFailure($0.haltReason ?? "\($0)", isFinal: $0.haltReason != nil) })
    }

    func close() { self.section.close() }

    private static func header(_ record: borrowing KafkaRecord) -> StateHeader? {
        // Among records with a value, only a marker has headers that are read here. Its key is a single byte.
        guard !record.hasValue || record.key.count == 1 else { return nil }
        return StateHeader(isTombstone: !record.hasValue) { header in
            record.withHeader(header.name) { value, isPresent in isPresent ? DecimalDigits.value(of: value) : nil }
        }
    }
}

extension PartitionFailure {
    /// Why the partition must halt; `nil` when librdkafka continues by itself.
    var haltReason: String? {
        switch self {
        case .offsetOutOfRange(let position, let text): "\(position) is outside the log: \(text)"
        case .noCommittedOffset(let partition): "\(partition) was started without a position"
        case .failed(let partition, let error): error.isRetriable ? nil : "\(partition) cannot be read: \(error)"
        }
    }

    /// Why a partition of the input must halt, and what a person has to do; `nil` when librdkafka continues by itself.
    var inputHaltReason: String? {
        switch self {
        case .offsetOutOfRange(let position, _):
            "\(position), which is to be read next, is outside the log: retention has cut off events while they waited, or the topic was created again; \(PositionRemedy.text)"
        case .failed(_, let error) where error.isRefusal:
            self.haltReason.map { "\($0); then start the worker again" }
        case .noCommittedOffset, .failed: self.haltReason
        }
    }
}
