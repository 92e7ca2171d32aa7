import ShardLoop
import Testing

@Suite struct ReleaseTimesTests {
    private struct Case: CustomTestStringConvertible {
        var leftMillis: Int64
        var isStopping = false
        var quietWaitMillis: Int64 = 250
        var quietMillis: Int64
        var limitMillis: Int64
        var testDescription: String { "\(self.leftMillis) ms left, stopping: \(self.isStopping)" }
    }

    @Test(arguments: [
        // The time is ample: a moment for APNs' answers, and three seconds for Kafka.
        Case(leftMillis: 60_000, quietMillis: 250, limitMillis: 3_250),
        Case(leftMillis: 60_000, quietWaitMillis: 0, quietMillis: 0, limitMillis: 3_000),
        // A worker that stops waits for APNs' answers until only the time for Kafka is left.
        Case(leftMillis: 20_000, isStopping: true, quietMillis: 10_000, limitMillis: 13_000),
        Case(leftMillis: 5_000, isStopping: true, quietMillis: 2_000, limitMillis: 4_500),
        // The time is short. Half of it is for APNs' answers, and the last half second is for the last commit.
        Case(leftMillis: 3_000, quietWaitMillis: 5_000, quietMillis: 1_500, limitMillis: 2_500),
        Case(leftMillis: 400, quietMillis: 200, limitMillis: 0),
        // The deadline has passed.
        Case(leftMillis: -1_000, quietMillis: 0, limitMillis: 0),
        Case(leftMillis: -1_000, isStopping: true, quietMillis: 0, limitMillis: 0),
    ])
    private func theyFitIntoWhatIsLeft(_ it: Case) {
        let times = ReleaseTimes(
            leftMillis: it.leftMillis, isStopping: it.isStopping, quietWaitMillis: it.quietWaitMillis)
        #expect(times == ReleaseTimes(quietMillis: it.quietMillis, limitMillis: it.limitMillis))
    }
}
