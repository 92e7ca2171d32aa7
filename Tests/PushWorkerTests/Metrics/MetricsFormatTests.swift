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
        // What Prometheus 2.42 and 3.5 send.
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

    /// Families, sample names and escapes as the specification has them.
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

    /// No family's name is another's, which a counter's without its suffix might be.
    @Test func familiesHaveNamesOfTheirOwn() {
        let text = WorkerMetrics.text(WorkerSnapshot(), .init(), .openMetrics(version: "1.0.0"))
        let families = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
            $0.split(separator: " ")[2]
        }
        #expect(families.count > 50)
        #expect(Set(families).count == families.count)
    }
}
