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
        /// The limit of `underWayMax` waiting questions is reached.
        case busy
        /// A shard has not answered in time.
        case timedOut
    }

    private struct State {
        var shards: [ShardHandle] = []
        var underWay = 0
    }

    /// Most questions that wait for shards at once. One that has timed out counts until its shard has answered.
    static let underWayMax = 8
    /// How long a question waits.
    static let waitMax = TimeAmount.seconds(2)

    private let state = Mutex(State())
    private let wait: TimeAmount

    init(wait: TimeAmount = ShardQuestions.waitMax) { self.wait = wait }

    /// Sets the shards that can be asked from here on; none when the worker stops.
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
            // After the time limit the answer has no effect: the promise has been completed already.
            promise.completeWith(result)
        }
        do {
            return try await promise.futureResult.get()
        } catch {
            // A loop that has ended answers nobody.
            throw error as? Fault ?? .notRunning
        }
    }
}
