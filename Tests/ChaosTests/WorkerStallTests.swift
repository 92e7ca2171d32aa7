import Testing

@testable import ChaosTesting

/// Tests of long turns, as a worker's log names them.
struct WorkerStallTests {
    private static let line =
        "2026-11-23T19:19:56+0000 notice mailboat: ended-ms=1795461596455 ms=563 shard=1 [PushWorker] a turn took long: why"

    @Test func aLineSaysWhenTheTurnBeganAndEnded() throws {
        let stall = try #require(WorkerStall(line: Self.line))
        #expect(stall.beganMillis == 1_795_461_595_892 && stall.endedMillis == 1_795_461_596_455)
        #expect(stall.covers(1_795_461_596_500) && !stall.covers(1_795_461_596_900) && !stall.covers(1_795_461_595_800))
    }

    @Test(arguments: ["", "2026-11-23 info mailboat: ms=7 records=890 shard=0 [PushWorker] partition 22 restored"])
    func otherLinesSayNothing(line: String) { #expect(WorkerStall(line: line) == nil) }
}
