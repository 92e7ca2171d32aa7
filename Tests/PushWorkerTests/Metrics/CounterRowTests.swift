import Foundation
import PushEngine
import PushTransport
import Testing

@testable import PushWorker

/// Tests that every number that shards count is summed and served. A new number needs only one row in a table.
struct CounterRowTests {
    /// Paths of stored numbers that differ from `value`, nested ones included.
    private static func others(than value: UInt64, in subject: Any, path: String = "") -> [String] {
        switch subject {
        case let number as UInt64: return number == value ? [] : [path]
        case let number as Int: return number == Int(value) ? [] : [path]
        default:
            return Mirror(reflecting: subject).children.enumerated().flatMap {
                Self.others(than: value, in: $0.element.value, path: "\(path).\($0.element.label ?? "\($0.offset)")")
            }
        }
    }

    /// Checks that each number has exactly one row. Adding 1 through every row must make every number 1. Adding the
    /// result to itself must make every number 2.
    private static func checkRows<Counters: CountedBySource>(
        _ rows: [CounterRow<Counters>], of empty: Counters, add: (inout Counters, Counters) -> Void
    ) {
        var ones = empty
        for row in rows {
            switch row.field {
            case .unsigned(let path): ones[keyPath: path] += 1
            case .signed(let path): ones[keyPath: path] += 1
            }
        }
        #expect(Self.others(than: 1, in: ones) == [], "no row, or more than one")
        var sum = ones
        add(&sum, ones)
        #expect(Self.others(than: 2, in: sum) == [])
    }

    @Test func everyNumberHasOneRow() {
        Self.checkRows(EngineCounters.rows, of: EngineCounters()) { $0.add($1) }
        Self.checkRows(AppCounters.rows, of: AppCounters()) { $0.add($1) }
        Self.checkRows(KafkaCounters.rows, of: KafkaCounters()) { $0.add($1) }
        Self.checkRows(RouteCounters.rows, of: RouteCounters()) { $0.add($1) }
        Self.checkRows(TracingCounters.rows, of: TracingCounters()) {
            (sum: inout TracingCounters, other: TracingCounters) in
            sum.add(other)
        }
    }

    /// Rows with the same name are one family on the page, with one head.
    @Test func everyNameIsServedOnce() throws {
        let names = Self.page().split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
            $0.split(separator: " ")[2]
        }
        #expect(names.count > 100 && Set(names).count == names.count)
    }

    /// The metrics page of a worker, with the metrics of its libraries. Token ages, lags and the login get values here,
    /// because these metrics show their labels only with values.
    private static func page() -> String {
        WorkerMetrics.text(
            WorkerMetricsTests.snapshot(),
            .init(
                tokenAges: [("KEY1234567", 60)], lags: [.init(topic: "events", partition: 3, records: 7)],
                login: LoginReport(
                    source: "kafka.oauth.token-file", shownSource: "a", validity: .good, leftMillis: 60_000,
                    obtained: 1, failures: [:])))
            + PrometheusMetricsFactory().text()
    }

    /// The documented table lists the same metrics as the page, in the same order and with the same labels.
    @Test func theTableIsThePage() throws {
        let text = Self.page()
        let page = try ExpositionPage(text)
        let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
        #expect(MetricsTable.all.map(\.name) == names.map(String.init))
        for metric in MetricsTable.all {
            #expect(page.types[metric.name] == metric.kind.rawValue)
            #expect(page.helps[metric.name] == metric.help)
            let suffix = metric.kind == .histogram ? "_count" : ""
            let samples = page.samples.filter { $0.name == metric.name + suffix }
            #expect(!samples.isEmpty)
            for sample in samples { #expect(sample.labels.map(\.name) == metric.labels, "\(metric.name)") }
            // A unit in a name has to be the metric's unit.
            for unit in ["bytes", "seconds", "records"] where metric.name.contains("_\(unit)") {
                #expect(metric.unit == unit, "\(metric.name)")
            }
        }
    }

    @Test func reasonsOfGoAwaysAreSummed() {
        var (sum, other) = (RouteCounters(), RouteCounters())
        sum.goAways = ["Shutdown": 1]
        other.goAways = ["Shutdown": 2, "BadCertificate": 3]
        sum.add(other)
        #expect(sum.goAways == ["Shutdown": 3, "BadCertificate": 3])
    }

    /// A worker serves each metric that the documents name.
    @Test(arguments: [("deploy/Metrics.md", 9), ("deploy/Operations.md", 5)])
    func documentsNameMetricsThatAreServed(path: String, countMin: Int) throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let document = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        let page = try ExpositionPage(Self.page())
        let named = Set(document.matches(of: /mailboat_[a-z_]*[a-z]/).map { String($0.output) })
        #expect(named.count >= countMin)
        for name in named { #expect(page.types[name] != nil, "\(path) names \(name), which no page has") }
    }
}
