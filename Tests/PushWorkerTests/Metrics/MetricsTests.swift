import CoreMetrics
import PushEngine
import PushModel
import PushTransport
import Testing

@testable import PushWorker

struct PrometheusTextTests {
    @Test func aMetricHasAHeadAndItsSamples() {
        var text = PrometheusText()
        text.begin(.init(name: "a_total", kind: .counter, unit: "lines", help: "One\nline with a \\."))
        text.sample([("route", "p/\"K\"\n\\")], UInt64(3))
        text.sample([("route", "x"), ("status", "200")], 4)
        text.write(.init(name: "b", kind: .gauge, unit: "", help: "B."), 0.25)
        #expect(
            text.text == """
                # HELP a_total One\\nline with a \\\\.
                # TYPE a_total counter
                a_total{route="p/\\"K\\"\\n\\\\"} 3
                a_total{route="x",status="200"} 4
                # HELP b B.
                # TYPE b gauge
                b 0.25

                """)
    }

    @Test(arguments: [
        (0, "0"), (-3, "-3"), (1e15, "1000000000000000"), (0.5, "0.5"), (.nan, "NaN"), (.infinity, "+Inf"),
        (-.infinity, "-Inf"),
    ])
    func numbersAreAsGoWritesThem(value: Double, text: String) { #expect(PrometheusText.number(value) == text) }

    @Test func histogramsAreCumulative() throws {
        var distribution = LatencyDistribution()
        for millis in [0, 1, 2, 3, 1_000, 5_000_000_000] as [Int64] { distribution.record(millis: millis) }
        var text = PrometheusText()
        text.write(.init(name: "h_seconds", kind: .histogram, unit: "seconds", help: "H."), distribution)
        let lines = text.text.split(separator: "\n").map(String.init)
        #expect(lines.contains("h_seconds_bucket{le=\"0.001\"} 2"))
        #expect(lines.contains("h_seconds_bucket{le=\"0.004\"} 4"))
        #expect(lines.contains("h_seconds_bucket{le=\"1.024\"} 5"))
        #expect(lines.contains("h_seconds_bucket{le=\"+Inf\"} 6"))
        #expect(lines.contains("h_seconds_count 6"))
        let buckets = lines.filter { $0.contains("_bucket") }.compactMap {
            $0.split(separator: " ").last.flatMap { Int($0) }
        }
        #expect(buckets == buckets.sorted())
    }
}

/// Tests that a strict parser of the page reads back the values that were written.
struct PrometheusReadingTests {
    private static let pieces = ["a", "é", "🛵", "\\", "\"", "\n", "\r\n", "{", "}", ",", "=", " ", ""]

