import ShardLoop
import Synchronization
import Testing

@testable import PushWorker

/// A queue whose topic was said not to exist.
@Suite struct LogSuspicionTests {
    /// Nothing comes in the queue of a deleted topic: without being asked to, nobody would read it again and hear the answer.
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
