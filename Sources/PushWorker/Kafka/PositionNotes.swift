import PushEngine
import ShardLoop
import Synchronization

/// What the next commits say about the logs they refer to. The shards write it once for each read of a queue and each
/// batch of acknowledgements; the committer reads it once for each commit. May be used from any thread.
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
    /// The input topics by topic index.
    private let inputTopics: [String]

    init(inputTopics: [String]) { self.inputTopics = inputTopics }

    /// Takes over partitions that begin, with the notes of their last commits.
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

    /// Takes the last record that one read of a queue returned.
    func noteRead(topic: UInt16, partition: Int32, _ sample: PositionNote.Sample) {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.note(sample) }
    }

    /// Takes the (next) offsets of `state` up to which Kafka has acknowledged the records of owners at work.
    func noteStateEnds(_ ends: [(partition: Int32, end: Int64)]) {
        self.state.withLock { state in
            for (partition, end) in ends { state.stateEnds[partition] = end }
        }
    }

    /// The note that a commit of this position carries.
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

    /// The newest record that was read from this log.
    func lastSample(topic: UInt16, partition: Int32) -> PositionNote.Sample? {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.last }
    }
}
