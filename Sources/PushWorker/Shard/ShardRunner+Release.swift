import KafkaLog
import NIOCore
import PushEngine
import PushModel

extension ShardRunner {
    /// Partitions on their way out together.
    struct Release {
        enum Step {
            /// Answers from APNs are awaited.
            case quieting
            /// What was left is written down; Kafka's acknowledgements are awaited.
            case writing
        }
        var partitions: [Int32]
        var step: Step
        /// When waiting for answers ends, and when waiting ends altogether; steady.
        var quietUntilMillis: Int64
        var endsAtMillis: Int64
        var promise: EventLoopPromise<ReleaseResult>
    }

    /// How partitions left.
    struct ReleaseResult: Sendable {
        /// To be committed before they are given up.
        var commits: [CommitPosition]
        /// Partitions of which something was not acknowledged in time: the next owner repeats it.
        var unfinished: [Int32]
    }

    /// Takes nothing more from these partitions, waits for answers, writes the rest down, waits for Kafka. `forget`
    /// comes after the commit.
    func release(_ numbers: [Int32], quietMillis: Int64, limitMillis: Int64) -> EventLoopFuture<ReleaseResult> {
        let promise = self.eventLoop.makePromise(of: ReleaseResult.self)
        let now = ShardClock.now()
        for index in self.partitions.indices where numbers.contains(self.partitions[index].number) {
            let partition = self.partitions[index]
            partition.section?.close()
            self.partitions[index].section = nil
            self.partitions[index].phase = .releasing
            if partition.hasRun {
                self.engine.beginRelease(partition: partition.number, now: now)
            } else {
                // What was read of `state` so far must not be written over what was not.
                self.engine.forget(partition: partition.number)
            }
        }
        self.releases.append(
            Release(
                partitions: numbers, step: .quieting, quietUntilMillis: now.steadyMillis + quietMillis,
                endsAtMillis: now.steadyMillis + limitMillis, promise: promise))
        self.noteChange()
        self.turn()
        return promise.futureResult
    }

    func advanceReleases(_ now: EngineTime) {
        for index in self.releases.indices.reversed() {
            let release = self.releases[index]
            if release.step == .quieting,
                now.steadyMillis >= release.quietUntilMillis
                    || release.partitions.allSatisfy({ self.engine.isQuiet(partition: $0) })
            {
                for partition in release.partitions { self.engine.finishRelease(partition: partition, now: now) }
                self.takeRecords(now)
                self.releases[index].step = .writing
                self.noteChange()
            }
            guard self.releases[index].step == .writing else { continue }
            let unfinished = release.partitions.filter { !self.engine.isReleased(partition: $0) }
            guard unfinished.isEmpty || now.steadyMillis >= release.endsAtMillis else { continue }
            self.releases.remove(at: index)
            self.takeCommits()
            let taken = self.commits.filter { release.partitions.contains($0.partition) }
            self.commits.removeAll { release.partitions.contains($0.partition) }
            release.promise.succeed(ReleaseResult(commits: taken, unfinished: unfinished))
        }
    }

    var releaseDueMillis: Int64? {
        self.releases.map { $0.step == .quieting ? $0.quietUntilMillis : $0.endsAtMillis }.min()
    }

    /// These partitions are somebody else's: everything about them leaves memory, uncommitted work included.
    func forget(_ numbers: [Int32]) {
        for release in self.releases where !Set(release.partitions).isDisjoint(with: numbers) {
            release.promise.succeed(ReleaseResult(commits: [], unfinished: release.partitions))
        }
        self.releases.removeAll { !Set($0.partitions).isDisjoint(with: numbers) }
        self.forgetRepairs(of: numbers)
        let now = ShardClock.now()
        for number in numbers {
            self.engine.forget(partition: number)
            self.outbox.forgetState(partition: number, in: &self.engine, now: now)
        }
        self.commits.removeAll { numbers.contains($0.partition) }
        for partition in self.partitions where numbers.contains(partition.number) { partition.section?.close() }
        self.partitions.removeAll { numbers.contains($0.number) }
        self.publish(now)
    }
}
