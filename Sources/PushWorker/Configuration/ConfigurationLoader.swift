import KafkaLog
import Redaction

/// Reads a configuration from a file and the environment. Where both give a setting, the environment's value is used.
/// Only settings in the tables are accepted, so each one is understood and documented.
///
/// A variable has its setting's name in capitals, with an underscore for each character that is neither letter nor
/// digit: `coalescing.minimum-distance` is `MAILBOAT_COALESCING_MINIMUM_DISTANCE`, and
/// `apps.com.example.pizza.budget.reserve` is `MAILBOAT_APPS_COM_EXAMPLE_PIZZA_BUDGET_RESERVE`. Elements of lists are
/// separated by commas.
public struct ConfigurationLoader {
    /// The result of reading.
    public struct Loaded: Sendable {
        /// The values of the file and the environment, with defaults for settings that neither gives. It has no faults.
        public var configuration: WorkerConfiguration
        /// Texts about what deserves a warning, but does not prevent a start.
        public var warnings: [String]
    }

    private static let environmentPrefix = "MAILBOAT"

    private let file: ConfigurationFile?
    private let environment: [String: String]
    private var faults: [ConfigurationFault] = []
    private var warnings: [String] = []
    /// The file's values by `key(app:name:)`.
    private var given: [String: ConfigurationFile.Entry] = [:]
    private var bundleIDs: [String] = []
    private var configuration = WorkerConfiguration()

    /// Reads a configuration.
    /// - Parameters:
    ///   - bytes: the file's content; `nil`: environment and defaults only.
    ///   - fileName: the file's name in faults.
    ///   - environment: the process's variables.
    /// - Throws: all faults that were found.
    public static func load(
        _ bytes: [UInt8]?, fileName: String, environment: [String: String]
    ) throws(ConfigurationError) -> Loaded {
        var file: ConfigurationFile?
        if let bytes { file = try ConfigurationFile(bytes, name: fileName) }
        var loader = ConfigurationLoader(file: file, environment: environment)
        return try loader.load()
    }

    /// The value of `log.format`. It is read even when other settings are wrong, because their faults are logged in
    /// that format.
    public static func logFormat(_ bytes: [UInt8]?, environment: [String: String]) -> LogFormat {
        let file = bytes.flatMap { try? ConfigurationFile($0, name: "") }
        var loader = ConfigurationLoader(file: file, environment: environment)
        loader.sortEntries()
        var configuration = WorkerConfiguration()
        for row in WorkerConfiguration.settings where row.description.name == "log.format" {
            loader.read(row, app: nil, into: &configuration)
        }
        return configuration.logFormat
    }

    private init(file: ConfigurationFile?, environment: [String: String]) {
        self.file = file
        self.environment = environment
    }

    private mutating func load() throws(ConfigurationError) -> Loaded {
        self.faults = self.file?.faults ?? []
        self.sortEntries()
        self.readBundleIDs()
        self.readKafkaProperties()
        var configuration = self.configuration
        for row in WorkerConfiguration.settings { self.read(row, app: nil, into: &configuration) }
        self.configuration = configuration
        self.readTelemetry()
        self.readProxies()
        for bundleID in self.bundleIDs {
            var app = AppSettings(bundleID: bundleID)
            for row in AppSettings.settings {
                self.read(row, app: bundleID, into: &app)
                let (name, isList) = (row.description.name, row.description.shape.isList)
                app.sources[name] = self.find(name, app: bundleID, isList: isList).map {
                    SettingSource(setting: $0.setting, location: $0.location)
                }
            }
            self.configuration.apps.append(app)
        }
        self.checkVariables()
        // A value that could not be read has been replaced by its default. Checks across settings would then report
        // faults that do not exist.
        let faults = self.faults.isEmpty ? self.configuration.faults : self.configuration.propertyFaults
        self.faults += faults.map { self.located($0) }
        guard self.faults.isEmpty else { throw ConfigurationError(faults: self.faults.inOrderOfLines) }
        self.warnOfMissingPorts()
        self.configuration.locations = self.locations()
        return Loaded(configuration: self.configuration, warnings: self.warnings)
    }

    // MARK: The file

    private static func key(app: String?, name: String) -> String { "\(app ?? "")\u{0}\(name)" }

