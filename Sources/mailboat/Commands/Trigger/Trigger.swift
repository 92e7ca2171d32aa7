import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker
import Redaction

/// `mailboat trigger`.
struct Trigger: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Publish a short story of events, for trying things out.",
        discussion: """
            order   an activity: its token is registered, three updates follow (the last with an alert), then the end
            start   an activity that a push starts: its update token is registered, an update follows with an alert, then the end
            goal    an audience: phones join, one event says 0:0, the next is a goal with an alert for all, then full time
            burst   an activity: \(TriggerScenario.burstCount) updates at once; few become pushes, and the others are 'superseded'

            Publishes to the Kafka of 'mailboat embedded-kafka' and 'mailboat dev' (\(Trigger.localBrokers)) unless another is given, each \
            event acknowledged before the next. Prints the position of each event, and how to see its outcome. Key and tokens are made up \
            for each run, so that a story can be repeated. Apple refuses made-up tokens (BadDeviceToken); the simulated APNs and 'mailboat \
            dev' accept them. With --token a phone of yours gets the pushes, if its app decodes this content-state.

            Where 'mailboat dev' runs, the page's address is printed, with a search for the story. For start, the page registers the \
            update token of the card, or the simulated APNs is asked for it. With --token, which is then a push-to-start token, your \
            service registers the token that the app reports.

            With a key that is in use, a real card shows the story, and ends with it unless --no-end is given. --print shows the records, \
            as 'mailboat check' and 'mailboat publish' read them, and publishes nothing.

            Exit status: 0 when all events were acknowledged, 1 when one was not (the rest is then not published), 64 when the command line is wrong.

            EXAMPLES
              mailboat trigger order
              mailboat trigger order --key order-7 --token 80e0... --app com.example.pizza \\
                --config mailboat.yaml
              mailboat trigger goal --audience match-7 --no-end
              mailboat trigger burst --print | mailboat check
            """)

    /// Address of 'mailboat embedded-kafka'.
    static let localBrokers = "127.0.0.1:9092"

    @Argument(help: "order, start, goal or burst.")
    var scenario: TriggerScenario

    @OptionGroup var cluster: ClusterOptions

    @Option(
        name: .customLong("key"),
        help: ArgumentHelp("The id of the activity, or of the audience. Default: one that is made up.", valueName: "id")
    )
    var givenKey: String?

    @Option(help: ArgumentHelp("The same as --key, for goal.", valueName: "id"))
    var audience: String?

    var key: String? { self.givenKey ?? self.audience }

    @Option(help: ArgumentHelp("A device token, in hexadecimal digits. Default: made up.", valueName: "hex"))
    var token: String?

    @Option(
        help: ArgumentHelp("The app. Not needed where only one is configured.", valueName: "bundle id"), form: .bundleID
    )
    var app: String?

    @Option(help: ArgumentHelp("The page of 'mailboat dev', to print a link to it.", valueName: "url"))
    var page = "http://127.0.0.1:8484"

    @Option(help: ArgumentHelp("The control API of 'mailboat apns-simulator'.", valueName: "url"))
    var simulator = "http://127.0.0.1:2198"

    @Option(
        help: "The token's environment: production or development.", completion: .list(["production", "development"]))
    var environment = "production"

    @Option(help: "The topic. Default: the first input topic of --config, or a worker's own default.", form: .topic)
    var topic: String?

    @Option(help: ArgumentHelp("Between events.", valueName: "seconds"), form: .whole(0...60, "seconds"))
    var pause = 2

    @Flag(inversion: .prefixedNo, help: "The story ends. --no-end: the activity or audience lives on.")
    var end = true

    @Flag(help: "Print the records, one a line, and publish nothing.")
    var print = false

    @Option(
        help: ArgumentHelp("How long a record may take to be acknowledged.", valueName: "seconds"),
        form: .whole(1...3_600, "seconds"))
    var timeout = 30

    func validate() throws {
        for (option, url) in [("--page", self.page), ("--simulator", self.simulator)] where LocalQuestion(url) == nil {
            throw ValidationError(
                "\(option) is \(ShownText.withheld(url)): expected a URL of this machine such as http://127.0.0.1:8484"
            )
        }
        guard self.givenKey == nil || self.audience == nil else {
            throw ValidationError("--key and --audience are given: expected one of them")
        }
        if let key {
            let bytes = Array(key.utf8)
            do throws(EventRejection) { try EventRules.checkKey(bytes.span) } catch {
                throw ValidationError(
                    "\(self.givenKey == nil ? "--audience" : "--key") is \(ShownText.name(key)): it \(error.reason)")
            }
        }
        if let token {
            guard (2...400).contains(token.utf8.count), token.utf8.count.isMultiple(of: 2),
                token.utf8.allSatisfy({ Hex.value(of: $0) <= 15 })
            else {
                throw ValidationError(
                    "--token has \(token.count) characters, or others than digits and a to f: expected 2 to 400 hexadecimal digits, an even number"
                )
            }
        }
        guard ["production", "development"].contains(self.environment) else {
            throw ValidationError(
                "--environment is \(ShownText.closed(self.environment)): expected production or development")
        }
    }

    func run() async throws {
        var random = SystemRandomNumberGenerator()
        let cast = self.cast(nowSeconds: Int64(Date().timeIntervalSince1970), random: &random)
        let steps = self.scenario.steps(cast)
        if self.print {
            for step in steps { StandardOutput.print(Self.text(step.record)) }
            return
        }
        let command = self
        try await NamedThread.run("trigger") { Result { try command.publish(steps, of: cast) } }.get()
    }

    /// The story's cast: what the options give, and the rest made up.
    func cast(nowSeconds: Int64, random: inout some RandomNumberGenerator) -> TriggerScenario.Cast {
        let key = self.key ?? "\(self.scenario.rawValue)-\(Self.hex(byteCount: 3, random: &random))"
        let count = self.scenario == .goal ? TriggerScenario.madeUpMemberCount : 1
        let tokens =
            self.token.map { [$0.lowercased()] } ?? (0..<count).map { _ in Self.hex(byteCount: 32, random: &random) }
        return TriggerScenario.Cast(
            key: key, tokens: tokens, app: self.app, isDevelopment: self.environment == "development",
            nowSeconds: nowSeconds, ends: self.end)
    }

    private static func hex(byteCount: Int, random: inout some RandomNumberGenerator) -> String {
        (0..<byteCount * 2).map { _ in String(Int.random(in: 0..<16, using: &random), radix: 16) }.joined()
    }

    /// Publishes the steps. Blocks.
    private func publish(_ steps: [TriggerScenario.Step], of cast: TriggerScenario.Cast) throws {
        let kafka = KafkaOptions(cluster: self.cluster.orLocal(Self.localBrokers), timeout: self.timeout)
        try self.checkApp(kafka.cluster.apps())
        let topic = try self.topic ?? kafka.cluster.configuration().topics.events[0]
        let publisher = try SteadyPublisher(kafka, topic: topic)
        let brokers = try kafka.cluster.brokers()
        let witness = StoryWitness.find(
            brokers: brokers, page: self.origin(self.page), simulator: self.origin(self.simulator))
        for line in self.opening(cast, witness) { StandardOutput.printAlways(line) }
        for (index, step) in steps.enumerated() {
            if index > 0, !step.isHurried { Sleeping.sleep(.seconds(self.pause)) }
            switch self.taking(step, of: cast, witness) {
            case .publish(let step):
                let position = try publisher.publish(step.record)
                StandardOutput.printAlways("\(position)  \(step.words)")
            case .leave(let why): StandardOutput.printAlways(why)
            }
            StandardOutput.flush()
        }
        StandardOutput.printAlways("")
        for line in self.hints(cast, cluster: kafka.cluster, witness) { StandardOutput.printAlways(line) }
    }

    /// Refuses a story whose events no worker would take.
    /// - Parameter apps: bundle ids in the configuration; `nil`: there is no configuration.
    private func checkApp(_ apps: [String]?) throws {
        guard let apps, self.app.map({ !apps.contains($0) }) ?? (apps.count > 1) else { return }
        let given = self.app.map { "is \(ShownText.name($0))" } ?? "is missing"
        throw ValidationError("--app \(given): expected an app of --config: \(apps.joined(separator: ", "))")
    }

    /// How a step is handled.
    enum Taking: Equatable {
        case publish(TriggerScenario.Step)
        /// Do nothing, and print this text.
        case leave(String)
    }

    /// Decides how to handle a step. Blocks while it waits for the token of a new card.
    func taking(_ step: TriggerScenario.Step, of cast: TriggerScenario.Cast, _ witness: StoryWitness) -> Taking {
        guard step.isOfReturnedToken else { return .publish(step) }
        let waits = "what follows waits for it, merging, as long as the activity lives"
        switch witness {
        case .page(_, registers: true):
            return .leave("register: the page does it, as the app's server would, with the token of the new card")
        case .page, .nobody,
            .simulator where self.token != nil:
            return .leave("register: up to your service, with the token that the app reports; \(waits)")
        case .simulator:
            guard let token = witness.updateToken(ofStartToken: cast.tokens.first ?? "") else {
                return .leave("register: no update token has been reported; \(waits)")
            }
            return .publish(cast.registerReturned(token))
        }
    }

    private func shown(_ url: String) -> String { ShownText.addresses(String(url.trimmingPrefix("http://"))) }

    /// The URL without the slash at its end, which browsers add.
    private func origin(_ url: String) -> String { url.hasSuffix("/") ? String(url.dropLast()) : url }

    /// Lines that are printed before the first step, so that a person can watch from the beginning. They have the
    /// page's link, or say how to name a page and a simulator that were not found.
    func opening(_ cast: TriggerScenario.Cast, _ witness: StoryWitness) -> [String] {
        if let link = witness.link(cast.key) { return ["Watch it on the page of 'mailboat dev':", "  \(link)", ""] }
        guard witness == .nobody else { return [] }
        return [
            "No page of 'mailboat dev' with this Kafka answers at \(self.shown(self.page)); if yours is elsewhere: --page URL. No 'mailboat apns-simulator' answers at \(self.shown(self.simulator)); if yours is elsewhere: --simulator URL.",
            "",
        ]
    }

    /// How to look at the results.
    func hints(
        _ cast: TriggerScenario.Cast, cluster: ClusterOptions, _ witness: StoryWitness = .nobody
    ) -> [String] {
        let key = ShellWord.quoted(cast.key)
        let reach = cluster.hint
        var lines = [
            "The outcomes, and what is under way:",
            "  mailboat tail --key \(key) --since 5m \(reach)",
            "  mailboat explain \(key) \(reach)",
        ]
        if self.scenario == .goal { lines.append("  mailboat state dump --audience \(key) \(reach)") }
        if let link = witness.link(cast.key) { return ["On the page of 'mailboat dev':", "  \(link)"] + lines }
        guard case .simulator = witness else { return lines }
        // A made-up token is not a secret. The command shown asks the simulated APNs about it.
        if self.token == nil, let token = cast.tokens.first {
            lines.append("With 'mailboat apns-simulator', what the phone shows:")
            lines.append("  curl -s \(self.origin(self.simulator))/devices/\(token)")
        }
        return lines
    }

    /// A record as 'mailboat publish' reads it.
    private static func text(_ record: RecordText) -> String {
        let key = JSONLine.text(String(decoding: record.key ?? [], as: UTF8.self))
        return #"{"key":\#(key),"value":\#(String(decoding: record.value ?? [], as: UTF8.self))}"#
    }
}
