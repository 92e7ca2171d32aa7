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
        abstract: "Show in the browser how simulated phones display your events.",
        discussion: """
            An embedded Kafka, a simulated APNs and a worker run in this process, in memory, together with a web page. Publish events with \
            curl, with any Kafka client or on the page, and see the cards on simulated phones, and what happened to each event and push, \
            and why. No account and no configuration is needed. Any activity that you publish to gets a phone automatically. Without that \
            (--no-phones, or a real worker), an event without a token waits for one, and has no outcome until 'registration-wait' (5 \
            minutes) is over.

            Kafka clients find the broker by --kafka-port; it listens on a port of its own on 127.0.0.1, which 'kcat -L' shows.

            Exit status: 0 when it was stopped (SIGINT, SIGTERM), 1 when it cannot be started, for example because a port is in use, 64 \
            when the command line is wrong.

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

    @Option(help: "Address of the page. It has no authentication: any address but loopback also needs --expose.")
    var host = "127.0.0.1"

    @Option(help: "Port of the page; 0 takes a free one.", form: .listeningPort)
    var port = 8484

    @Flag(help: "Anyone who can reach --host can see every event and publish events.")
    var expose = false

    @Option(
        help:
            "Port for Kafka clients, on 127.0.0.1; 0 takes a free one. Default: 9092, or a free one if that is in use.",
        form: .listeningPort)
    var kafkaPort: Int?

    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "Bundle id of an app. May be repeated; events that name none are for the only one. Default: com.example.app.",
            valueName: "bundle id"), form: .bundleID)
    var apps: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            What your app expects of a content-state: its Swift type, as in your source; a JSON Schema (type, properties, required, items \
            and enum); or a sample, all of whose keys are then required. A push that does not fit shows nothing, as on a phone.
            """, valueName: "file"), completion: .file())
    var contentSchema: String?

    @Option(
        help: ArgumentHelp(
            "How cards are drawn: which keys of a content-state are title, lines, progress and timer, as JSON.",
            valueName: "file"), completion: .file())
    var template: String?

    @Option(
        help: """
            Pushes at priority 10 that a phone shows in an hour, all cards together that starts have put up on it; it silently drops \
            more. Default: it shows all.
            """,
        form: .whole(1...10_000))
    var phoneBudget: Int?

    @Flag(
        help:
            "Give an activity no phone until one is registered. Otherwise it gets one automatically."
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
        let schema = try self.contentSchema.map(GivenSchema.read)
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
        ) { [settings, paths = stage.credentialPaths, takenPort = stage.kafkaPortTaken] address in
            StandardOutput.show(
                Self.welcome(
                    address, settings, authority: paths.authority, key: paths.providerKey, takenPort: takenPort))
        }
        var configuration = ServiceGroupConfiguration(
            services: [page], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A browser that follows the timeline keeps its connection open. Without this limit, the shutdown would wait
        // for it.
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
    /// - Parameter takenPort: the usual port for Kafka clients, if something else listens there; `nil`: it was free.
    static func welcome(
        _ address: DevPageAddress, _ settings: DevPageSettings, authority: String, key: String, takenPort: Int?
    ) -> String {
        let taken = takenPort.map {
            "\n         (another process listens on \($0), so give this address to every command)"
        }
        var text = """

            Mailboat's development page. A Kafka, an APNs and a worker run here, in memory; Ctrl-C ends them.

              page   \(address.origin)
              kafka  \(settings.bootstrapShown), topic \(settings.eventsTopic)\(taken ?? "")
              apns   https://\(settings.apnsShown), where the worker pushes to; your own client may, too,
                     with the authority \(authority)
                     and the key \(key), team \(DevStage.teamID)

            Publish a first event. A simulated phone appears automatically:

            """
        for snippet in address.snippets {
            text += "\n# \(snippet.name)\n\(snippet.text)\n"
        }
        let bootstrap = settings.bootstrapShown
        return text + """

            # A whole story, and what became of each event
            mailboat trigger start --bootstrap \(bootstrap) --page \(address.origin)
            mailboat tail --bootstrap \(bootstrap) --since 5m


            """
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

extension GivenSchema {
    /// Reads the file of `--content-schema`.
    static func read(_ path: String) throws -> GivenSchema {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path) } catch {
            throw CommandFailure("--content-schema: \(error.commandLineDescription)")
        }
        do { return try GivenSchema(bytes, origin: URL(fileURLWithPath: path).lastPathComponent) } catch {
            throw CommandFailure("--content-schema \(ShownText.file(path) ?? ""): \(error.description)")
        }
    }
}