    /// Finds the setting that each entry of the file names, and reports entries that are not settings.
    private mutating func sortEntries() {
        guard let file = self.file else { return }
        for entry in file.entries {
            let isOfApp = entry.path[0] == "apps" && entry.path.count > 1
            let app = isOfApp ? entry.path[1] : nil
            let name = entry.path.dropFirst(isOfApp ? 2 : 0).joined(separator: ".")
            if let app, !self.bundleIDs.contains(app) { self.bundleIDs.append(app) }
            if isOfApp, name.isEmpty {
                guard entry.text != .list([]) else { continue }
                self.fault(entry, "expected settings of the app below its bundle id")
                continue
            }
            guard
                app == nil ? Self.isKnown(name) : AppSettings.settings.contains(where: { $0.description.name == name })
            else {
                self.fault(entry, Self.unknownText(name, isOfApp: isOfApp))
                continue
            }
            let key = Self.key(app: app, name: name)
            if let earlier = self.given[key] {
                self.fault(entry, "is given twice: also on line \(earlier.line)")
            }
            self.given[key] = entry
        }
    }

    private static func isKnown(_ name: String) -> Bool {
        name == "apps" || WorkerConfiguration.settings.contains { $0.description.name == name }
            || AppSettings.settings.contains { $0.description.name == name }
            || WorkerConfiguration.openGroups.contains { name.hasPrefix($0.name + ".") }
    }

    private static func unknownText(_ name: String, isOfApp: Bool) -> String {
        if isOfApp, WorkerConfiguration.settings.contains(where: { $0.description.name == name }) {
            return "cannot be set for one app: expected at the top level"
        }
        var names = AppSettings.settings.map(\.description.name)
        if !isOfApp { names += WorkerConfiguration.settings.map(\.description.name) + ["apps"] }
        if let near = NearSpelling.of(name, among: names) { return "is not a setting; did you mean \(near)?" }
        guard !isOfApp, let property = Self.property(meantBy: name) else {
            return ConfigurationFault.unknown
        }
        let setting = "kafka.properties.\(property)"
        return "is not a setting; did you mean \(setting)?"
            + (KafkaSettings.isSecret(property)
                ? " It is a secret: better from the environment, as \(Self.variableName(of: setting))" : "")
    }

    /// The property of librdkafka that an unknown name, such as `kafka.password`, probably means. The name may lack its
    /// group.
    private static func property(meantBy name: String) -> String? {
        let word = name.hasPrefix("kafka.") ? String(name.dropFirst("kafka.".count)) : name
        let known = KafkaSettings.knownNames
        if known.contains(word) { return word }
        guard name != word else { return nil }
        return ["sasl", "ssl"].map { "\($0).\(word)" }.first(where: known.contains)
            ?? (word == "user" ? "sasl.username" : NearSpelling.of(word, among: known))
    }

    private mutating func fault(_ entry: ConfigurationFile.Entry, _ text: String) {
        self.faults.append(
            ConfigurationFault(
                setting: entry.shownName, location: self.file?.location(line: entry.line), text: text))
    }

    // MARK: Apps

    private mutating func readBundleIDs() {
        if let entry = self.given[Self.key(app: nil, name: "apps")] {
            switch entry.text {
            case .one(let text): self.bundleIDs.append(text)
            case .list(let texts): self.bundleIDs += texts
            }
        }
        if let (text, _) = self.variable("apps", isList: true), case .list(let texts) = text {
            self.bundleIDs += texts.filter { !self.bundleIDs.contains($0) }
        }
        for bundleID in self.bundleIDs where !SettingChecks.isBundleID(bundleID) {
            let shown =
                SettingChecks.bundleIDInTopic(bundleID) == nil
                ? ShownText.unknownName(bundleID) : ShownText.name(bundleID)
            self.faults.append(
                ConfigurationFault(
                    setting: "apps", location: self.location(ofApp: bundleID),
                    text: "\(shown) is no bundle id: expected \(SettingChecks.expectedBundleID(for: bundleID))"))
        }
        for (index, bundleID) in self.bundleIDs.enumerated() where self.bundleIDs[..<index].contains(bundleID) {
            self.faults.append(
                ConfigurationFault(
                    setting: "apps", location: self.location(ofApp: bundleID),
                    text: "\(ShownText.name(bundleID)) is listed twice"))
        }
    }

    /// Where an app is named: in the list of apps, as a name below `apps`, or in the environment.
    private func location(ofApp bundleID: String) -> String? {
        let entry = self.file?.entries.first { entry in
            guard entry.path[0] == "apps" else { return false }
            return entry.path.count > 1 ? entry.path[1] == bundleID : entry.text.holds(bundleID)
        }
        if let entry { return self.file?.location(line: entry.line) }
        return self.variable("apps", isList: true)?.name
    }

    // MARK: Locations

    /// The fault with the location of its setting. If `apps` is given but empty, the text says "empty", not "missing".
    private func located(_ fault: ConfigurationFault) -> ConfigurationFault {
        guard fault.location == nil, let location = self.locations()[fault.setting] else { return fault }
        var fault = fault
        fault.location = location
        if fault.setting == "apps" { fault.text = fault.text.replacing("is missing: ", with: "is empty: ") }
        return fault
    }

