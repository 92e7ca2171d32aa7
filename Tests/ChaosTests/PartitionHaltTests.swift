import Testing

@testable import ChaosTesting

/// Partitions that workers set aside, as their logs tell of them.
struct PartitionHaltTests {
    private static let line =
        "2026-11-26T10:51:20+0000 error mailboat: cause=chaos-1.state[8]@684 cannot be understood: bytes behind the last pass shard=0 [PushWorker] partition 8 is halted"

    @Test func aLineSaysWhichAndWhy() throws {
        let halt = try #require(PartitionHalt(line: Self.line))
        #expect(halt.partition == 8 && halt.cause == "bytes behind the last pass")
    }

    @Test(arguments: [
        "", "2026-11-23 info mailboat: ms=7 records=890 shard=0 [PushWorker] partition 22 restored",
        "2026-11-23 info mailboat: [PushWorker] partitions assigned: none is halted",
    ])
    func otherLinesSayNothing(line: String) { #expect(PartitionHalt(line: line) == nil) }

    @Test func thoseOfOneCauseAreCountedTogether() throws {
        let halt = try #require(PartitionHalt(line: Self.line))
        let other = try #require(
            PartitionHalt(line: Self.line.replacing("bytes behind the last pass", with: "an unknown kind")))
        #expect(PartitionHalt.summary([]) == nil)
        let summary = PartitionHalt.summary([halt, other, halt])
        #expect(summary == "1 times: an unknown kind; 2 times: bytes behind the last pass")
    }
}