    private static func text(_ random: inout SplitMix64) -> String {
        (0..<Int.random(in: 0...6, using: &random)).map { _ in Self.pieces.randomElement(using: &random) ?? "" }
            .joined()
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func labelsAndHelpComeBackAsTheyWere(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let labels = (0..<Int.random(in: 0...3, using: &random)).map { (name: "l\($0)", value: Self.text(&random)) }
        let help = Self.text(&random)
        let value = UInt64.random(in: 0...UInt64.max, using: &random)
        var text = PrometheusText()
        text.begin(.init(name: "a_total", kind: .counter, unit: "lines", help: help))
        text.sample(labels, suffix: "_x", value)

        let escaped = labels.map { "\($0.name)=\"\(Self.escaped($0.value, "\\\n\""))\"" }.joined(separator: ",")
        let expected =
            "# HELP a_total \(Self.escaped(help, "\\\n"))\n# TYPE a_total counter\n"
            + "a_total_x\(labels.isEmpty ? "" : "{\(escaped)}") \(value)\n"
        #expect(
            text.text.unicodeScalars.elementsEqual(expected.unicodeScalars),
            "seed \(seed): \(text.text.debugDescription)")
        let page = try ExpositionPage(text.text)
        let sample = try #require(page.samples.first)
        #expect(page.samples.count == 1)
        #expect(sample.name == "a_total_x")
        #expect(sample.labels.map(\.value) == labels.map(\.value), "seed \(seed)")
        #expect(sample.value == "\(value)")
        #expect(page.helps["a_total"] == help, "seed \(seed)")
    }

    private static func escaped(_ text: String, _ special: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if special.unicodeScalars.contains(scalar) { result += "\\" }
            result += scalar == "\n" ? "n" : String(scalar)
        }
        return result
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func bucketsCountWhatLastedNoLonger(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var distribution = LatencyDistribution()
        for _ in 0..<300 {
            distribution.record(
                micros: Int64.random(in: 0...(1 << Int64.random(in: 0...45, using: &random)), using: &random))
        }
        let bounds = (0...22).map { UInt64(1) << UInt64($0) }
        let counts = distribution.counts(atMostMillis: bounds)
        for (bound, count) in zip(bounds, counts) {
            var (atMost, within) = (UInt64(0), UInt64(0))
            // The width of a bucket is at most 1/32 of its value. So the bucket that contains a bound reaches a little
            // beyond the bound.
            distribution.forEachBucket { highestMicros, inBucket in
                if highestMicros <= bound * 1_000 { atMost += inBucket }
                if highestMicros <= bound * 1_000 * 33 / 32 { within += inBucket }
            }
            #expect(count >= atMost && count <= within, "seed \(seed): \(count) at most \(bound) ms")
        }
    }

    /// A page for two input topics with 256 partitions each can be parsed, and has the values that were given.
    @Test func aWholePageIsReadable() throws {
        let lags = (0..<512 as Range<Int32>).map {
            WorkerMetrics.Lag(topic: $0 < 256 ? "events" : "a\"b", partition: $0 % 256, records: Int64($0) * 3)
        }
        let text = WorkerMetrics.text(
            WorkerMetricsTests.snapshot(), .init(tokenAges: [("K\\1", 60)], lags: lags, isReady: true))
        let page = try ExpositionPage(text)
        let read = page.samples.filter { $0.name == "mailboat_kafka_lag_records" }.map { sample in
            WorkerMetrics.Lag(
                topic: sample.labels[0].value, partition: Int32(sample.labels[1].value) ?? -1,
                records: Int64(sample.value) ?? -1)
        }
        #expect(read == lags)
        #expect(page.samples.contains { $0.labels.first?.value == "K\\1" })
        // Each series occurs once, and has a head.
        let series = page.samples.map { "\($0.name)\($0.labels)" }
        #expect(Set(series).count == series.count)
        for sample in page.samples {
            let family = ["_bucket", "_sum", "_count"].first { sample.name.hasSuffix($0) }.map {
                String(sample.name.dropLast($0.count))
            }
            #expect(
                page.types[sample.name] != nil || family.map { page.types[$0] == "histogram" } == true, "\(sample.name)"
            )
        }
    }
}

struct LatencyDistributionTests {
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func quantilesAreRightToAThirtySecond(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var distribution = LatencyDistribution()
        var values: [Int64] = []
        for _ in 0..<500 {
            let millis = Int64.random(in: 0...(1 << Int64.random(in: 0...30, using: &random)), using: &random)
            values.append(millis)
            distribution.record(millis: millis)
        }
        values.sort()
        for share in [0.01, 0.5, 0.9, 0.99, 1] {
            let exact = Double(values[max(0, Int((Double(values.count) * share).rounded(.up)) - 1)])
            let answer = distribution.quantileMillis(share)
            #expect(
                answer >= exact && answer <= exact * 1.032 + 0.001,
                "seed \(seed): \(share) is \(answer), exactly \(exact)")
        }
    }

    /// An impossible time counts as no duration or as the longest one. The publisher sets a record's time, and may for
    /// example write nanoseconds.
    @Test func aTimeThatCannotBeIsTheLongestOrNone() {
        let traceparent = Array("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01".utf8)
        let place = TraceContext(traceparent: traceparent.span)
        for (millis, expected) in [(-1_700_000_000_000_000_000, 0), (1_700_000_000_000_000_000, UInt64(Int64.max))]
            as [(Int64, UInt64)]
        {
            var distribution = LatencyDistribution()
            distribution.record(millis: millis)
            if let place { distribution.keepExample(of: place, millis: millis, wallMillis: 1) }
            #expect(distribution.count == 1 && distribution.maxMicros == expected)
            #expect(distribution.examples.compactMap { $0?.micros } == [expected])
        }
    }

    @Test func mergingIsAddition() {
        var (left, right, both) = (LatencyDistribution(), LatencyDistribution(), LatencyDistribution())
        for millis in [1, 20, 300] as [Int64] {
            left.record(millis: millis)
            both.record(millis: millis)
        }
        for millis in [-5, .max] as [Int64] {
            right.record(millis: millis)
            both.record(millis: millis)
        }
        left.add(right)
        #expect(left == both)
    }

    @Test func nothingRecordedIsZero() { #expect(LatencyDistribution().quantileMillis(0.99) == 0) }
}

