import KafkaLog
import Testing

@testable import PushWorker

/// Tests that hold for every row of the tables of settings.
struct SettingsTests {
    /// Values that the setting must refuse.
    private static func badValues(_ setting: SettingDescription) -> [String] {
        switch setting.shape {
        case .duration: ["5", "soon", "-1s", "\"\"", "1000d", "1m30s"]
        case .number: ["many", "-1", "1.5", "\"\"", "99999999999999999999"]
        case .fraction: ["some", "1.01", "-0.5", "\"\""]
        case .flag: ["maybe", "1", "\"\""]
        case .choice: ["other", "\"\"", "[]"]
        case .text, .list:
            setting.name.hasSuffix("file")
                ? ["\"\""]
                : ["\"\"", "\"a b\\u0001,:\""].filter { _ in
                    setting.name != "kafka.group" && !setting.name.contains("instance")
                }
        }
    }

    @Test(arguments: SettingsTable.all)
    func aBadValueIsNamedWithPlaceValueAndExpectation(setting: SettingDescription) throws {
        for value in Self.badValues(setting) {
            // The base already has the required settings, so the line under test replaces them.
            let lines = Loading.lines.filter {
                !$0.hasPrefix(setting.name) && !setting.name.hasPrefix("apns.") || !$0.hasPrefix("apns")
            }
            let text = (lines.filter { !$0.hasPrefix(setting.name + ":") } + ["\(setting.name): \(value)"]).joined(
                separator: "\n")
            let fault = try #require(
                Loading.faults(text).first { $0.setting == setting.name }, "\(setting.name): \(value)")
            #expect(fault.location?.hasPrefix("worker.yaml:") == true)
            #expect(fault.text.contains("expected \(setting.expected)"))
            // The fault also shows the value if the setting takes only a number or one of a few words.
            let isClosed = setting.shape.isClosed && !value.hasPrefix("[")
            #expect(!isClosed || fault.text.contains("is \"\(value == "\"\"" ? "" : value)\""), "\(fault)")
        }
    }

    @Test(arguments: SettingsTable.all)
    func aDefaultReadsBackFromFileAndEnvironment(setting: SettingDescription) throws {
        guard let standard = setting.defaultText, !standard.isEmpty else { return }
        _ = try Loading.load("\(setting.name): \(setting.shape.isList ? "[\(standard)]" : "\"\(standard)\"")")
        _ = try Loading.load(environment: [ConfigurationLoader.variableName(of: setting.name): standard])
    }

    /// The default in the table is the value in a fresh configuration, and the setting accepts it.
    @Test func aDefaultIsWhatIsThereAnyway() {
        Self.checkDefaults(WorkerConfiguration.settings)
        Self.checkDefaults(AppSettings.settings)
    }

    private static func checkDefaults<Root>(_ rows: [SettingRow<Root>]) {
        for row in rows {
            guard let standard = row.description.defaultText else { continue }
            let isList = row.description.shape.isList
            var root = Root.standard
            let text: SettingText = isList ? .list(standard.split(separator: ",").map(String.init)) : .one(standard)
            let isTaken = row.apply(text, &root)
            #expect(
                isTaken && rows.allSatisfy { $0.text(root) == $0.text(Root.standard) },
                "\(row.description.name): \(standard)")
        }
    }

    @Test(arguments: SettingsTable.all.filter { $0.scope == .app && !$0.isRequired })
    func whatHoldsForAllAppsCanBeSaidForOne(setting: SettingDescription) throws {
        guard let standard = setting.defaultText else { return }
        let value = setting.shape.isList ? "[\(standard)]" : "\"\(standard)\""
        let text =
            Loading.lines.dropLast().joined(separator: "\n")
            + "\napps:\n  com.example.pizza:\n    \(setting.name): \(value)"
        #expect(Loading.faults(text).isEmpty)
    }

    @Test(arguments: SettingsTable.all.filter { $0.scope == .worker })
    func whatHoldsForTheWorkerCannotBeSaidForAnApp(setting: SettingDescription) {
        let text =
            Loading.lines.dropLast().joined(separator: "\n") + "\napps:\n  com.example.pizza:\n    \(setting.name): x"
        #expect(Loading.faults(text).contains { $0.text.contains("cannot be set for one app") })
    }

    @Test func namesAreUniqueAndDocumented() {
        let all = SettingsTable.all
        #expect(Set(all.map(\.name)).count == all.count)
        #expect(Set(all.map { ConfigurationLoader.variableName(of: $0.name) }).count == all.count)
        for setting in all {
            #expect(setting.documentation.hasSuffix("."), "\(setting.name)")
            #expect(
                !setting.expected.isEmpty && setting.name.allSatisfy { $0.isLowercase || $0 == "." || $0 == "-" },
                "\(setting.name)")
        }
    }

    @Test func thePrintedTableHasThemAll() {
        let table = SettingsTable.markdown()
        for setting in SettingsTable.all { #expect(table.contains("| `\(setting.name)` |"), "\(setting.name)") }
        let columns = table.split(separator: "\n").map { line in line.replacing("\\|", with: "").count { $0 == "|" } }
        #expect(Set(columns) == [6])
    }

    /// A producer must give up records before the session ends. If it wrote them later, they would follow the next
    /// owner's records.
    @Test(
        arguments: [
            (["kafka.producer: {message.timeout.ms: 60000}"], "kafka.producer.message.timeout.ms"),
            (["kafka.producer: {message.timeout.ms: 0}"], "kafka.producer.message.timeout.ms"),
            (
                ["kafka.producer: {delivery.timeout.ms: 6000}", "kafka.consumer: {session.timeout.ms: 6000}"],
                "kafka.producer.delivery.timeout.ms"
            ),
            (["kafka.producer: {message.timeout.ms: 5999}", "kafka.consumer: {session.timeout.ms: 6000}"], nil),
            (["kafka.consumer: {session.timeout.ms: 6000}"], nil),
        ] as [([String], String?)])
    func recordsAreGivenUpBeforeTheSessionIsOver(lines: [String], setting: String?) {
        let faults = Loading.faults(adding: lines.joined(separator: "\n"))
        #expect(faults.map(\.setting) == (setting.map { [$0] } ?? []))
    }

    @Test func theMessageTimeoutFollowsTheSession() throws {
        let configuration = try Loading.load("kafka.consumer: {session.timeout.ms: 6000}")
        #expect(configuration.kafka.producerSettings["message.timeout.ms"] == "4000")
        #expect(try Loading.load("").kafka.producerSettings["message.timeout.ms"] == "10000")
        let long = try Loading.load("kafka.consumer: {session.timeout.ms: 60000}")
        #expect(long.kafka.producerSettings["message.timeout.ms"] == "30000")
    }
}
