import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import Logging
import PushTransport
import PushWorker

/// Selects whose channels are meant, and how answers are shown.
struct ChannelsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A worker's configuration: apps, keys, and the hosts of APNs' management service.",
            valueName: "file"), completion: .file())
    var config: String

    @OptionGroup var selection: ChannelsSelection

    @Option(
        help: ArgumentHelp(
            "How long a request waits for a connection to APNs. One that APNs cannot serve now is sent again, for four times as long.",
            valueName: "seconds"),
        form: .whole(1...3_600, "seconds"))
    var timeout = 15

    var isJSON: Bool { self.selection.isJSON }
    func refusal(_ failure: ChannelFailure) -> any Error { self.selection.refusal(failure, settings: self.config) }

    /// Opens a desk for the selected app and environment, and closes it when `body` has ended.
    func withDesk<Result>(
        _ body: (ChannelDesk, ChannelHome, StatusLine) async throws -> Result
    ) async throws -> Result {
        try await self.selection.withDesk(of: try self.configuration(), waiting: self.timeout, body)
    }

    private func configuration() throws -> WorkerConfiguration {
        do {
            return try ConfigurationLoader.load(
                try InputFile.read(self.config), fileName: self.config,
                environment: ProcessInfo.processInfo.environment
            ).configuration
        } catch { throw CommandFailure("\(error)") }
    }
}

/// Selects the app and environment, and how answers are shown.
struct ChannelsSelection: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }
    enum Environment: String, ExpressibleByArgument, CaseIterable { case production, development }

    @Option(help: ArgumentHelp("The app. Not needed when there is only one.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(help: "The APNs environment. Not needed when the app has only one.")
    var environment: Environment?

    @Option(help: "Lines for a person, or one JSON object a line.")
    var format = Format.text

    var isJSON: Bool { self.format == .json }

    /// Opens a desk for the selected app and environment, and closes it when `body` has ended. The progress line names
    /// the server that is asked, until `body` shows another text.
    /// - Parameter seconds: how long a request waits for a connection.
    func withDesk<Result>(
        of configuration: WorkerConfiguration, waiting seconds: Int,
        _ body: (ChannelDesk, ChannelHome, StatusLine) async throws -> Result
    ) async throws -> Result {
        let home: ChannelHome
        do throws(ChannelHomeFault) {
            home = try ChannelDesk.home(
                among: ChannelDesk.homes(of: configuration), app: self.app, environment: self.environment?.rawValue)
        } catch {
            throw ValidationError("--\(error.field) \(error.detail)")
        }
        // A failed request reports what happened on the connection, so the connection itself logs nothing.
        var logger = Logger(label: "mailboat")
        logger.logLevel = .critical
        let desk: ChannelDesk
        do {
            desk = try await ChannelDesk(
                configuration, bundleIDs: [home.bundleID], limits: Self.limits(waiting: seconds), logger: logger)
        } catch { throw CommandFailure("\(error)") }
        let status = StatusLine()
        status.show(
            "asking \(Self.address(of: home, configuration)) about channels of \(home), waiting \(seconds) s at most for a connection"
        )
        do {
            let result = try await body(desk, home, status)
            status.end()
            await desk.close()
            return result
        } catch {
            status.end()
            await desk.close()
            throw error
        }
    }

    /// Limits of the requests.
    /// - Parameter seconds: how long a request waits for a connection.
    static func limits(waiting seconds: Int) -> ChannelClientLimits {
        var limits = ChannelClientLimits()
        limits.connectionWaitMillis = Int64(seconds) * 1_000
        limits.totalMillis = limits.connectionWaitMillis * 4
        return limits
    }

    /// Host and port of the server that manages the channels of a home.
    private static func address(of home: ChannelHome, _ configuration: WorkerConfiguration) -> String {
        let route = configuration.plannedRoutes.first { route in
            route.uses.contains {
                $0.purpose == .management && $0.bundleID == home.bundleID
                    && $0.environment.rawValue == home.environment.name
            }
        }
        return route.map { "\($0.host):\($0.port)" } ?? "APNs"
    }

    /// Shows why something could not be done: always as a line for a person, and also as JSON if that was asked for.
    /// - Returns: the error to exit with.
    func refusal(_ failure: ChannelFailure, settings path: String?) -> any Error {
        let text = Advice.naming(settings: path, in: "\(failure)")
        guard self.isJSON else { return CommandFailure(text) }
        StandardOutput.printAlways(
            JSONLine.text(
                ChannelRecord(failure.home, channel: failure.channel.isEmpty ? nil : failure.channel, failure: failure))
        )
        StandardError.print("Error: \(text)")
        return ExitCode.failure
    }
}