struct WorkerMetricsTests {
    static func snapshot() -> WorkerSnapshot {
        var snapshot = WorkerSnapshot()
        snapshot.bundleIDs = ["com.example.pizza", "com.example.football"]
        snapshot.engine.holdApps(2)
        snapshot.engine.apps[1].accepted = 7
        snapshot.engine.apps[1].countRefusal("BadDeviceToken")
        snapshot.engine.consumed = 10
        snapshot.engine.restored = 2
        snapshot.engine.stateGaps = 3
        snapshot.engine.stateRecordsForeign = 11
        snapshot.degraded = ["one", "two"]
        snapshot.engine.outcomes[Int(Outcome.delivered.rawValue)] = 5
        snapshot.engine.outcomes[Int(Outcome.superseded.rawValue)] = 3
        snapshot.engine.pending = 2
        snapshot.engine.forwarded = 1
        snapshot.engine.handedOver = 1
        var route = RouteCounters()
        route.requestsTotal = 4
        route.responses.status200 = 3
        route.goAways = ["BadCertificate": 1]
        snapshot.routes = [
            .init(name: "production/K", shard: 0, counters: route),
            .init(name: "production/K", shard: 1, counters: route),
        ]
        snapshot.channelListings = [
            .init(bundleID: "com.example.pizza", environment: .production, count: 8_000),
            .init(bundleID: "com.example.pizza", environment: .development, count: 3),
        ]
        snapshot.partitions = [
            .init(number: 0, shard: 0, phase: .running, restoredRecords: 1, restoreRecordsMax: 1, reason: ""),
            .init(number: 1, shard: 1, phase: .halted, restoredRecords: 0, restoreRecordsMax: 9, reason: "because"),
        ]
        return snapshot
    }

