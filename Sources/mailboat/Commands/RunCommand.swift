import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import Logging
import Metrics
import PushWorker
import ServiceLifecycle
import Tracing
import UnixSignals

/// `mailboat run`: the worker.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a worker: take events from Kafka, push them to APNs.",
        discussion: """
            Settings are read from a YAML file and from the environment, which takes precedence: 'budget.per-hour' is \
            MAILBOAT_BUDGET_PER_HOUR. Workers of one consumer group share the partitions. SIGTERM or SIGINT drains: nothing more is taken, \
            what is in flight is finished, the rest is written down and committed, and the group is left, all within 'drain-timeout'. \
            SIGHUP reads the settings again: 'mailboat run --print-settings' says for each setting when a change takes effect. If a new \
            setting is wrong, the old settings stay in use, and the log names the fault.

            Exit status: 0 when it was stopped (SIGTERM, SIGINT) and with --check when the settings are good, 1 when they are not or the \
            worker cannot go on, 64 when the command line is wrong.

            EXAMPLES
              mailboat run --config mailboat.yaml
              mailboat run --config mailboat.yaml --check
              mailboat run --print-settings
              mailboat run --print-settings-schema
              mailboat run --print-metrics
            """)

    @Option(help: ArgumentHelp("YAML file with the settings.", valueName: "file"), completion: .file())
    var config: String?

    @Flag(
        help:
            "Check the settings, the keys and certificates that they name, and whether librdkafka accepts them, without any connection; then end, with 0 when they are good."
    )
    var check = false

    @Flag(help: "Print all settings as a Markdown table and end.")
    var printSettings = false

    @Flag(help: "Print a JSON Schema of the settings, for editors, and end.")
    var printSettingsSchema = false

    @Flag(help: "Print all metrics as a Markdown table and end.")
    var printMetrics = false

    @Flag(
        name: .customLong("print-openapi"), help: "Print the routes of the admin port as an OpenAPI document and end.")
    var printOpenAPI = false

    func validate() throws {
        guard self.config != nil,
            self.printSettings || self.printSettingsSchema || self.printMetrics || self.printOpenAPI
        else { return }
        throw ValidationError(
            "--print-… lists what there is, whatever the settings are: leave out --config. 'mailboat run --check --config FILE' reads them"
        )
    }

    func run() async throws {
        if self.printOpenAPI {
            StandardOutput.show(OpenAPIDocument.text)
            return
        }
        if self.printSettings {
            StandardOutput.show(SettingsTable.markdown())
            return
        }
        if self.printSettingsSchema {
            StandardOutput.show(SettingsSchema.text)
            return
        }
        if self.printMetrics {
            StandardOutput.show(MetricsTable.markdown())
            return
        }
        // Listen for SIGHUP before reading the settings, because a change may be signalled right after they are read.
        let hangUps = await HangUps()
        let (loaded, bytes) = try self.load()
        if self.check {
            for warning in loaded.warnings { LogLines.say("warning: \(warning)", level: .warning) }
            let faults = loaded.configuration.startFaults()
            guard faults.isEmpty else { throw Self.refusal(faults) }
            if let closed = loaded.configuration.closedPages { LogLines.say("warning: \(closed)", level: .warning) }
            StandardOutput.print("the settings are good")
            return
        }
        LogLines.write(as: loaded.configuration.logFormat)
        let logLevel = LogLevelSwitch(loaded.configuration.logLevel)
        let logger = logLevel.logger(label: "mailboat") { LogLines.handler(label: $0) }
        for warning in loaded.warnings { logger.warning("\(warning)") }
        let metrics = PrometheusMetricsFactory()
        MetricsSystem.bootstrap(metrics)
        // Libraries that trace find the tracer in `InstrumentationSystem`.
        let tracer = OTLPTracer(loaded.configuration.tracing, logger: logger)
        if let tracer { InstrumentationSystem.bootstrap(tracer) }
        let worker = try WorkerService(
            loaded.configuration, logger: logger, metrics: metrics, logLevel: logLevel, tracer: tracer)
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // Services stop in reverse order. The tracer is first, so that it still exports spans of a stopping
                // worker.
                services: (tracer.map { [.init(service: $0)] } ?? []) + [
                    .init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup),
                    .init(service: self.reloads(of: worker, loaded: bytes, hangUps: hangUps, logger: logger)),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do {
            try await group.run()
        } catch let error as WorkerError {
            LogLines.say("mailboat run: \(error)", level: .critical)
            throw ExitCode.failure
        }
    }

    /// The service that reads the settings again on request.
    private func reloads(
        of worker: WorkerService, loaded: [UInt8]?, hangUps: HangUps, logger: Logger
    ) -> ReloadService {
        let path = self.config
        return ReloadService(worker, loaded: loaded, hangUps: hangUps, logger: logger) {
            do throws(FileFailure) { return .content(try InputFile.read(path ?? "")) } catch {
                return .unreadable("\(error)")
            }
        } load: { () throws(ConfigurationError) -> WorkerConfiguration in
            let loaded = try Self.settings(try Self.bytes(path), path)
            for warning in loaded.warnings { logger.warning("\(warning)") }
            return loaded.configuration
        }
    }

    private func load() throws -> (loaded: ConfigurationLoader.Loaded, bytes: [UInt8]?) {
        var bytes: [UInt8]?
        do throws(ConfigurationError) {
            bytes = try Self.bytes(self.config)
            return (try Self.settings(bytes, self.config), bytes)
        } catch {
            // A check prints the faults. A worker logs them, in the log format of its settings.
            if !self.check {
                LogLines.write(
                    as: ConfigurationLoader.logFormat(bytes, environment: ProcessInfo.processInfo.environment))
            }
            throw Self.refusal(
                error.faults, advice: error.advice, hasFile: self.config != nil, filesFollow: bytes != nil)
        }
    }

    /// The file's content; `nil`: no file was given.
    private static func bytes(_ path: String?) throws(ConfigurationError) -> [UInt8]? {
        guard let path else { return nil }
        do throws(FileFailure) { return try InputFile.read(path) } catch {
            throw ConfigurationError(faults: [
                ConfigurationFault(setting: "--config", text: error.commandLineDescription)
            ])
        }
    }

    /// Settings from the file, if any, and the environment.
    private static func settings(
        _ bytes: [UInt8]?, _ path: String?
    ) throws(ConfigurationError) -> ConfigurationLoader.Loaded {
        try ConfigurationLoader.load(
            bytes, fileName: path.map { URL(fileURLWithPath: $0).lastPathComponent } ?? "",
            environment: ProcessInfo.processInfo.environment)
    }

    /// Reports each fault.
    /// - Parameter filesFollow: whether the files that the settings name have not been looked at yet.
    /// - Returns: the status to exit with.
    private static func refusal(
        _ faults: [ConfigurationFault], advice: String? = nil, hasFile: Bool = true, filesFollow: Bool = false
    ) -> ExitCode {
        for fault in faults { LogLines.say(fault.description, level: .error) }
        LogLines.say(
            "mailboat run: \(faults.count) fault\(faults.count == 1 ? "" : "s") in the settings; nothing was started"
                + (advice.map { ". \($0)" } ?? "")
                + (filesFollow ? ". The files that the settings name are checked next, once these are right" : "")
                + (hasFile ? "" : ". No --config FILE was given: the settings are those of the environment alone"),
            level: .critical)
        return .failure
    }
}
