import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import Logging
import Metrics
import PushWorker
import ServiceLifecycle
import UnixSignals

/// `mailboat run`: the worker.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a worker: take events from Kafka, push them to APNs.",
        discussion: """
            Settings come from a YAML file and from the environment, which wins: 'budget.per-hour' is MAILBOAT_BUDGET_PER_HOUR. Workers of one \
            consumer group share the partitions. SIGTERM or SIGINT drains: nothing more is taken, what is in flight is finished, the rest is \
            written down and committed, and the group is left, all within 'drain-timeout'.

            EXAMPLES
              mailboat run --config mailboat.yaml
              mailboat run --config mailboat.yaml --check
              mailboat run --print-settings
              mailboat run --print-metrics
            """)

    @Option(help: ArgumentHelp("YAML file with the settings.", valueName: "file"))
    var config: String?

    @Flag(help: "Check the settings, and the keys and certificates they name, and end: 0 when they are good.")
    var check = false

    @Flag(help: "Print all settings as a Markdown table and end.")
    var printSettings = false

    @Flag(help: "Print all metrics as a Markdown table and end.")
    var printMetrics = false

    func run() async throws {
        if self.printSettings {
            StandardOutput.show(SettingsTable.markdown())
            return
        }
        if self.printMetrics {
            StandardOutput.show(MetricsTable.markdown())
            return
        }
        let loaded = try self.load()
        if self.check {
            for note in loaded.notes { Self.complain("warning: \(note)") }
            let faults = loaded.configuration.fileFaults()
            guard faults.isEmpty else { throw Self.refusal(faults) }
            StandardOutput.print("the settings are good")
            return
        }
        var logger = Logger(label: "mailboat")
        logger.logLevel = loaded.configuration.logLevel
        for note in loaded.notes { logger.warning("\(note)") }
        let metrics = PrometheusMetricsFactory()
        MetricsSystem.bootstrap(metrics)
        let worker = try WorkerService(loaded.configuration, logger: logger, metrics: metrics)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do {
            try await group.run()
        } catch let error as WorkerError {
            Self.complain("mailboat run: \(error)")
            throw ExitCode.failure
        }
    }

    private func load() throws -> ConfigurationLoader.Loaded {
        var bytes: [UInt8]?
        if let config {
            do {
                bytes = try InputFile.read(config)
            } catch {
                Self.complain("mailboat run: --config: \(error)")
                throw ExitCode.failure
            }
        }
        do {
            return try ConfigurationLoader.load(
                bytes, fileName: config.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "",
                environment: ProcessInfo.processInfo.environment)
        } catch {
            throw Self.refusal(error.faults)
        }
    }

    /// Names each fault. - Returns: what to end with.
    private static func refusal(_ faults: [ConfigurationFault]) -> ExitCode {
        for fault in faults { Self.complain(fault.description) }
        Self.complain(
            "mailboat run: \(faults.count) fault\(faults.count == 1 ? "" : "s") in the settings; nothing was started")
        return .failure
    }

    private static func complain(_ line: String) { StandardError.print(line) }
}
