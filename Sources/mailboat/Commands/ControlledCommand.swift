import CommandSupport
import Listening
import Logging
import ServiceLifecycle
import UnixSignals

/// Helpers of the commands that simulate Kafka or APNs and have a control API.
enum ControlledCommand {
    /// Writes a line and flushes it, so that the process that started this one gets it at once, through a pipe, too.
    static func say(_ line: String) {
        StandardOutput.printAlways(line)
        StandardOutput.flush()
    }

    /// Serves the control API until SIGTERM or SIGINT, then stops what it controls.
    static func serve(
        _ control: any Service, host: String, port: Int, logger: Logger, thenStop stop: () async -> Void
    ) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [control], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do {
            try await group.run()
        } catch {
            await stop()
            throw ListenFault(error, "--control-host and --control", host: host, port: port) ?? error
        }
        await stop()
    }
}
