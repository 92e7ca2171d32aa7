import Testing

@testable import ChaosTesting

struct ChaosPlanTests {
    private static func plan(seed: UInt64, minutes: Int64, kinds: [ChaosFault.Kind] = ChaosFault.Kind.allCases)
        -> ChaosPlan
    {
        ChaosPlan(seed: seed, durationMillis: minutes * 60_000, sessionTimeoutMillis: 4_000, kinds: kinds)
    }

    @Test func aSeedMakesTheSamePlan() {
        #expect(Self.plan(seed: 7, minutes: 10).faults == Self.plan(seed: 7, minutes: 10).faults)
        #expect(Self.plan(seed: 7, minutes: 10).faults != Self.plan(seed: 8, minutes: 10).faults)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func tenMinutesSeeEveryKind(seed: UInt64) {
        let faults = Self.plan(seed: seed, minutes: 10).faults
        for kind in ChaosFault.Kind.allCases where kind != .topicMadeAnew {
            #expect(faults.contains { $0.kind == kind }, "\(kind)")
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func faultsAreOverInTime(seed: UInt64) {
        for fault in Self.plan(seed: seed, minutes: 3).faults {
            #expect(fault.atMillis >= ChaosPlan.quietMillis)
            #expect(fault.atMillis + fault.durationMillis <= 180_000)
        }
    }

    @Test func aPausePastTheSessionIsLonger() {
        for fault in Self.plan(seed: 3, minutes: 60).faults {
            switch fault.kind {
            case .workerPausedPastSession: #expect(fault.durationMillis > 4_000)
            case .workerPaused: #expect(fault.durationMillis < 4_000)
            default: break
            }
        }
    }

    /// Kafka cannot remove partitions again, so a topic grows only once in a run.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func aTopicGrowsOnceAboutTheMiddle(seed: UInt64) {
        let grown = Self.plan(seed: seed, minutes: 3).faults.filter { $0.kind == .topicGrown }
        #expect(grown.map(\.atMillis) == [90_000])
        #expect(Self.plan(seed: seed, minutes: 3, kinds: [.topicGrown]).faults.map(\.kind) == [.topicGrown])
    }

    /// A run with a former release leaves out faults that a former release does not survive. No kind needs both an
    /// embedded and a real Kafka.
    @Test func kindsSayWhatTheyNeed() {
        for kind in ChaosFault.Kind.allCases { #expect(!kind.needsEmbeddedKafka || !kind.needsRealKafka) }
        let present = ChaosFault.Kind.allCases.filter(\.needsPresentRelease)
        #expect(present == [.broadcastsRefused, .kafkaRefuses, .topicGrown, .topicMadeAnew])
    }

    @Test func faultsComeInTheOrderOfTheirTimes() {
        let times = Self.plan(seed: 5, minutes: 10).faults.map(\.atMillis)
        #expect(times == times.sorted())
    }

    @Test func onlyTheKindsAskedFor() {
        let faults = Self.plan(seed: 3, minutes: 5, kinds: [.workerKilled]).faults
        #expect(!faults.isEmpty && faults.allSatisfy { $0.kind == .workerKilled })
        #expect(Self.plan(seed: 3, minutes: 5, kinds: []).faults.isEmpty)
    }
}
