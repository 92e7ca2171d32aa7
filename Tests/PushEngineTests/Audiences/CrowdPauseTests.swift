import PushModel
import Testing

@testable import PushEngine

/// Tests the pause of a crowd, without an engine around it.
@Suite struct CrowdPauseTests {
    @Test func itSaysWhatHasHappened() {
        var pause = CrowdPause.goesOn
        let life: [(isStopped: Bool?, waitingCount: Int, change: CrowdPause.Change)] = [
            (false, 0, .nothing), (nil, 7, .nothing), (true, 0, .stopped), (true, 0, .nothing), (nil, 5, .counted(5)),
            (nil, 5, .nothing), (nil, 3, .counted(-2)), (false, 0, .wentOn(waitingCount: 3)), (nil, 4, .nothing),
            (true, 0, .stopped), (false, 0, .wentOn(waitingCount: 0)),
        ]
        for (index, step) in life.enumerated() {
            let change: CrowdPause.Change
            if let isStopped = step.isStopped {
                change = pause.heard(isStopped: isStopped)
            } else {
                change = pause.counted(waitingCount: step.waitingCount)
            }
            #expect(change == step.change, "step \(index)")
        }
        #expect(pause == .goesOn)
    }
    /// Crowds stop, go on and count in random order. Gauges that add up the changes stay right.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func gaugesSayWhatIsSo(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var pauses = [CrowdPause](repeating: .goesOn, count: 5)
        var (stoppedCount, waitingCount) = (0, 0)
        for _ in 0..<400 {
            let index = Int.random(in: pauses.indices, using: &random)
            let change =
                Bool.random(using: &random)
                ? pauses[index].heard(isStopped: Bool.random(using: &random))
                : pauses[index].counted(waitingCount: Int.random(in: 0...9, using: &random))
            switch change {
            case .nothing: break
            case .stopped: stoppedCount += 1
            case .counted(let step): waitingCount += step
            case .wentOn(let count): (stoppedCount, waitingCount) = (stoppedCount - 1, waitingCount - count)
            }
            #expect(stoppedCount == pauses.count { $0.isStopped })
            var waiting = 0
            for case .stopped(let count) in pauses { waiting += count }
            #expect(waitingCount == waiting)
        }
    }
    /// A pause stops only crowds of living audiences.
    @Test(arguments: [Crowd.Standing.living, .nameless, .toBeVoided, .leaving, .gone])
    func onlyTheLivingAreStopped(standing: Crowd.Standing) {
        var crowd = Crowd()
        let key = PauseTable.Key(partition: 0, app: 0, audience: Array("match".utf8))
        crowd.begin(app: key.app, id: key.audience, reference: 7, partition: key.partition)
        switch standing {
        case .living: break
        case .nameless: crowd.restoredTombstone(of: .versions)
        case .toBeVoided: crowd.voided()
        case .leaving: crowd.left()
        case .gone: crowd.end()
        }
        #expect(crowd.standing == standing)
        var pauses = PauseTable()
        pauses.set(key, sinceMillis: 1)
        let change = crowd.readPause(in: pauses)
        #expect(change == (standing == .living ? .stopped : .nothing))
        #expect(crowd.isPaused == (standing == .living))
        let last = crowd.leavesPause()
        #expect(last == (standing == .living ? .wentOn(waitingCount: 0) : .nothing))
    }
}
