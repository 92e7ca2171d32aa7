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
            "A worker's configuration: apps, keys, and where the management service of APNs is reached.",
            valueName: "file"), completion: .file())
    var config: String

    @OptionGroup var place: ChannelsPlace

    var isJSON: Bool { self.place.isJSON }
    func refusal(_ failure: ChannelFailure) -> any Error { self.place.refusal(failure) }

    /// Opens a desk for the selected app and environment, and closes it when `body` has ended.
    func withDesk<Result>(
        _ body: (ChannelDesk, ChannelHome) async throws -> Result
    ) async throws -> Result {
        try await self.place.withDesk(of: try self.configuration(), body)
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
struct ChannelsPlace: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }
    enum Environment: String, ExpressibleByArgument, CaseIterable { case production, development }

    @Option(help: ArgumentHelp("The app. Not needed when there is only one.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(help: "The APNs environment. Not needed when the app has only one.")
    var environment: Environment?

    @Option(help: "Lines for a person, or one JSON object a line.")
    var format = Format.text

    var isJSON: Bool { self.format == .json }

    /// Opens a desk for the selected app and environment, and closes it when `body` has ended.
    func withDesk<Result>(
        of configuration: WorkerConfiguration, _ body: (ChannelDesk, ChannelHome) async throws -> Result
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
            desk = try await ChannelDesk(configuration, bundleIDs: [home.bundleID], logger: logger)
        } catch { throw CommandFailure("\(error)") }
        do {
            let result = try await body(desk, home)
            await desk.close()
            return result
        } catch {
            await desk.close()
            throw error
        }
    }

    /// Shows why something could not be done: always as a line for a person, and also as JSON if that was asked for.
    /// - Returns: the error to exit with.
    func refusal(_ failure: ChannelFailure) -> any Error {
        guard self.isJSON else { return CommandFailure("\(failure)") }
        StandardOutput.tell(
            JSONLine.text(
                ChannelRecord(failure.home, channel: failure.channel.isEmpty ? nil : failure.channel, failure: failure))
        )
        StandardError.print("Error: \(failure)")
        return ExitCode.failure
    }
}
