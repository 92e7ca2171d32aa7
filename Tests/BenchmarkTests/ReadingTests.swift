import Foundation
import Histogram
import Testing

@testable import mailboat_bench

/// Tests of reading the output of other processes.
struct ReadingTests {
    @Test func h2loadsRateIsRead() {
        let output = "progress: 100% done\n\nfinished in 449.63ms, 333608.20 req/s, 12.74MB/s\nrequests: 150000 total\n"
        #expect(H2Load.requestsPerSecond(output) == 333_608.2)
        #expect(H2Load.requestsPerSecond("nothing") == nil)
    }

    @Test func metricsAreSummedOverLabels() {
        let text = """
            # TYPE a_total counter
            a_total{result="accepted"} 3
            a_total{result="refused"} 4
            a_total_more 100
            b 5.0

            """
        #expect(Worker.sum("a_total", label: "", of: text) == 7)
        #expect(Worker.sum("a_total", label: "accepted", of: text) == 3)
        #expect(Worker.sum("b", label: "", of: text) == 5)
        #expect(Worker.sum("c", label: "", of: text) == 0)
    }

    @Test func aTransportMeasurementIsReadBack() throws {
        var measurement = TransportMeasurement()
        measurement.pushes = 400_000
        measurement.cpuMicros = 660_000.5
        measurement.wallMicros = 800_000
        measurement.serverCPUMicros = 200_000
        measurement.peakByteCount = 55_000_000
        measurement.allocations.openSSL = 7
        #expect(TransportMeasurement(output: "a line\n\(measurement.line)\n") == measurement)
        #expect(TransportMeasurement(output: "measured 1 2 3") == nil)
    }

    @Test(
        arguments: [
            ("measured 1\n==12== \n==12== Events    : Ir\n==12== Collected : 1234567890\n==12==\n", 1_234_567_890),
            ("==12== Collected : \n", nil), ("Collected : 5\n", nil), ("", nil),
        ] as [(String, Int?)])
    func callgrindsCountIsRead(output: String, count: Int?) { #expect(Callgrind.collected(output: output) == count) }

    @Test func aWorkersStartIsReadFromItsLog() {
        let log = """
            2026-11-22T12:00:00+0000 info mailboat: partitions=0-1 [PushWorker] partitions assigned
            2026-11-22T12:00:01+0000 info mailboat: records=5 of=9 [PushWorker] reading state
            2026-11-22T12:00:02+0000 info mailboat: ms=3 records=9 [PushWorker] partition 1 restored

            """
        #expect(StartProgress(log: "") == StartProgress(isAssigned: false, restoredPartitionCount: 0))
        #expect(StartProgress(log: log) == StartProgress(isAssigned: true, restoredPartitionCount: 1))
    }

    @Test func anIngestMeasurementIsReadBack() {
        var measurement = IngestMeasurement()
        measurement.eventCount = 1_000
        measurement.cpuMicros = 12.5
        #expect(IngestMeasurement(output: measurement.line) == measurement)
        #expect(IngestMeasurement(output: "") == nil)
    }

    @Test func allocationsAreReadAndSubtracted() throws {
        let path = NSTemporaryDirectory() + "mailboat-counts-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let numbers: [Int64] = [10, 20, 30, 40, 50]
        try numbers.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: path))
        let counts = AllocationCounts(path: path)
        #expect(counts.swift == 10)
        #expect(counts.libraries == 140)
        #expect((counts - counts) == AllocationCounts())
        #expect(AllocationCounts(path: path + "-none") == AllocationCounts())
    }

    @Test func latenciesBetweenTwoMomentsAreTheDifference() {
        var (before, after) = (LatencyReport(), LatencyReport())
        before.takenToAccepted = [1_000: 5]
        before.accepted = 5
        after.takenToAccepted = [1_000: 95, 50_000: 10]
        after.accepted = 105
        let between = after - before
        #expect(between.takenToAccepted == [1_000: 90, 50_000: 10])
        #expect(between.accepted == 100)
        let histogram = LatencyReport.histogram(between.takenToAccepted)
        #expect(histogram.totalCount == 100)
        #expect(histogram.valueAtPercentile(50) == 1_000)
        #expect(abs(Int(histogram.valueAtPercentile(99)) - 50_000) < 100)
        #expect(abs(LatencyReport.millis(histogram, 99) - 50) < 0.1)
    }

    @Test func latenciesThatLackASampleAreRefused() throws {
        var report = LatencyReport()
        report.takenToAccepted = [1_000: 3]
        report.recordToAccepted = [20_000: 3]
        report.accepted = 3
        #expect(try report.histograms(ofEvents: 3).intended.totalCount == 3)
        // The counts differ: an event caused no push, or a push was not timed. That is an error.
        #expect(throws: BenchmarkFailure.self) { try report.histograms(ofEvents: 4) }
        report.recordToAccepted = [20_000: 2]
        #expect(throws: BenchmarkFailure.self) { try report.histograms(ofEvents: 3) }
        report.recordToAccepted = [20_000: 3]
        report.takenToAccepted = [1_000: 2]
        #expect(throws: BenchmarkFailure.self) { try report.histograms(ofEvents: 3) }
    }

    @Test(
        arguments: [
            ("cpu  10 2 30 400 5 0 7 25 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n", 250_000),
            ("cpu  10 2 30 400 5 0 7 0 0 0\n", 0),
            // These texts have no stolen time: the field is missing or is not a number, or the text is another file's
            // or empty.
            ("cpu  10 2 30 400\n", 0), ("intr 1 2 3 4 5 6 7 8 9\n", 0), ("", 0), ("cpu  1 2 3 4 5 6 7 x 9\n", 0),
        ] as [(String, Int64)])
    func timeThatTheHostTookIsReadFromTheFirstLine(stat: String, micros: Int64) {
        #expect(StolenTime.micros(stat: stat, ticksPerSecond: 100) == micros)
    }
}
