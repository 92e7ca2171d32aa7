import CRDKafka
import Synchronization

/// What a consumer does on its control thread. All methods run on that thread.
///
/// A rebalance step begins with an event of librdkafka and ends with `incremental_assign` or `incremental_unassign`.
/// Meanwhile the thread continues to poll, so that commit answers and errors still arrive. Polling also satisfies
/// `max.poll.interval.ms`, no matter how long the worker drains.
final class ConsumerControl {
    private let client: ClientHandle
    private let inbox: ControlInbox
    private let configuration: ConsumerConfiguration
    private let handler: @Sendable (ConsumerEvent) -> Void

    /// Readers by partition number: one for each topic. Partitions whose assignment is not completed yet are included.
    private var readers: [Int32: [PartitionReader]] = [:]
    /// Partitions that librdkafka was told to fetch. Only these may be in a list of partitions to give up.
    private var begun: Set<TopicPartition> = []
    /// Partitions that `PartitionAssignment.begin` has named. They wait while a rebalance is open, because
    /// `incremental_assign` would complete that rebalance.
    private var toBegin: [(reader: PartitionReader, start: LogStart)] = []
    private var steps = RebalanceSteps()
    private let waker: FetchWaker
    private var groupLookDue = ContinuousClock.now
    private var closing: Closing?
    /// Completions of further calls of `close` during the first one.
    private var waitingCloseCompletions: [@Sendable (Bool) -> Void] = []
    private var isEnded = false

    /// A close that has begun, with the queue to which librdkafka posts events meanwhile
    /// (`rd_kafka_consumer_close_queue`).
    private final class Closing {
        let queue: KafkaQueue
        let deadline: ContinuousClock.Instant
        let completion: @Sendable (Bool) -> Void

        init(
            queue: consuming KafkaQueue, deadline: ContinuousClock.Instant,
            completion: @escaping @Sendable (Bool) -> Void
        ) {
            self.queue = queue
            self.deadline = deadline
            self.completion = completion
        }
    }

    /// Maximum time of one poll: after this time `haveGroupLookedAt` is due again. A command interrupts a poll. A
    /// step's deadline does not, so `pollWait` ends the poll at the deadline.
    private static let pollWaitMax = ConsumerControl.groupLookInterval
    private static let groupLookInterval: Duration = .milliseconds(100)
    private static let closePollWaitMax: Duration = .milliseconds(20)

    init(
        client: ClientHandle, inbox: ControlInbox, configuration: ConsumerConfiguration, waker: FetchWaker,
        handler: @escaping @Sendable (ConsumerEvent) -> Void
    ) {
        self.client = client
        self.inbox = inbox
        self.configuration = configuration
        self.waker = waker
        self.handler = handler
    }

    func run() {
        while true {
            for command in self.inbox.takeCommands() { self.perform(command) }
            self.completeOverdueSteps()
            self.beginOutsideRebalance()
            if self.isCloseOver() { return }
            self.haveGroupLookedAt()
            let wait = self.pollWait
            let event =
                if let closing = self.closing {
                    rd_kafka_queue_poll(closing.queue.pointer, wait)
                } else {
                    self.inbox.withQueue { rd_kafka_queue_poll($0, wait) }
                }
            guard let event else { continue }
            self.handle(event)
            rd_kafka_event_destroy(event)
        }
    }

    /// Wakes librdkafka's main thread, so that it sends a heartbeat that is due, or joins the group again. Otherwise
    /// the thread sleeps until an answer or a timer, up to half a second (`rd_kafka_thread_main` of 2.0.2). Without
    /// this call, a rebalance would have two or three such waits.
    private func haveGroupLookedAt() {
        let now = ContinuousClock.now
        guard self.closing == nil, now >= self.groupLookDue else { return }
        self.groupLookDue = now + Self.groupLookInterval
        // Any call that the main thread must answer wakes that thread, and this call is answered at once.
        _ = rd_kafka_rebalance_protocol(self.client.pointer)
    }

    private var pollWait: Int32 {
        var wait = self.closing == nil ? Self.pollWaitMax : Self.closePollWaitMax
        if let next = self.steps.nextDeadline { wait = min(wait, max(.milliseconds(1), next - .now)) }
        return wait.wholeMillis
    }

    // MARK: librdkafka's events

