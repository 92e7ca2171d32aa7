import Logging
import Testing

@testable import PushWorker

struct LimitReaderTests {
    private final class Shard: Sendable {}

    /// A reader that has ended releases its listeners, and with them the shards. Otherwise the shards' Kafka clients
    /// would look for brokers until the process ends.
    @Test(.timeLimit(.minutes(1))) func aReaderThatHasEndedHoldsNoListener() async {
        let reader = LimitReader(
            WorkerConfiguration(), TopicLimits(), log: nil, logger: Logger(label: "test") { _ in LogLines().handler })
        weak var heard: Shard?
        do {
            let shard = Shard()
            heard = shard
            reader.listen { _ in _ = shard }
        }
        #expect(heard != nil)
        let task = Task { await reader.run() }
        task.cancel()
        await task.value
        #expect(heard == nil)
    }
}
