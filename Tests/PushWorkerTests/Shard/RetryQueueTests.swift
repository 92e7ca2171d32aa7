import PushEngine
import Testing

@testable import PushWorker

struct RetryQueueTests {
    private static func entry(
        _ acknowledgement: UInt64, _ topic: EngineRecord.Topic = .state, partition: Int32 = 0, key: String = "k"
    ) -> RetryQueue.Entry {
        RetryQueue.Entry(
            topic: topic, partition: partition, key: Array(key.utf8), value: [1], timestampMillis: 0,
            acknowledgement: acknowledgement)
    }

    private static func take(_ queue: inout RetryQueue, at nowMillis: Int64) -> [UInt64] {
        queue.takeDue(nowMillis: nowMillis).map(\.acknowledgement)
    }

    @Test func pausesGrowUntilSomethingIsDelivered() {
        var queue = RetryQueue()
        var pauses: [Int64] = []
        for _ in 0..<8 {
            queue.failed(Self.entry(1), hasLeft: true, nowMillis: 0)
            pauses.append(queue.dueMillis ?? -1)
            #expect(Self.take(&queue, at: pauses.last ?? 0) == [1])
        }
        #expect(pauses == [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
        queue.succeeded()
        queue.failed(Self.entry(1), hasLeft: true, nowMillis: 50)
        #expect(queue.dueMillis == 250)
    }

    @Test func laterRecordsOfThePartitionWaitBehind() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, partition: 3), hasLeft: true, nowMillis: 0)
        #expect(queue.holds(.state, partition: 3))
        #expect(!queue.holds(.state, partition: 4))
        #expect(!queue.holds(.routed, partition: 3))
        #expect(!queue.holds(.outcomes, partition: 3))
        queue.wait(Self.entry(2, partition: 3))
        #expect(Self.take(&queue, at: 199) == [])
        #expect(Self.take(&queue, at: 200) == [1, 2])
        #expect(!queue.holds(.state, partition: 3))
    }

    @Test func whatALaterDeliveryReplacesIsDropped() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, key: "a"), hasLeft: true, nowMillis: 0)
        queue.failed(Self.entry(2, key: "b"), hasLeft: true, nowMillis: 0)
        queue.failed(Self.entry(3, .outcomes, key: "a"), hasLeft: true, nowMillis: 0)
        queue.failed(Self.entry(4, partition: 9, key: "a"), hasLeft: true, nowMillis: 0)
        let key = Array("a".utf8)
        let superseded = queue.takeSuperseded(partition: 0, key: key.span)
        #expect(superseded == [1])
        #expect(Self.take(&queue, at: 1_000) == [2, 3, 4])
    }

    /// What waits behind a failed record is newer than a delivery that was on its way before.
    @Test func aDeliveryDropsNothingThatIsNewer() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, key: "b"), hasLeft: true, nowMillis: 0)
        queue.wait(Self.entry(2, key: "a"))
        queue.failed(Self.entry(3, key: "a"), hasLeft: false, nowMillis: 0)
        let key = Array("a".utf8)
        let superseded = queue.takeSuperseded(partition: 0, key: key.span)
        #expect(superseded == [])
        #expect(Self.take(&queue, at: 1_000) == [1, 2, 3])
    }

    /// Of one key, what left first is produced again first, whenever its failure is told.
    @Test func aLaterFailureGoesBeforeWhatWaits() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, key: "b"), hasLeft: true, nowMillis: 0)
        queue.wait(Self.entry(3, key: "a"))
        queue.failed(Self.entry(2, key: "a"), hasLeft: true, nowMillis: 0)
        #expect(Self.take(&queue, at: 1_000) == [1, 2, 3])
    }

    @Test func whatFindsNoRoomGoesFirstNextTime() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1), hasLeft: true, nowMillis: 0)
        queue.wait(Self.entry(2))
        let due = queue.takeDue(nowMillis: 500)
        queue.wait(Self.entry(3))
        queue.putBack(due, nowMillis: 500)
        #expect(Self.take(&queue, at: 500) == [1, 2, 3])
    }

    @Test func aForgottenPartitionsStateIsNotWritten() {
        var queue = RetryQueue()
        queue.failed(Self.entry(1, partition: 1), hasLeft: true, nowMillis: 0)
        queue.failed(Self.entry(2, .deadLetters, partition: 1), hasLeft: true, nowMillis: 0)
        let forgotten = queue.forgetState(partition: 1)
        #expect(forgotten == [1])
        #expect(queue.entries.map(\.acknowledgement) == [2])
        #expect(queue.dueMillis != nil)
    }
}

struct RoutedOriginTests {
    @Test(arguments: [("0", 0), ("42", 42), ("0007", 7), ("9223372036854775807", .max)] as [(String, Int64)])
    func numbersAreDigits(text: String, number: Int64) {
        let bytes = Array(text.utf8)
        #expect(RoutedOrigin.number(bytes.span) == number)
    }

    @Test(arguments: ["", "-1", "+1", "1a", " 1", "9223372036854775808", "99999999999999999999"])
    func anythingElseIsNone(text: String) {
        let bytes = Array(text.utf8)
        #expect(RoutedOrigin.number(bytes.span) == nil)
    }
}
