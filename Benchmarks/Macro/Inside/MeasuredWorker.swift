import ArgumentParser
import Dispatch
import Foundation
import Glibc
import Logging
import PushWorker
import ServiceLifecycle
import UnixSignals

/// The worker of `mailboat run` with one addition: on SIGUSR1 it writes its latencies, bucket by bucket.
struct MeasuredWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measured-worker", abstract: "A worker that can be asked for its latencies.", shouldDisplay: false)

    @Option var config: String
    @Option var distribution: String

    func run() async throws {
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        let loaded = try ConfigurationLoader.load(
            Array(try Data(contentsOf: URL(fileURLWithPath: self.config))), fileName: self.config,
            environment: ProcessInfo.processInfo.environment)
        var logger = Logger(label: "mailboat")
        logger.logLevel = loaded.configuration.logLevel
        let worker = try WorkerService(loaded.configuration, logger: logger)
        signal(SIGUSR1, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        let path = self.distribution
        source.setEventHandler { try? LatencyReport(worker.snapshot()).write(to: path) }
        source.resume()
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: worker, successTerminationBehavior: .gracefullyShutdownGroup)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
        withExtendedLifetime(source) {}
    }
}
