import PushModel
import Testing

@testable import PushWorker

struct MetricsFormatTests {
    @Test(arguments: [
        (nil, MetricsFormat.prometheus), ("", .prometheus), ("*/*", .prometheus), ("text/plain", .prometheus),
        ("application/openmetrics-text", .openMetrics(version: "1.0.0")),
        ("Application/OpenMetrics-Text ; Version=1.0.0 ; Q=0.2", .openMetrics(version: "1.0.0")),
        ("application/openmetrics-text; version=\"0.0.1\"", .openMetrics(version: "0.0.1")),
        ("application/openmetrics-text;version=2.0.0", .prometheus),
        ("application/openmetrics-text;q=0", .prometheus), ("application/openmetrics-text;q=x", .prometheus),
        ("text/plain;q=0.9,application/openmetrics-text;q=0.8", .prometheus),
        ("text/plain;q=0.8,application/openmetrics-text;q=0.8", .openMetrics(version: "1.0.0")),
        (",,;;,=;q=", .prometheus),
        // Prometheus 2.42 and 3.5 send these headers.
        (
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            .openMetrics(version: "1.0.0")
        ),
        (
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            .openMetrics(version: "1.0.0")
        ),
    ])
    func acceptDecides(accept: String?, format: MetricsFormat) {
        #expect(MetricsFormat.preferred(accept: accept) == format)
    }

    /// Families, sample names and escapes are written as the OpenMetrics specification requires.
    @Test func aCounterBelongsToTheFamilyWithoutItsSuffix() {
        var text = PrometheusText(.openMetrics(version: "1.0.0"))
        text.write(.init(name: "a_total", kind: .counter, unit: "lines", help: "One \"line\"\nwith a \\."), 3)
        text.write(.init(name: "b_total", kind: .gauge, unit: "", help: "B."), 0.25)
        #expect(
            text.text == """
                # HELP a One \\"line\\"\\nwith a \\\\.
                # TYPE a counter
                a_total 3
                # HELP b_total B.
                # TYPE b_total gauge
                b_total 0.25

                """)
    }

    /// A counter's family has the counter's name without `_total`. No other family has that name.
    @Test func familiesHaveNamesOfTheirOwn() {
        let text = WorkerMetrics.text(WorkerSnapshot(), .init(), .openMetrics(version: "1.0.0"))
        let families = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
            $0.split(separator: " ")[2]
        }
        #expect(families.count > 50)
        #expect(Set(families).count == families.count)
    }

    /// An exemplar is written after its bucket, and only in OpenMetrics.
    @Test func examplesStandBehindTheirBuckets() {
        let place = TraceContext(traceIDHigh: 1, traceIDLow: 2, spanID: 3, isSampled: true)
        var distribution = LatencyDistribution()
        for millis: Int64 in [3, 3, 9_000_000] { distribution.record(millis: millis) }
        distribution.keepExample(of: place, micros: 2_500, wallMillis: 1_700_000_000_250)
        var other = LatencyDistribution()
        // A bucket keeps its latest exemplar, from any shard.
        other.keepExample(of: place, micros: 3_000, wallMillis: 1_700_000_000_500)
        other.keepExample(of: place, micros: 9_000_000_000, wallMillis: 1_700_000_000_000)
        distribution.add(other)
        other.add(distribution)
        #expect(other.examples == distribution.examples)
        func lines(_ format: MetricsFormat) -> [Substring] {
            var text = PrometheusText(format)
            text.write(.init(name: "a_seconds", kind: .histogram, unit: "seconds", help: "A."), distribution)
            return text.text.split(separator: "\n").filter { $0.contains("#") && !$0.hasPrefix("#") }
        }
        let ids = #"trace_id="00000000000000010000000000000002",span_id="0000000000000003""#
        #expect(
            lines(.openMetrics(version: "1.0.0")) == [
                "a_seconds_bucket{le=\"0.004\"} 2 # {\(ids)} 0.003 1700000000.5",
                "a_seconds_bucket{le=\"+Inf\"} 3 # {\(ids)} 9000 1700000000",
            ])
        #expect(lines(.prometheus).isEmpty)
    }
}
