import KafkaLog
import Synchronization
import Testing

/// Tests of members that must leave before they have an assignment, and of how their clients end.
@Suite(.timeLimit(.minutes(5)))
struct LeavingWhileJoiningTests {
    /// Gets the log of a client and lives as long as that client. Sets `isDestroyed` when the client is destroyed.
    private final class ClientLog: Sendable {
        let progress: Progress
        let isDestroyed: Flag
        /// Whether the group has admitted the member but refused to assign partitions.
        let isAdmitted = Flag()

        init(_ progress: Progress, isDestroyed: Flag) {
            self.progress = progress
            self.isDestroyed = isDestroyed
        }

        deinit {
            self.isDestroyed.set()
            self.progress.made()
        }

        func take(_ line: KafkaLogLine) {
            guard line.text.contains("SyncGroup error") else { return }
            self.isAdmitted.set()
            self.progress.made()
        }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { self.value.load(ordering: .acquiring) }
        func set() { self.value.store(true, ordering: .releasing) }
    }

    private static func configuration(_ kafka: EmbeddedKafka, _ log: ClientLog) -> ConsumerConfiguration {
        var configuration = kafka.group("g", driver: "events", extra: KafkaSettings([.init("debug", "cgrp")]))
        configuration.log = { log.take($0) }
        return configuration
    }

    /// A member that was admitted to a cooperative-sticky group leaves before its first assignment. librdkafka before
    /// 2.3.0 ends the process by an assertion when it destroys such a member. So the test runs in its own process.
    @Test func aMemberWithoutAnAssignmentLeavesAndTheProcessEndsInGoodOrder() async {
        await #expect(processExitsWith: .success) {
            let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 4)])
            // Each SyncGroup request (14) is refused, so the member stays admitted without an assignment.
            kafka.failRequests(apiKey: 14, code: .rebalanceInProgress, count: 10_000)
            let progress = Progress()
            let isDestroyed = Flag()
            do {
                let log = ClientLog(progress, isDestroyed: isDestroyed)
                let consumer = try KafkaConsumer(Self.configuration(kafka, log))
                try consumer.start { _ in }
                guard await progress.wait(until: { log.isAdmitted.isSet }) else {
                    throw KafkaError(code: .timedOut, text: "the group did not admit the member")
                }
                guard await consumer.close(within: .seconds(10)) else {
                    throw KafkaError(code: .timedOut, text: "the member did not leave")
                }
            }
            // Nobody holds the client now, but it must not be destroyed. No event can report that, so the test waits a
            // second.
            _ = await progress.wait(.seconds(1)) { isDestroyed.isSet }
        }
    }

    @Test func aMemberThatHadAnAssignmentIsDestroyed() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 4)])
        let progress = Progress()
        let isDestroyed = Flag()
        do {
            let log = ClientLog(progress, isDestroyed: isDestroyed)
            let member = try TestMember(Self.configuration(kafka, log), progress: progress)
            try member.join()
            #expect(await progress.wait { member.snapshot.held.count == 4 })
            #expect(await member.leave())
        }
        #expect(await progress.wait { isDestroyed.isSet })
    }
}
