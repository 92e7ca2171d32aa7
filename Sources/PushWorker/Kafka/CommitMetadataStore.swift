import PushEngine
import ShardLoop
import Synchronization

/// What the next commits will say about their logs. The shards write to the store once for each read of a queue and
/// each batch of acknowledgements. The committer reads it once for each commit. May be used from any thread.
final class CommitMetadataStore: Sendable {
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

    /// Adds partitions whose reading begins. Their next commits repeat this metadata until something newer is known.
    func own(_ metadata: [(position: CommitPosition, metadata: CommitMetadata)]) {
        self.state.withLock { state in
            for (position, metadata) in metadata {
                state.samples[Log(topic: position.topic, partition: position.partition)] = RecordSamples(
                    metadata.sample)
                if let start = metadata.stateStart { state.stateStarts[position.partition] = start }
                guard let end = metadata.stateEnd else { continue }
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

    /// Adds the last record that one read of a queue returned.
    func addSample(topic: UInt16, partition: Int32, _ sample: CommitMetadata.Sample) {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.add(sample) }
    }

    /// Sets how far Kafka has acknowledged `state`: the offset after the last acknowledged record. An owner's first
    /// marker does not count.
    func setStateEnds(_ ends: [(partition: Int32, end: Int64)]) {
        self.state.withLock { state in
            for (partition, end) in ends { state.stateEnds[partition] = end }
        }
    }

    /// The metadata for a commit of this position.
    func metadata(for position: CommitPosition) -> CommitMetadata {
        self.state.withLock { state in
            var metadata = CommitMetadata()
            metadata.sample = state.samples[Log(topic: position.topic, partition: position.partition)]?
                .newest(below: position.nextOffset)
            metadata.stateEnd = state.stateEnds[position.partition]
            metadata.stateStart = state.stateStarts[position.partition]
            for (index, topic) in self.inputTopics.enumerated() where index != Int(position.topic) {
                metadata.others[topic] = state.samples[Log(topic: UInt16(index), partition: position.partition)]?.last
            }
            return metadata
        }
    }

    /// The newest record that was read from this log.
    func lastSample(topic: UInt16, partition: Int32) -> CommitMetadata.Sample? {
        self.state.withLock { $0.samples[Log(topic: topic, partition: partition)]?.last }
    }
}
