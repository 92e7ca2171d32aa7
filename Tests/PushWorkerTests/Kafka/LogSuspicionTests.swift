import ShardLoop
import Synchronization
import Testing

@testable import PushWorker

/// Tests of a queue whose topic was reported as missing.
@Suite struct LogSuspicionTests {
    /// A check finds out whether the topic is still the same. Its result makes the shard read the queue again, and that
    /// read returns the result. No record arrives from a deleted topic, so nothing else would cause a read.
    @Test(arguments: [nil, "another one"] as [String?])
    func anAnswerHasTheQueueReadAgain(reason: String?) {
        let asked = Mutex(0)
        let suspicion = LogSuspicion { asked.withLock { $0 += 1 } }
        #expect(suspicion.read?.recordCount == 0 && suspicion.read?.failure == nil, "nothing is read meanwhile")
        #expect(asked.withLock { $0 } == 0)
        suspicion.found(reason)
        #expect(asked.withLock { $0 } == 1)
        #expect((suspicion.read == nil) == (reason == nil))
        #expect(suspicion.read?.failure?.isFinal ?? true)
    }
}
