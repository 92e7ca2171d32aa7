import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests which passes of a shard are traced, without an engine around them.
@Suite struct PassTracesTests {
    private static func key(_ crowd: Int32, isStart: Bool = false) -> PassTraces.Key {
        PassTraces.Key(crowd: CrowdID(rawValue: crowd), isStart: isStart)
    }
    private static func begin(_ traces: inout PassTraces, _ key: PassTraces.Key) -> PassTraceID {
        traces.begin(key, source: SourcePosition(topic: 0, partition: 0, offset: 1), life: 1, stampSeconds: 10)
    }

    /// A crowd brings one version and one start at a time. Each is traced by itself.
    @Test func aVersionAndAStartAreApart() {
        var traces = PassTraces()
        let crowd = CrowdID(rawValue: 3)
        let start = Self.begin(&traces, Self.key(3, isStart: true))
        #expect(!traces.isTraced(crowd), "that is a start")
        let version = Self.begin(&traces, Self.key(3))
        #expect(version != start && traces.isTraced(crowd) && !traces.isTraced(CrowdID(rawValue: 4)))
        let ended = traces.end(Self.key(3))
        #expect(ended?.id == version && !traces.isTraced(crowd))
        let endsAgain = traces.end(Self.key(3)) != nil
        #expect(!endsAgain)
        let endedStart = traces.end(Self.key(3, isStart: true))
        #expect(endedStart?.id == start)
    }
    @Test func soManyAreTracedAtATime() {
        var traces = PassTraces()
        var ids: Set<PassTraceID> = []
        for crowd in 0..<Int32(PassTraces.liveMax) {
            #expect(traces.hasRoom)
            ids.insert(Self.begin(&traces, Self.key(crowd)))
        }
        #expect(!traces.hasRoom && ids.count == PassTraces.liveMax)
        _ = traces.end(Self.key(0))
        #expect(traces.hasRoom)
    }
    /// The first pushes are reported whatever their answer. Later pushes are reported only if APNs did not accept them,
    /// up to a limit.
    @Test func someOfItsPushesAreTold() {
        var traces = PassTraces()
        _ = Self.begin(&traces, Self.key(1))
        func takes(_ stampSeconds: Int64 = 10, life: Int64? = nil, isAccepted: Bool = true) -> Bool {
            let live = traces.takeExample(
                Self.key(1), life: life, stampSeconds: stampSeconds, isAccepted: isAccepted)
            return live != nil
        }
        let others = [takes(9), takes(life: 2)]
        #expect(others == [false, false], "of another version, or another life")
        let first = (0..<20).count { takes(isAccepted: $0 % 2 == 0) }
        #expect(first == PassTraces.examplesMax + 6)
        let failed = (0..<20).count { _ in takes(isAccepted: false) }
        #expect(failed == PassTraces.failedExamplesMax - 6)
    }
}
