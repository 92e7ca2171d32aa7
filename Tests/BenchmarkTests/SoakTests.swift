import Testing

@testable import mailboat_bench

struct SoakTests {
    private static func sample(_ number: Int, residentByteCount: Int, openFileCount: Int = 40, millis: UInt64 = 2)
        -> SoakSample
    {
        var latencies = LatencyReport()
        latencies.accepted = 1_000
        latencies.takenToAccepted = [millis * 1_000: 990, 50_000: 10]
        latencies.memberFreshness = [400_000: 100]
        return SoakSample(
            minutes: Double(number + 1), seconds: 2, residentByteCount: residentByteCount, openFileCount: openFileCount,
            cpuMicros: 500_000, latencies: latencies, pendingCount: 0)
    }

    @Test func aSampleIsOfItsInterval() {
        let sample = Self.sample(0, residentByteCount: 100)
        #expect(sample.acceptedPerSecond == 500)
        #expect(sample.cpuShare == 0.25)
        #expect((1.99...2.01).contains(sample.p50Millis))
        #expect((399...401).contains(sample.memberP99Millis))
    }

    @Test func whatStaysHolds() throws {
        // The first fifth of the samples is the warm-up, which does not count.
        let samples = (0..<100).map { Self.sample($0, residentByteCount: $0 < 20 ? 10_000_000 : 100_000_000) }
        let rows = try SoakFlatness(samples).rows
        #expect(rows.count == 6)
        #expect(rows.allSatisfy { $0.holds == true })
    }

    @Test func whatGrowsDoesNotHold() throws {
        let memory = try SoakFlatness((0..<100).map { Self.sample($0, residentByteCount: 100_000_000 + $0 * 100_000) })
            .rows
        #expect(memory.filter { $0.holds == false }.map(\.name) == ["soak, end beside begin: resident memory"])
        let files = try SoakFlatness(
            (0..<100).map { Self.sample($0, residentByteCount: 100_000_000, openFileCount: 40 + $0 / 30) }
        ).rows
        #expect(files.filter { $0.holds == false }.map(\.name) == ["soak, end beside begin: open files"])
        let latency = try SoakFlatness(
            (0..<100).map { Self.sample($0, residentByteCount: 100_000_000, millis: UInt64(2 + $0 / 20)) }
        ).rows
        #expect(
            latency.filter { $0.holds == false }.map(\.name) == [
                "soak, end beside begin: taken -> accepted, p50", "soak, end beside begin: taken -> accepted, p99",
            ])
    }

    @Test func tooFewSamplesAreSaid() {
        #expect(throws: BenchmarkFailure.self) {
            try SoakFlatness((0..<7).map { Self.sample($0, residentByteCount: 1) })
        }
    }
}
