import PushEngine
import ShardLoop
import Synchronization

/// What the next commits say of the logs that they are made from: the shards write it down once for each read of a queue and each batch of
/// acknowledgements, the committer reads it once for each commit. Any thread.
final class PositionNotes: Sendable {
    private struct Log: Hashable {
        var topic: UInt16
        var partition: Int32
    }
    private struct State {
        var samples: [Log: RecordSamples] = [:]
        var stateEnds: [Int32: Int64] = [:]
        var stateStarts: [Int32: Int64] = [:]
    }
    private let state = Mutex(State())
    /// By topic index.
    private let inputTopics: [String]

    init(inputTopics: [String]) { self.inputTopics = inputTopics }

    /// These partitions begin, with what their last commits said.
    func own(_ notes: [(position: CommitPosition, note: PositionNote)]) {
        self.state.withLock { state in
            for (position, note) in notes {
                state.samples[Log(topic: position.topic, partition: position.partition)] = RecordSamples(note.sample)
                if let start = note.stateStart { state.stateStarts[position.partition] = start }
                guard let end = note.stateEnd else { continue }
                state.stateEnds[position.partition] = max(end, state.stateEnds[position.partition] ?? 0)
            }
        }
    }

    func forget(_ partitions: [Int32]) {
        self.state.withLock { state in
            state.samples = state.samples.filter { !partitions.contains($0.key.partition) }
            for partition in partitions {
                state.stateEnds[partition] = nil
                state.stateStarts[partition] = nil
            }
        }
    }

    /// The last record that one read of a queue brought.
    func noteRead(topic: UInt16, partition: Int32, _ sample: PositionNote.Sample) {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.note(sample) }
    }

    /// Kafka has acknowledged records of owners at work up to these offsets of `state`, the next ones.
    func noteStateEnds(_ ends: [(partition: Int32, end: Int64)]) {
        self.state.withLock { state in
            for (partition, end) in ends { state.stateEnds[partition] = end }
        }
    }

    /// What a commit of this position says.
    func note(of position: CommitPosition) -> PositionNote {
        self.state.withLock { state in
            var note = PositionNote()
            note.sample = state.samples[Log(topic: position.topic, partition: position.partition)]?
                .newest(below: position.nextOffset)
            note.stateEnd = state.stateEnds[position.partition]
            note.stateStart = state.stateStarts[position.partition]
            for (index, topic) in self.inputTopics.enumerated() where index != Int(position.topic) {
                note.others[topic] = state.samples[Log(topic: UInt16(index), partition: position.partition)]?.last
            }
            return note
        }
    }

    /// The newest record read of this log.
    func lastSample(topic: UInt16, partition: Int32) -> PositionNote.Sample? {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.last }
    }
}