    private static func samples() -> [String: Double] {
        let surroundings = WorkerMetrics.Surroundings(
            tokenAges: [("KEY1234567", 60)], lags: [.init(topic: "events", partition: 3, records: 7)], isReady: true)
        var samples: [String: Double] = [:]
        for line in WorkerMetrics.text(Self.snapshot(), surroundings).split(separator: "\n") where !line.hasPrefix("#")
        {
            let parts = line.split(separator: " ")
            #expect(parts.count == 2)
            #expect(
                samples.updateValue(Double(parts[1]) ?? .nan, forKey: String(parts[0])) == nil,
                "\(parts[0]) comes twice")
        }
        return samples
    }

    @Test func conservationCanBeReadOff() {
        let samples = Self.samples()
        let outcomes = samples.filter { $0.key.hasPrefix("mailboat_events_outcomes_total{") }
        #expect(outcomes.count == Outcome.allCases.count)
        let taken = samples["mailboat_events_consumed_total"]! + samples["mailboat_events_restored_total"]!
        let rest = ["pending", "forwarded_total", "handed_over_total"].map { samples["mailboat_events_\($0)"]! }.reduce(
            0, +)
        #expect(taken == outcomes.values.reduce(0, +) + rest)
        #expect(samples["mailboat_events_unaccounted"] == 0)
    }

    @Test func routesAreSummedOverShards() {
        let samples = Self.samples()
        #expect(samples["mailboat_apns_requests_total{route=\"production/K\"}"] == 8)
        #expect(samples["mailboat_apns_responses_total{route=\"production/K\",status=\"200\"}"] == 6)
        #expect(samples["mailboat_apns_goaways_total{route=\"production/K\",reason=\"BadCertificate\"}"] == 2)
    }

    @Test func theRestIsThere() {
        let samples = Self.samples()
        #expect(samples["mailboat_partitions{phase=\"halted\"}"] == 1)
        #expect(samples["mailboat_kafka_lag_records{topic=\"events\",partition=\"3\"}"] == 7)
        #expect(samples["mailboat_provider_token_age_seconds{key=\"KEY1234567\"}"] == 60)
        let channels = "mailboat_channels_listed{app=\"com.example.pizza\",environment"
        #expect(samples[channels + "=\"production\"}"] == 8_000 && samples[channels + "=\"development\"}"] == 3)
        #expect(samples["mailboat_ready"] == 1)
        #expect(samples["mailboat_state_gaps_total"] == 3)
        #expect(samples["mailboat_state_foreign_records_total"] == 11)
        #expect(samples["mailboat_degraded"] == 2)
    }

    /// The name of a metric begins with `mailboat_`. It ends with `_total` if the metric is a counter, and only then.
    @Test func everyMetricHasATypeThatFitsItsName() {
        for line in WorkerMetrics.text(Self.snapshot(), .init()).split(separator: "\n") where line.hasPrefix("# TYPE") {
            let words = line.split(separator: " ")
            // Metrics that any process has are named as in the libraries of Prometheus and OpenTelemetry.
            let isOfAny = words[2].hasPrefix("process_") || words[2] == "target_info"
            #expect(words[2].hasPrefix("mailboat_") || isOfAny, "\(line)")
            #expect((words[3] == "counter") == words[2].hasSuffix("_total"), "\(line)")
        }
    }
}

struct PrometheusMetricsFactoryTests {
    @Test func whatLibrariesCountIsServed() {
        let factory = PrometheusMetricsFactory()
        factory.makeCounter(label: "http.requests", dimensions: [("method", "GET")]).increment(by: 2)
        factory.makeCounter(label: "http.requests", dimensions: [("method", "GET")]).increment(by: 1)
        factory.makeMeter(label: "pool-size", dimensions: []).set(4.5)
        factory.makeTimer(label: "request", dimensions: []).recordNanoseconds(1_500_000_000)
        let lines = factory.text().split(separator: "\n").map(String.init)
        #expect(lines.contains("http_requests_total{method=\"GET\"} 3"))
        #expect(lines.contains("pool_size 4.5"))
        #expect(lines.contains("request_seconds_sum 1.5"))
        #expect(lines.contains("request_seconds_count 1"))
    }

    @Test func seriesAreBounded() {
        let factory = PrometheusMetricsFactory()
        for number in 0..<(PrometheusMetricsFactory.seriesMax + 10) {
            factory.makeCounter(label: "c", dimensions: [("n", "\(number)")]).increment(by: 1)
        }
        #expect(factory.text().split(separator: "\n").contains("mailboat_metrics_ignored_series_total 10"))
    }

    @Test func oneNameIsOneKind() {
        let factory = PrometheusMetricsFactory()
        factory.makeMeter(label: "a", dimensions: []).set(1.0)
        factory.makeRecorder(label: "a", dimensions: [], aggregate: true).record(1.0)
        #expect(
            factory.text().split(separator: "\n").filter { $0 == "# TYPE a gauge" || $0.hasPrefix("# TYPE a ") }.count
                == 1)
    }

    @Test(arguments: [("a.b-c", "a_b_c"), ("9lives", "_9lives"), ("", "_"), ("é", "_")])
    func labelsBecomeNames(label: String, name: String) { #expect(PrometheusMetricsFactory.name(label) == name) }
}
