import ArgumentParser
import Foundation
package import KafkaLog
import LocalFiles
package import PushModel
package import PushWorker
import Redaction
import Synchronization

/// Which cluster, and how to connect to it. Where several are given, the later in this list takes precedence:
/// `--config`, `--properties`, `--bootstrap`, `-X`.
package struct ClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Brokers, separated by commas; instead of those of --config. A broker without a port is asked at 9092, with a warning.",
            valueName: "host:port,..."),
        form: .brokers)
    var bootstrap: String?

    @Option(
        help: ArgumentHelp(
            "A worker's configuration: brokers, how to connect to them, names of topics and group.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        name: .customLong("properties"),
        help: ArgumentHelp(
            "A file of librdkafka properties, name=value a line, such as security.protocol=SASL_SSL. It may also have kafka.oauth.token-file and the like. Passwords belong in this file: other users can see a command's words.",
            valueName: "file"), completion: .file())
    var propertiesFile: String?

    @Option(
        name: [.customShort("X"), .customLong("property")],
        help: ArgumentHelp(
            "A librdkafka property, such as sasl.mechanisms=PLAIN. May be repeated.", valueName: "name=value"))
    var properties: [String] = []

    /// Options for the parser, which fills them in.
    package init() {}

    /// Refuses properties with which no client could be made. Throws a `ValidationError` that repeats no value, because
    /// a value may be a password.
    package func validate() throws {
        for property in self.properties {
            guard let sign = property.firstIndex(of: "="), sign != property.startIndex else {
                // The word may be a password whose name was forgotten.
                throw ValidationError("-X needs name=value, such as security.protocol=SSL")
            }
        }
        var given = KafkaSettings()
        self.appendGiven(to: &given)
        // `kafka.oauth` properties are not judged yet, because others that such a login needs may be in a file.
        try Self.judge(given.keeping { !$0.name.hasPrefix("kafka.oauth.") }, for: .consumer)
    }

    /// Whether any of these options was given. `-X` counts only with a property that names brokers.
    package var isGiven: Bool {
        self.bootstrap != nil || self.config != nil || self.propertiesFile != nil
            || self.properties.contains { KafkaSettings.namesBrokers($0.prefix { $0 != "=" }) }
    }

    /// The file of a worker's configuration; `nil`: none was given.
    package var settingsFile: String? { self.config }

    /// What names the brokers: an option, or a setting in a file.
    package var brokersName: String {
        if self.bootstrap != nil || !self.isGiven { return "--bootstrap" }
        if self.properties.contains(where: { KafkaSettings.namesBrokers($0.prefix { $0 != "=" }) }) { return "-X" }
        if let file = self.propertiesFile, (try? Self.lines(file))?["bootstrap.servers"] != nil {
            return "bootstrap.servers in \(ShownText.path(file) ?? "--properties")"
        }
        return self.config.map { "kafka.bootstrap in \(ShownText.path($0) ?? "--config")" } ?? "--bootstrap"
    }

    /// The bundle ids of the configuration's apps; `nil`: no configuration was given.
    package func apps() throws -> [String]? {
        guard self.config != nil else { return nil }
        return try self.configuration().apps.map(\.bundleID)
    }

    /// The environments of each of the configuration's apps, by bundle id; `nil`: no configuration was given.
    package func environments() throws -> [String: [PushEnvironment]]? {
        guard self.config != nil else { return nil }
        return Self.environments(of: try self.configuration())
    }

    /// The environments of each app of a configuration, by bundle id.
    package static func environments(of configuration: WorkerConfiguration) -> [String: [PushEnvironment]] {
        var environments: [String: [PushEnvironment]] = [:]
        for app in configuration.apps {
            environments[app.bundleID] = PushEnvironment.allCases.filter { environment in
                app.environments.contains { $0.rawValue == "\(environment)" }
            }
        }
        return environments
    }

    /// These options, with the given brokers if none were named: for commands that are used beside a local Kafka.
    package func orLocal(_ brokers: String) -> Self {
        guard !self.isGiven else { return self }
        var options = self
        options.bootstrap = brokers
        return options
    }

    /// A command for the same cluster, quoted for a sentence.
    /// - Parameter words: the command without the options that name the cluster.
    package func command(_ words: String) -> String {
        "'mailboat \(words)\(self.hint.isEmpty ? "" : " \(self.hint)")'"
    }

    /// The words that direct another command to the same cluster. They omit the properties, which may be passwords.
    package var hint: String {
        let brokers =
            self.bootstrap
            ?? self.properties.last(where: { KafkaSettings.namesBrokers($0.prefix { $0 != "=" }) })
            .map { String($0.drop { $0 != "=" }.dropFirst()) }
        let words = [
            ("--bootstrap", brokers.flatMap { ShownText.addresses($0) == $0 ? $0 : nil }),
            ("--config", self.config.flatMap(ShownText.path)),
            ("--properties", self.propertiesFile.flatMap(ShownText.path)),
        ]
        return words.compactMap { name, value in value.map { "\(name) \(ShellWord.quoted($0))" } }.joined(
            separator: " ")
    }

    /// Refuses a command line that names no cluster.
    package func requireBrokers() throws {
        guard self.isGiven else { throw ValidationError("give --bootstrap host:port,... or --config FILE") }
    }

    /// The configuration of `--config`; without one, a worker's defaults.
    package func configuration() throws -> WorkerConfiguration {
        try self.config.map(Self.configuration) ?? WorkerConfiguration()
    }

    /// The configuration in the file that `--config` names.
    package static func configuration(_ path: String) throws -> WorkerConfiguration {
        do {
            return try ConfigurationLoader.load(
                try InputFile.read(path), fileName: path, environment: ProcessInfo.processInfo.environment
            ).configuration
        } catch let failure as FileFailure {
            throw CommandFailure("--config: \(failure.commandLineDescription)")
        } catch { throw CommandFailure("\(error)") }
    }

    /// Properties in order of precedence, checked by librdkafka.
    package func settings(for role: KafkaSettings.Role) throws -> KafkaSettings {
        var settings = KafkaSettings()
        if self.config != nil {
            let kafka = try self.configuration().kafka
            settings = role == .consumer ? kafka.consumerSettings : kafka.producerSettings
        }
        if let path = self.propertiesFile { settings = settings.appending(try Self.lines(path)) }
        self.appendGiven(to: &settings)
        do throws(ConfigurationError) { settings = try settings.loggingIn() } catch {
            throw ValidationError("\(error)")
        }
        try Self.judge(settings, for: role)
        guard let brokers = settings["bootstrap.servers"] ?? settings["metadata.broker.list"] else {
            throw ValidationError("no brokers: give --bootstrap host:port,..., or bootstrap.servers in --properties")
        }
        Self.remarkOnPorts(brokers)
        try Self.logIn(settings)
        return settings
    }

    /// Whether a missing port was remarked on. A command makes several clients, and must warn only once.
    private static let isRemarked = Atomic(false)

    /// Says on standard error which port is taken for brokers without one.
    private static func remarkOnPorts(_ brokers: String) {
        guard ShownText.addresses(brokers) == brokers, let remark = BrokerList.remarkOnPorts(brokers),
            !Self.isRemarked.exchange(true, ordering: .relaxed)
        else { return }
        StandardError.print("warning: \(remark)")
    }

    /// Waits for a token if the login needs one. Otherwise every request would silently wait for it.
    private static func logIn(_ settings: KafkaSettings) throws {
        let mechanism = settings.properties.last { ["sasl.mechanisms", "sasl.mechanism"].contains($0.name) }
        guard mechanism?.value.uppercased() == "OAUTHBEARER", let keeper = TokenKeeper.of(settings) else { return }
        do throws(TokenFault) { try keeper.obtain() } catch {
            throw CommandFailure("there is no token to log in to Kafka with: \(error)")
        }
    }

    /// The brokers, for messages.
    package func brokers() throws -> String {
        let settings = try self.settings(for: .consumer)
        return ShownText.addresses(
            BrokerList.withPorts(settings["bootstrap.servers"] ?? settings["metadata.broker.list"] ?? ""))
    }

    /// The properties in a file, `name=value` a line, including a login by tokens that its `kafka.oauth.…` lines
    /// describe. Throws a `CommandFailure` that names the file and repeats no value.
    package static func read(_ path: String) throws -> KafkaSettings {
        let settings = try Self.lines(path)
        do throws(ConfigurationError) { return try settings.loggingIn() } catch { throw Self.failure(path, error) }
    }

    private static func lines(_ path: String) throws -> KafkaSettings {
        do {
            let bytes = try InputFile.read(path)
            guard !ByteOrderMark.stands(in: bytes.span, at: 0) else {
                throw CommandFailure("the file \(ByteOrderMark.complaint)")
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let settings = try KafkaSettings(lines: text)
            try Self.judge(linesOf: text)
            return settings
        } catch { throw Self.failure(path, error) }
    }

    /// Refuses the first property that no client takes.
    private static func judge(linesOf text: String) throws {
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            guard let property = try KafkaSettings(lines: String(line)).properties.first,
                !property.name.hasPrefix("kafka.oauth."), let fault = property.fault()
            else { continue }
            throw CommandFailure("line \(index + 1): \(property.shownName) \(fault)")
        }
    }

    private static func failure(_ path: String, _ error: any Error) -> CommandFailure {
        // The error of a file that cannot be read names the file already.
        let shown = error is FileFailure ? nil : ShownText.path(path)
        return CommandFailure("--properties\(shown.map { " \($0)" } ?? ""): \(error)")
    }

    private func appendGiven(to settings: inout KafkaSettings) {
        if let bootstrap = self.bootstrap { settings.append("bootstrap.servers", bootstrap) }
        for property in self.properties {
            let parts = property.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            settings.append(String(parts[0]), String(parts[1]))
        }
    }

    private static func judge(_ settings: KafkaSettings, for role: KafkaSettings.Role) throws {
        do throws(KafkaError) {
            try settings.validate(for: role)
        } catch {
            throw ValidationError("\(error)\(settings.properties.map(\.nearHint).first { !$0.isEmpty } ?? "")")
        }
    }
}
