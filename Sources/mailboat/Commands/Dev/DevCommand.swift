import ArgumentParser
import CommandSupport
import DevPage
import Foundation
import KafkaLog
import Listening
import LocalFiles
import Logging
import PushInspection
import PushModel
import Redaction
import ServiceLifecycle
import UnixSignals

/// `mailboat dev`: everything a developer of a Live Activity needs in one process, with a page to look at.
struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Shows in the browser what simulated phones make of your events.",
        discussion: """
            An embedded Kafka, a simulated APNs and a worker run in this process, in memory, beside a page: publish events with curl, with any \
            Kafka client or on the page, and see the cards on simulated phones, what became of each event and push, and why. It takes no \
            account and no configuration. An activity that is published to gets a phone by itself; elsewhere an event without a token waits for one, \
            and has no outcome before 'registration-wait' (5 minutes) is over, as here with --no-phones.

            Kafka clients find the broker by --kafka-port; it listens on a port of its own on 127.0.0.1, which 'kcat -L' shows.

            Exit status: 0 when it was told to stop (SIGINT, SIGTERM), 1 when it cannot be started, such as on a port that is taken, 64 when the \
            command line is wrong.

            EXAMPLES
              Start it, and open the page whose address it prints:
                mailboat dev

              Let the phones decode as your app does, and drop high-priority pushes over 16 an hour:
                mailboat dev --app com.example.pizza \\
                  --content-schema PizzaAttributes.swift --phone-budget 16

              In a test: publish, and wait until a phone shows it:
                curl --fail-with-body -sS 'localhost:8484/events?activity=order-7' -d '{"event": "update", "content-state": {"minutes": 12}}'
                curl --fail-with-body \\
                  -sS 'localhost:8484/wait-for?activity=order-7&key=minutes&value=12'
            """)

    @Option(help: "Address of the page. It has no authentication: another than loopback needs --expose, too.")
    var host = "127.0.0.1"

    @Option(help: "Port of the page; 0 takes a free one.", form: .listeningPort)
    var port = 8484

    @Flag(help: "Whoever can reach --host may see every event and publish some.")
    var expose = false

    @Option(
        help:
            "Port for Kafka clients, on 127.0.0.1; 0 takes a free one. Not given: 9092, or a free one if that is taken.",
        form: .listeningPort)
    var kafkaPort: Int?

    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Bundle id of an app. May be repeated; events that name none are for the only one. Not given: com.example.app.",
            valueName: "bundle id"), form: .bundleID)
    var apps: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            What your app asks of a content-state: its Swift type, as it stands in your source; a JSON Schema (type, properties, required, \
            items and enum); or a sample, all of whose keys are then required. A push that does not fit shows nothing, as on a phone.
            """, valueName: "file"), completion: .file())
    var contentSchema: String?

    @Option(
        help: ArgumentHelp(
            "How cards are drawn: which keys of a content-state are title, lines, progress and timer, as JSON.",
            valueName: "file"), completion: .file())
    var template: String?

    @Option(
        help: "Pushes at priority 10 that a phone shows in an hour; it drops more in silence. Not given: it shows all.",
        form: .whole(1...10_000))
    var phoneBudget: Int?

    @Flag(
        help:
            "Leave an activity that is published to without a phone until one is registered. Otherwise it gets one by itself."
    )
    var noPhones = false

    @Flag(help: "Write the worker's log to standard error.")
    var verbose = false

    func validate() throws {
        guard self.expose || DevPageService.isLoopback(self.host) else {
            throw ValidationError(
                "--host is \(ShownText.name(self.host)): the page has no authentication, so it listens on loopback unless --expose is given"
            )
        }
    }

    func run() async throws {
        let schema = try self.contentSchema.map(Self.schema)
        let templates = try self.template.map(Self.templates) ?? []
        let isVerbose = self.verbose
        let logger = Logger(label: "mailboat.dev", factory: { isVerbose ? LogLines.handler(label: $0) : DevLog() })
        let stage = try await DevStage(
            DevStage.Options(
                apps: self.apps.isEmpty ? ["com.example.app"] : self.apps, kafkaPort: self.kafkaPort,
                phoneBudgetPerHour: self.phoneBudget, schema: schema), logger: logger)
        stage.store.setTemplates(templates)
        do {
            try await self.serve(stage, logger: logger)
        } catch {
            await stage.strike()
            throw error
        }
        await stage.strike()
    }

    private func serve(_ stage: DevStage, logger: Logger) async throws {
        var settings = stage.pageSettings
        settings.host = self.host
        settings.port = self.port
        settings.makesPhones = !self.noPhones
        let page = try DevPageService(
            settings, store: stage.store, simulator: stage.simulator, worker: stage.worker, logger: logger
        ) { [settings, paths = stage.credentialPaths] address in
            StandardOutput.show(Self.welcome(address, settings, authority: paths.authority, key: paths.providerKey))
        }
        var configuration = ServiceGroupConfiguration(
            services: [page], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A browser that follows keeps its connection open.
        configuration.maximumGracefulShutdownDuration = .seconds(1)
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch {
            guard let fault = ListenFault(error, "--host and --port", host: self.host, port: self.port) else {
                throw error
            }
            throw CommandFailure("\(fault)")
        }
    }

    /// The text that is printed once the page can be opened.
    static func welcome(
        _ address: DevPageAddress, _ settings: DevPageSettings, authority: String, key: String
    ) -> String {
        var text = """

            Mailboat's development page. A Kafka, an APNs and a worker run here, in memory; Ctrl-C ends them.

              page   \(address.origin)
              kafka  \(settings.bootstrapShown), topic \(settings.eventsTopic)
              apns   https://\(settings.apnsShown), where the worker pushes to; your own client may, too,
                     with the authority \(authority)
                     and the key \(key), team \(DevStage.teamID)

            Publish a first event. A simulated phone comes by itself:

            """
        for snippet in address.snippets {
            text += "\n# \(snippet.name)\n\(snippet.text)\n"
        }
        return text + "\n"
    }

    private static func schema(_ path: String) throws -> GivenSchema {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path) } catch { throw CommandFailure("--content-schema: \(error)") }
        do { return try GivenSchema(bytes, origin: URL(fileURLWithPath: path).lastPathComponent) } catch {
            throw CommandFailure("--content-schema \(ShownText.path(path) ?? ""): \(error.description)")
        }
    }

    private static func templates(_ path: String) throws -> [CardTemplate] {
        let tree = try Self.document(path, of: "--template")
        do { return try CardTemplate.read(tree) } catch {
            throw CommandFailure("--template \(ShownText.path(path) ?? ""): \(error.description)")
        }
    }

    private static func document(_ path: String, of option: String) throws -> JSONTree {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path) } catch { throw CommandFailure("\(option): \(error)") }
        do { return try JSONTree.parse(bytes) } catch {
            throw CommandFailure(
                "\(option) \(ShownText.path(path) ?? ""): not JSON: at byte \(error.index), \(error.expectation)")
        }
    }
}
