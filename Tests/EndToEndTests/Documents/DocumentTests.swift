import Foundation
import PushWorker
import Testing

/// Tests that the documents agree with the program.
struct DocumentTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test(arguments: ["deploy/mailboat.example.yaml", "deploy/compose/worker.yaml"])
    func theExampleConfigurationsAreValid(path: String) throws {
        let loaded = try ConfigurationLoader.load(Array(try Self.text(path).utf8), fileName: path, environment: [:])
        #expect(loaded.warnings.isEmpty)
        #expect(!loaded.configuration.apps.isEmpty)
    }

    /// The example file shows the real defaults. Another value would mislead.
    @Test func theExampleShowsDefaults() throws {
        let example = try ConfigurationLoader.load(
            Array(try Self.text("deploy/mailboat.example.yaml").utf8), fileName: "example", environment: [:]
        ).configuration
        let standard = WorkerConfiguration()
        #expect(example.topics == standard.topics)
        #expect(example.startFrom == standard.startFrom)
        #expect(example.engine == standard.engine)
        #expect(example.drainTimeoutMillis == standard.drainTimeoutMillis)
        #expect(example.admin == standard.admin)
        let app = try #require(example.apps.first { $0.bundleID == "com.example.pizza" })
        var expected = AppSettings(bundleID: app.bundleID)
        expected.teamID = app.teamID
        #expect("\(app.engine)" == "\(expected.engine)")
    }

    /// The page's table of metrics is what `mailboat run --print-metrics` prints. Run that to renew the table.
    @Test func thePageListsEveryMetric() throws {
        let page = try Self.text("deploy/Metrics.md")
        let lines = MetricsTable.markdown().split(separator: "\n")
        for line in lines { #expect(page.contains(line), "deploy/Metrics.md lacks or contradicts: \(line)") }
        // The page contains the table as a whole, so it has no row of a former metric.
        #expect(page.contains(lines.joined(separator: "\n")))
    }

    /// The page's table of settings is what `mailboat run --print-settings` prints. Run that to renew the table.
    @Test func thePageListsEverySetting() throws {
        let page = try Self.text("deploy/Configuration.md")
        for line in SettingsTable.markdown().split(separator: "\n") {
            #expect(page.contains(line), "deploy/Configuration.md lacks or contradicts: \(line)")
        }
    }
}
