import NIOCore
import NIOPosix
import Synchronization

/// Asks shards for what they know, between two of their turns. A few questions run at a time, each with a time limit.
/// May be used from any thread.
final class ShardQuestions: Sendable {
    /// Why a question has no answer.
    enum Fault: Error, Equatable {
        /// The worker is starting or stopping.
        case notRunning
        /// `underWayMax` questions are waiting already.
        case busy
        /// A shard has not answered in time.
        case timedOut
    }

    private struct State {
        var shards: [ShardHandle] = []
        var underWay = 0
    }

    /// Maximum number of questions that wait for shards. A question that has timed out counts until its shard has
    /// answered.
    static let underWayMax = 8
    /// How long a question waits.
    static let waitMax = TimeAmount.seconds(2)

    private let state = Mutex(State())
    private let wait: TimeAmount

    init(wait: TimeAmount = ShardQuestions.waitMax) { self.wait = wait }

    /// Sets the shards that can be asked from now on. The list is empty when the worker stops.
    func use(_ shards: [ShardHandle]) { self.state.withLock { $0.shards = shards } }

    /// Asks one shard, or all.
    /// - Parameter number: the shard's number; `nil`: all shards.
    /// - Returns: the answers, in the order of shards.
    func ask<Answer: Sendable>(
        shard number: Int? = nil, _ question: @escaping @Sendable (ShardRunner) -> Answer
    ) async throws(Fault) -> [Answer] {
        let shards: Result<[ShardHandle], Fault> = self.state.withLock { state in
            guard !state.shards.isEmpty else { return .failure(.notRunning) }
            guard state.underWay < Self.underWayMax else { return .failure(.busy) }
            state.underWay += 1
            return .success(state.shards.filter { number == nil || $0.number == number })
        }
        let asked = try shards.get()
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answers = EventLoopFuture.whenAllSucceed(asked.map { $0.ask(question) }, on: loop)
        answers.whenComplete { _ in self.state.withLock { $0.underWay -= 1 } }
        let promise = loop.makePromise(of: [Answer].self)
        let timer = loop.scheduleTask(in: self.wait) { promise.fail(Fault.timedOut) }
        answers.whenComplete { result in
            timer.cancel()
            // An answer after the time limit has no effect, because the promise is completed already.
            promise.completeWith(result)
        }
        do {
            return try await promise.futureResult.get()
        } catch {
            // An error that is not a `Fault` means that the loop has ended.
            throw error as? Fault ?? .notRunning
        }
    }
}