    private func handle(_ event: OpaquePointer) {
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_REBALANCE: self.rebalance(event)
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
            let token = UInt64(UInt(bitPattern: rd_kafka_event_opaque(event)))
            guard let pending = self.inbox.takeCommit(token) else { return }
            pending.completion(CommitResult(event: event, asked: pending.positions))
        case RD_KAFKA_EVENT_ERROR:
            var error = KafkaError(event: event, client: self.client)
            // librdkafka names neither the group nor the subscribed topic in these errors.
            if error.code == .groupAuthorizationFailed || error.code == .inconsistentGroupProtocol {
                error.subject = .group(self.configuration.groupID)
            }
            if error.code == .topicAuthorizationFailed {
                error = error.needing(.read)
                error.subject = .topic(self.configuration.driverTopic)
            }
            self.handler(.failed(error))
        case RD_KAFKA_EVENT_STATS:
            if let text = rd_kafka_event_stats(event) { self.handler(.statistics(String(cString: text))) }
        default: break
        }
    }

    private func rebalance(_ event: OpaquePointer) {
        let list = rd_kafka_event_topic_partition_list(event)
        // librdkafka names only the driver topic. The riding topics get partitions with equal numbers.
        let partitions = (list.map { PartitionList.elements(of: $0) } ?? []).map(\.topicPartition.partition).sorted()
        switch rd_kafka_event_error(event) {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            // From here on the client can be destroyed safely, because its assignor has an assignment (see
            // `KafkaConsumer.start`).
            self.client.isIndestructible.store(false, ordering: .releasing)
            self.offer(partitions)
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            self.revoke(partitions, isLost: rd_kafka_assignment_lost(self.client.pointer) != 0)
        case let failure:
            self.handler(.failed(KafkaError(failure, subject: .group(self.configuration.groupID))))
            rd_kafka_assign(self.client.pointer, nil)
        }
    }

    // MARK: Assignment

    private func offer(_ partitions: [Int32]) {
        let step = self.openStep(.assignment, partitions, for: self.configuration.assignmentDurationMax)
        let topics = self.configuration.topics
        var offered: [PartitionReader] = []
        for (topicIndex, name) in topics.enumerated() {
            // The group reads this topic, so librdkafka knows the topic and does not refuse it.
            guard let topic = try? KafkaTopic(name, client: self.client) else { continue }
            for partition in partitions {
                // The partition's queue is separated from the main queue before the partition is assigned, so that no
                // record gets into the main queue.
                guard let queue = rd_kafka_queue_get_partition(self.client.pointer, name, partition) else { continue }
                rd_kafka_queue_forward(queue, nil)
                offered.append(
                    PartitionReader(
                        topic: topic, partition: partition, topicIndex: topicIndex, queue: KafkaQueue(queue)))
            }
        }
        for partition in partitions {
            self.closeReaders(of: partition)
            self.readers[partition] = offered.filter { $0.topicPartition.partition == partition }
        }
        self.handler(
            .assigned(
                PartitionAssignment(
                    partitions: partitions, topics: topics, readers: offered,
                    later: { [inbox] readers, starts in inbox.send(.begin(readers: readers, starts: starts)) }
                ) { [inbox, id = step.id] starts in
                    inbox.completeStep(id, .assign(id: id, starts: starts))
                }))
    }

    /// Tells librdkafka where the partitions of a step begin.
    /// - Parameter starts: one for each partition of the first topic, then of the next; `nil`: the partition begins
    ///   later.
    private func assign(_ step: RebalanceSteps.Step, starts: [LogStart?]) {
        let topics = self.configuration.topics
        let list = PartitionList(capacity: step.partitions.count * topics.count)
        var index = 0
        for topic in topics {
            for partition in step.partitions {
                defer { index += 1 }
                guard index < starts.count, let start = starts[index] else { continue }
                list.add(topic, partition, offset: start.rawOffset)
                self.begun.insert(TopicPartition(topic: topic, partition: partition))
            }
        }
        if self.isCooperative {
            self.report(rd_kafka_incremental_assign(self.client.pointer, list.pointer))
        } else {
            self.report(rd_kafka_assign(self.client.pointer, list.pointer))
        }
        self.wakeFetching()
    }

    /// Adds the partitions in `toBegin` to the assignment, outside of a rebalance. A partition that was revoked
    /// meanwhile has no reader here and is left out.
    private func beginOutsideRebalance() {
        guard !self.toBegin.isEmpty, self.steps.open.isEmpty, self.closing == nil else { return }
        let list = PartitionList(capacity: self.toBegin.count)
        for (reader, start) in self.toBegin {
            let partition = reader.topicPartition
            guard self.readers[partition.partition]?.contains(where: { $0 === reader }) == true,
                self.begun.insert(partition).inserted
            else { continue }
            list.add(partition.topic, partition.partition, offset: start.rawOffset)
        }
        self.toBegin = []
        guard list.count > 0 else { return }
        self.report(rd_kafka_incremental_assign(self.client.pointer, list.pointer))
        self.wakeFetching()
    }

    // MARK: Revocation

    private func revoke(_ partitions: [Int32], isLost: Bool) {
        // An open assignment of these partitions ends here. If the worker completes it later, that changes nothing.
        for id in self.steps.removeAssignments(of: partitions) { _ = self.inbox.claimStep(id) }
        let step = self.openStep(.revocation, partitions, for: self.configuration.revocationDurationMax)
        self.handler(
            .revoked(
                PartitionRevocation(partitions: partitions, isLost: isLost, deadline: step.deadline) {
                    [inbox, id = step.id] in
                    inbox.completeStep(id, .unassign(id: id))
                }))
    }

    private func unassign(_ step: RebalanceSteps.Step) {
        // Readers are closed before librdkafka gives the partitions up: a reader must not get records of a later
        // assignment.
        for partition in step.partitions { self.closeReaders(of: partition) }
        guard self.isCooperative else {
            self.begun = []
            self.report(rd_kafka_assign(self.client.pointer, nil))
            return
        }
        let leaving = self.configuration.topics.flatMap { topic in
            step.partitions.map { TopicPartition(topic: topic, partition: $0) }
        }
        // The list may only have partitions that librdkafka was told to fetch. If it had any other partition,
        // librdkafka would refuse the whole list.
        let list = PartitionList(leaving.filter { self.begun.remove($0) != nil })
        self.report(rd_kafka_incremental_unassign(self.client.pointer, list.pointer))
        self.wakeFetching()
    }

    /// Wakes the threads that fetch the assigned partitions. A rebalance pauses fetching, and nothing else wakes the
    /// threads when the pause ends.
    private func wakeFetching() {
        guard self.closing == nil else { return }
        self.waker.wake(self.readers.values.joined().map(\.topicPartition).filter(self.begun.contains))
    }

    private func closeReaders(of partition: Int32) {
        for reader in self.readers.removeValue(forKey: partition) ?? [] { reader.close() }
    }

    // MARK: Steps

    private func openStep(
        _ kind: RebalanceSteps.Step.Kind, _ partitions: [Int32], for limit: Duration
    ) -> RebalanceSteps.Step {
        var deadline = ContinuousClock.now + limit
        if self.closing != nil { deadline = min(deadline, self.drainDeadline) }
        let step = self.steps.open(kind, partitions, deadline: deadline)
        self.inbox.openStep(step.id)
        return step
    }

    private func completeOverdueSteps() {
        // A step that the worker has just completed cannot be claimed. Its command is in the inbox.
        for step in self.steps.overdue(at: .now) where self.inbox.claimStep(step.id) {
            _ = self.steps.take(step.id)
            switch step.kind {
            case .assignment:
                self.assign(
                    step,
                    starts: Array(
                        repeating: .committed, count: step.partitions.count * self.configuration.topics.count))
            case .revocation: self.unassign(step)
            }
            self.handler(.rebalanceOverdue(partitions: step.partitions, isAssignment: step.kind == .assignment))
        }
    }

    private var isCooperative: Bool {
        guard let name = rd_kafka_rebalance_protocol(self.client.pointer) else { return false }
        return String(cString: name) == "COOPERATIVE"
    }

    private func report(_ error: OpaquePointer?) {
        if let error { self.handler(.failed(KafkaError(taking: error, subject: .group(self.configuration.groupID)))) }
    }

    private func report(_ error: rd_kafka_resp_err_t) {
        guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
        self.handler(.failed(KafkaError(error, subject: .group(self.configuration.groupID))))
    }

    // MARK: Commands and the end

    private func perform(_ command: ControlInbox.Command) {
        switch command {
        case .assign(let id, let starts):
            if let step = self.steps.take(id) { self.assign(step, starts: starts) }
        case .begin(let readers, let starts): self.toBegin += zip(readers, starts).map { (reader: $0, start: $1) }
        case .unassign(let id):
            if let step = self.steps.take(id) { self.unassign(step) }
        case .close(let deadline, let completion):
            self.beginClose(deadline: deadline, completion: completion)
        }
    }

    private func beginClose(deadline: ContinuousClock.Instant, completion: @escaping @Sendable (Bool) -> Void) {
        guard self.closing == nil else {
            self.waitingCloseCompletions.append(completion)
            return
        }
        // The close needs a new queue, because librdkafka forwards the consumer's queue to it.
        let closing = Closing(
            queue: KafkaQueue(rd_kafka_queue_new(self.client.pointer)), deadline: deadline, completion: completion)
        self.closing = closing
        self.steps.hurry(to: self.drainDeadline)
        if let error = rd_kafka_consumer_close_queue(self.client.pointer, closing.queue.pointer) {
            // After a fatal error the client is no longer a member, so the close is over.
            self.handler(.failed(KafkaError(taking: error, subject: .group(self.configuration.groupID))))
            self.end(isClosed: true)
        }
    }

    /// Deadline for revocations during a close. A quarter of the time that is left, at most a second, remains for
    /// leaving the group.
    private var drainDeadline: ContinuousClock.Instant {
        guard let closing = self.closing?.deadline else { return .now }
        return closing - min(.seconds(1), max(.zero, closing - .now) / 4)
    }

    private func isCloseOver() -> Bool {
        guard let closing = self.closing else { return self.isEnded }
        if rd_kafka_consumer_closed(self.client.pointer) != 0 {
            self.end(isClosed: true)
        } else if ContinuousClock.now >= closing.deadline {
            self.end(isClosed: false)
        }
        return self.isEnded
    }

    private func end(isClosed: Bool) {
        guard !self.isEnded else { return }
        self.isEnded = true
        for readers in self.readers.values { for reader in readers { reader.close() } }
        self.readers = [:]
        let left = self.inbox.close()
        for commit in left.commits {
            commit.completion(CommitResult(refusing: commit.positions, KafkaError(code: .closed)))
        }
        self.closing?.completion(isClosed)
        for completion in self.waitingCloseCompletions { completion(isClosed) }
        for case .close(_, let completion) in left.commands { completion(isClosed) }
        self.closing = nil
    }
}