    /// Where settings were given, by their names. Settings of one app only are left out.
    private func locations() -> [String: String] {
        var locations: [String: String] = [:]
        for entry in self.file?.entries ?? [] where entry.path[0] != "apps" || entry.path.count == 1 {
            locations[entry.path.joined(separator: ".")] = self.file?.location(line: entry.line)
        }
        let groups = WorkerConfiguration.openGroups.map(\.name)
        for name in self.environment.keys where name.hasPrefix(Self.environmentPrefix + "_") {
            for group in groups where name.hasPrefix(Self.variableName(of: group) + "_") {
                locations["\(group).\(Self.property(of: name, in: group))"] = name
            }
        }
        for row in WorkerConfiguration.settings {
            if let variable = self.variable(row.description.name, isList: false) {
                locations[row.description.name] = variable.name
            }
        }
        return locations
    }

    /// The property of librdkafka that a variable gives.
    private static func property(of variable: String, in group: String) -> String {
        variable.dropFirst(Self.variableName(of: group).count + 1).lowercased().replacing("_", with: ".")
    }

    /// Warns of brokers without a port, because librdkafka uses its default port and does not say so.
    private mutating func warnOfMissingPorts() {
        let settings = self.configuration.kafka.consumerSettings
        // The warning would show the addresses. There is no warning if they look like a secret in the wrong place.
        guard let brokers = settings["bootstrap.servers"] ?? settings["metadata.broker.list"],
            ShownText.addresses(brokers) == brokers, let remark = BrokerList.remarkOnPorts(brokers)
        else { return }
        let location = self.locations()["kafka.bootstrap"].map { "\($0): " } ?? ""
        self.warnings.append("\(location)kafka.bootstrap: \(remark)")
    }

    // MARK: Values

    /// The value that is used, and where it was given. An app's own value is preferred to the one for all apps.
    private func find(_ name: String, app: String?, isList: Bool) -> (
        text: SettingText, setting: String, location: String
    )? {
        if let app {
            if let (text, variable) = self.variable("apps.\(app).\(name)", isList: isList) {
                return (text, "apps.\(ShownText.name(app)).\(name)", variable)
            }
            if let entry = self.given[Self.key(app: app, name: name)] {
                return (entry.text, entry.shownName, self.file?.location(line: entry.line) ?? "")
            }
        }
        if let (text, variable) = self.variable(name, isList: isList) { return (text, name, variable) }
        guard let entry = self.given[Self.key(app: nil, name: name)] else { return nil }
        return (entry.text, name, self.file?.location(line: entry.line) ?? "")
    }

    /// The variable of a setting, and its name; `nil` when the environment has none.
    private func variable(_ setting: String, isList: Bool) -> (text: SettingText, name: String)? {
        let name = Self.variableName(of: setting)
        guard let text = self.environment[name] else { return nil }
        guard isList else { return (.one(text), name) }
        let texts = text.split(separator: ",", omittingEmptySubsequences: false)
        return (.list(texts.map(Self.trimmed)), name)
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0.isWhitespace }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    private mutating func read<Root: SettingsRoot>(_ row: SettingRow<Root>, app: String?, into root: inout Root) {
        let description = row.description
        if row.kind == .secret { self.refuseInFile(description, app: app) }
        guard let (text, setting, location) = self.find(description.name, app: app, isList: description.shape.isList)
        else { return }
        if !row.apply(text, &root) {
            let fault = ConfigurationFault(
                setting: setting, location: location,
                text: Self.repeated(text, row) ?? "is \(row.kind.refused(text)): expected \(description.expected)"
                    + Self.hint(text, description.shape))
            // A wrong value for all apps is reported once, not once for each app.
            if !self.faults.contains(fault) { self.faults.append(fault) }
        }
    }

    /// A complaint about the first entry that a list contains twice. `nil` when no entry is repeated, or when that
    /// entry is not valid: only a valid entry may be shown.
    private static func repeated<Root: SettingsRoot>(_ text: SettingText, _ row: SettingRow<Root>) -> String? {
        guard case .list(let texts) = text, case .list(_, isOnce: true) = row.description.shape,
            let twice = texts.enumerated().first(where: { texts[..<$0.offset].contains($0.element) })?.element
        else { return nil }
        var root = Root.standard
        guard row.apply(.one(twice), &root) else { return nil }
        return "names \(row.kind.shown(twice)) twice: expected each once"
    }

