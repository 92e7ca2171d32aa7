import KafkaLog
import NIOCore
import PushEngine
import PushTransport
import ShardLoop

/// A shard as the rest of the worker sees it, from any thread. Every call is executed on the shard's loop.
struct ShardHandle: Sendable {
    let number: Int
    let eventLoop: any EventLoop
    private let runner: NIOLoopBound<ShardRunner>

    /// Makes the handle; called on the shard's loop.
    init(_ runner: ShardRunner) {
        self.number = runner.number
        self.eventLoop = runner.eventLoop
        self.runner = NIOLoopBound(runner, eventLoop: runner.eventLoop)
    }

    func assign(_ grants: [(grant: PartitionGrant, readers: [PartitionReader])]) {
        let runner = self.runner
        self.eventLoop.execute { runner.value.assign(grants) }
    }

    /// Releases partitions, see `ShardCommand.release`.
    func release(_ partitions: [Int32], times: ReleaseTimes) async throws -> ReleasedPositions {
        let runner = self.runner
        return try await self.eventLoop.flatSubmit {
            runner.value.release(partitions, times: times)
        }.get()
    }

    /// Lets the shard forward records below these positions. They are positions in inlets: partitions that an input
    /// topic got after `state` was written (`InletGate`).
    func letIn(_ positions: [CommitPosition]) {
        let runner = self.runner
        self.eventLoop.execute { runner.value.carryOut(.letIn(positions)) }
    }

    func forget(_ partitions: [Int32]) async throws {
        let runner = self.runner
        try await self.eventLoop.submit { runner.value.carryOut(.forget(partitions)) }.get()
    }

    /// The faults that prevent the running shard from taking a configuration; empty when it can take it.
    func reconfigurationFaults(_ configuration: ShardLoopConfiguration) async throws -> [ReconfigurationFault] {
        let runner = self.runner
        return try await self.eventLoop.submit { runner.value.reconfigurationFaults(configuration) }.get()
    }

    /// Gives the shard a configuration, which it uses from its next turn on. See `ShardLoop.reconfigure` and
    /// `ShardTransport.follow`.
    func reconfigure(
        _ configuration: ShardLoopConfiguration, routes: [RouteConfiguration], bundleIDs: [String]
    ) async throws {
        let runner = self.runner
        try await self.eventLoop.submit {
            try runner.value.reconfigure(configuration, routes: routes, bundleIDs: bundleIDs)
        }.get()
    }

    /// The shard's answer, computed between two turns. Fails when the shard's loop has ended.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (ShardRunner) -> Answer
    ) -> EventLoopFuture<Answer> {
        let runner = self.runner
        return self.eventLoop.submit { question(runner.value) }
    }

    /// Gives the shard the size limits of topics.
    func limit(_ limits: RecordLimits) {
        let runner = self.runner
        self.eventLoop.execute { runner.value.carryOut(.limit(limits)) }
    }

    /// Stops taking records from Kafka.
    func stopReading() {
        let runner = self.runner
        self.eventLoop.execute { runner.value.carryOut(.stopReading) }
    }

    func close() async throws {
        let runner = self.runner
        try await self.eventLoop.submit { runner.value.close() }.get()
    }
}
