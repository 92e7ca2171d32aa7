import ShardLoop
import Synchronization
import Testing

@testable import PushWorker

/// Tests of a queue whose topic was reported missing.
@Suite struct LogSuspicionTests {
    /// No record arrives in the queue of a deleted topic. So the answer itself has to cause the next read, and that
    /// read reports the answer.
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