    /// A hint for a value that should be one of a few words; empty when the value resembles none of them.
    private static func hint(_ text: SettingText, _ shape: SettingDescription.Shape) -> String {
        let words: [String]
        switch shape {
        case .choice(let choices), .list(words: .some(let choices), isOnce: _): words = choices
        default: return ""
        }
        let given = if case .list(let texts) = text { texts } else { [text.one ?? ""] }
        for word in given where !words.contains(word) {
            // Apple's documents call the development host "sandbox".
            if word.lowercased() == "sandbox", words.contains("development") {
                return "; Apple's sandbox is development"
            }
            if let near = NearSpelling.of(word, among: words) { return "; did you mean \(near)?" }
        }
        return ""
    }

    /// Reports a secret in the settings file. More people read that file than may know the secret.
    private mutating func refuseInFile(_ setting: SettingDescription, app: String?) {
        for key in Set([Self.key(app: app, name: setting.name), Self.key(app: nil, name: setting.name)]) {
            guard let entry = self.given.removeValue(forKey: key) else { continue }
            self.fault(
                entry,
                "is a secret in a file: expected \(setting.expected), in the environment variable "
                    + Self.variableName(of: setting.name))
        }
    }

    // MARK: Telemetry

    /// Reads OpenTelemetry's variables. The instance id becomes the admin port's address, by which Prometheus knows the
    /// worker.
    private mutating func readTelemetry() {
        let environment = OTelEnvironment(self.environment)
        self.configuration.tracing.environment = environment
        self.warnings += environment.warnings
        let (admin, host) = (self.configuration.admin, MachineName.current)
        guard admin.isEnabled, admin.port > 0, !host.isEmpty else { return }
        self.configuration.tracing.instanceID = "\(host):\(admin.port)"
    }

    // MARK: Proxies

    private mutating func readProxies() {
        let environment = ProxyEnvironment(self.environment)
        self.configuration.proxy.environment = environment
        guard self.configuration.proxy.way == ProxySettings.byEnvironment, environment.name == nil else { return }
        self.warnings.append(
            "apns.proxy is environment, and neither https_proxy nor HTTPS_PROXY is set: connections to APNs are direct")
    }

    // MARK: librdkafka's properties

    private mutating func readKafkaProperties() {
        self.configuration.kafka.common = self.properties(of: "kafka.properties")
        self.configuration.kafka.consumer = self.properties(of: "kafka.consumer")
        self.configuration.kafka.producer = self.properties(of: "kafka.producer")
    }

    private mutating func properties(of group: String) -> KafkaSettings {
        var settings = KafkaSettings()
        for (key, entry) in self.given.sorted(by: { $0.value.line < $1.value.line }) {
            let start = Self.key(app: nil, name: group + ".")
            guard key.hasPrefix(start) else { continue }
            switch entry.text {
            case .one(let text): settings.append(String(key.dropFirst(start.count)), text)
            case .list: self.fault(entry, "is a list: expected one text, with commas between several names")
            }
        }
        let start = Self.variableName(of: group) + "_"
        for (name, value) in self.environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix(start) {
            settings.append(Self.property(of: name, in: group), value)
        }
        return settings
    }

    // MARK: Variables that mean nothing

    static func variableName(of setting: String) -> String {
        Self.environmentPrefix + "_"
            + setting.uppercased().map { $0.isLetter || $0.isNumber ? String($0) : "_" }.joined()
    }

    /// Reports misspelt variables, which would otherwise be ignored in silence. A variable that resembles no setting
    /// only causes a warning. Kubernetes, for example, sets `MAILBOAT_SERVICE_HOST` for a service named `mailboat`.
    private mutating func checkVariables() {
        var known =
            ["apps"]
            + (WorkerConfiguration.settings.map(\.description) + AppSettings.settings.map(\.description)).map(\.name)
        for bundleID in self.bundleIDs {
            known += AppSettings.settings.map { "apps.\(bundleID).\($0.description.name)" }
        }
        let names = known.map(Self.variableName(of:))
        let groups = WorkerConfiguration.openGroups.map { Self.variableName(of: $0.name) + "_" }
        for name in self.environment.keys.sorted() where name.hasPrefix(Self.environmentPrefix + "_") {
            guard !names.contains(name), !groups.contains(where: { name.hasPrefix($0) }),
                !name.hasPrefix("MAILBOAT_TEST_")
            else { continue }
            if let near = NearSpelling.of(name, among: names) {
                self.faults.append(
                    ConfigurationFault(
                        setting: ShownText.unknownName(name), location: "environment",
                        text: "is not a setting; did you mean \(near)?"))
            } else {
                self.warnings.append(
                    "the environment variable \(ShownText.unknownName(name)) is not a setting and is ignored")
            }
        }
    }
}
