import KafkaLog
import Testing

@testable import PushWorker

/// Tests of whether a worker has stopped in good order.
struct DeparturesTests {
    private static func result(refused: [KafkaError.Code]) -> CommitResult {
        CommitResult(
            committed: [],
            refused: refused.enumerated().map { index, code in
                CommitResult.Refusal(
                    position: TopicPartitionOffset(topic: "events", partition: Int32(index), offset: 1),
                    error: KafkaError(code: code))
            })
    }

    @Test func whatIsFinishedAndCommittedIsNoFault() {
        var departures = Departures()
        departures.left(unfinished: [])
        departures.committed(Self.result(refused: []))
        #expect(departures.faults == [])
    }

    @Test func partitionsThatKafkaDidNotTakeEverythingOfAreNamed() {
        var departures = Departures()
        departures.left(unfinished: [7, 3])
        departures.left(unfinished: [3])
        #expect(
            departures.faults == [
                "Kafka did not acknowledge everything of partitions 3,7 in time",
                "the next owner repeats what is not committed",
            ])
    }

    @Test func aRefusedLastCommitIsNamedWithItsCause() {
        var departures = Departures()
        departures.committed(Self.result(refused: [.timedOut, .illegalGeneration]))
        departures.committed(Self.result(refused: [.illegalGeneration]))
        #expect(departures.faults.count == 2)
        #expect(departures.faults.first?.contains("the last commit of 3 positions was refused: ") == true)
        #expect(departures.faults.first?.contains("_TIMED_OUT") == true)
    }

    /// Lost partitions are a fault until the group assigns partitions again. Then this worker or another reads the lost
    /// records again.
    @Test func whatWasLostCountsUntilTheGroupGivesPartitionsAgain() {
        var departures = Departures()
        departures.lost([1, 2])
        #expect(departures.faults.first?.contains("partitions 1,2 were lost") == true)
        departures.assigned()
        #expect(departures.faults == [])
    }
}
