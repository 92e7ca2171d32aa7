import KafkaLog
import Logging
import PushEngine
import PushModel
import Testing

@testable import PushWorker

struct ConfigurationChangeTests {
    private static func app(_ bundleID: String) -> AppSettings {
        var app = AppSettings(bundleID: bundleID)
        app.teamID = "TEAM123456"
        app.keyID = "KEY1234567"
        app.keyFile = "/keys/one.p8"
        return app
    }

    private static func configuration(_ apps: String...) -> WorkerConfiguration {
        var configuration = WorkerConfiguration()
        configuration.kafka.bootstrap = "localhost:9092"
        configuration.apps = apps.map { Self.app($0) }
        return configuration
    }

    @Test func nothingIsDifferentInTheSame() {
        let old = Self.configuration("a.b")
        let change = ConfigurationChange(from: old, to: old)
        #expect(change.taken.isEmpty && change.held.isEmpty)
        #expect(change.effective.hash == old.hash)
    }

    /// A change of any setting is reported, and takes effect when its row says.
    @Test(arguments: SettingsTable.all)
    func aRowDecidesWhatBecomesOfItsChange(setting: SettingDescription) throws {
        let old = Self.configuration("a.b")
        let (new, name) = try Self.changed(setting, in: old)
        let change = ConfigurationChange(from: old, to: new)
        let found = change.taken + change.held
        #expect(found.map(\.setting) == [name])
        #expect(found.first?.effect == setting.effect)
        #expect(change.held.isEmpty == (setting.effect != .restart))
        let own = ["kafka.group-instance-id", "admin.host", "admin.port"].contains(setting.name)
        #expect((new.hash == old.hash) == own)
        #expect(change.effective.hash == (setting.effect == .restart ? old.hash : new.hash))
    }

    /// The rows say which settings need a restart. A running engine must accept a change of every other setting.
    @Test(arguments: SettingsTable.all)
    func anEngineTakesWhateverNeedsNoRestart(setting: SettingDescription) throws {
        let old = Self.configuration("a.b")
        let (new, _) = try Self.changed(setting, in: old)
        let plan = WorkerPlan(old)
        let before = plan.engineConfiguration(partitionCount: 8)
        let after = WorkerPlan(new, following: plan).engineConfiguration(partitionCount: 8)
        let faults = ShardEngine(configuration: before, randomSeed: 1).reconfigurationFaults(after)
        #expect(faults.isEmpty || setting.effect == .restart)
    }

    /// Changes one setting.
    /// - Returns: the changed configuration, and the setting's full name.
    private static func changed(
        _ setting: SettingDescription, in old: WorkerConfiguration
    ) throws -> (configuration: WorkerConfiguration, name: String) {
        var new = old
        let name: String
        switch setting.scope {
        case .worker:
            let row = try #require(WorkerConfiguration.settings.first { $0.description.name == setting.name })
            new = try #require(Self.otherwise(row, old))
            name = setting.name
        case .app:
            let row = try #require(AppSettings.settings.first { $0.description.name == setting.name })
            new.apps[0] = try #require(Self.otherwise(row, old.apps[0]))
            name = "apps.a.b.\(setting.name)"
        }
        return (new, name)
    }

    /// A copy of `root` with another value, or `nil` when the row accepts none of the sample texts.
    private static func otherwise<Root>(_ row: SettingRow<Root>, _ root: Root) -> Root? {
        let texts = [
            "7s", "30s", "7ms", "90s", "3d", "3", "777", "0.5", "false", "true", "trust", "end", "failures", "defer",
            "most-recent", "auto", "drop", "resend", "debug", "OTHER12345", "other:9092", "development",
            "http://other:4318", "none", "-----BEGIN PRIVATE KEY----- other -----END PRIVATE KEY-----",
            "https://other/", "other=a",
            "http://other:4318", "none", "json", "-----BEGIN PRIVATE KEY----- other -----END PRIVATE KEY-----",
        ]
        for text in texts {
            var other = root
            let value: SettingText = row.description.shape.isList ? .list([text]) : .one(text)
            if row.apply(value, &other), row.text(other) != row.text(root) { return other }
        }
        return nil
    }

    @Test func appsKeepTheirPlaces() {
        let old = Self.configuration("a.b", "c.d", "e.f")
        var new = Self.configuration("x.y", "e.f", "a.b")
        new.apps[1].engine.budgetPerHour = 99
        let change = ConfigurationChange(from: old, to: new)
        #expect(change.effective.apps.map(\.bundleID) == ["a.b", "c.d", "e.f", "x.y"])
        #expect(change.effective.apps[2].engine.budgetPerHour == 99)
        #expect(change.taken.map(\.setting) == ["apps.e.f.budget.per-hour", "apps.x.y"])
        #expect(change.held.map(\.setting) == ["apps.c.d"])
    }

    @Test func secretsAreNotShown() {
        let old = Self.configuration("a.b")
        var new = old
        new.kafka.common.append("sasl.password", "hush")
        new.kafka.consumer.append("fetch.min.bytes", "7")
        new.tracing.otlpEndpoint = "https://collector/v1/traces?api-key=hush"
        let change = ConfigurationChange(from: old, to: new)
        #expect(
            change.held.map(\.setting) == [
                "tracing.otlp-endpoint", "kafka.properties.sasl.password", "kafka.consumer.fetch.min.bytes",
            ])
        #expect(change.held.map(\.after) == ["https://collector/v1/traces", "***", "7"])
        #expect(change.effective.hash == old.hash)
    }

    /// A SIGHUP makes the watch report a change although the content is the same. Another file may have been read at
    /// the SIGHUP, and the old file put back since.
    @Test func aFileIsReadAgainAfterAHangUp() {
        let old = Array("old".utf8)
        var watch = FileWatch(old)
        func look() -> FileWatch.Finding { watch.looked(at: .content(old)) }
        #expect(look() == .nothing)
        watch.countHangUps(1)
        #expect(look() == .changed && look() == .nothing)
        watch.countHangUps(1)
        #expect(look() == .nothing)
    }

    /// Something beside the file, such as a key, may be missing and arrive later. So a refused file is tried again from
    /// time to time, until it is taken or replaced.
    @Test func aFileThatWasRefusedIsTriedAgain() {
        let (old, new, mended) = (Array("old".utf8), Array("new".utf8), Array("mended".utf8))
        var watch = FileWatch(old)
        func looks(_ count: Int, at content: [UInt8]) -> [FileWatch.Finding] {
            (0..<count).map { _ in watch.looked(at: .content(content)) }
        }
        let quiet = Array(repeating: FileWatch.Finding.nothing, count: FileWatch.looksBetweenTries - 1)
        #expect(looks(2, at: new) == [.nothing, .changed])
        watch.refused([ConfigurationFault(setting: "apps", text: "is wrong")])
        #expect(looks(FileWatch.looksBetweenTries, at: new) == quiet + [.again])
        watch.refused(watch.refusedFaults)
        #expect(looks(FileWatch.looksBetweenTries, at: new) == quiet + [.again])
        watch.taken()
        #expect(looks(2 * FileWatch.looksBetweenTries, at: new).allSatisfy { $0 == .nothing })
        #expect(looks(2, at: mended) == [.nothing, .changed])
        watch.refused([ConfigurationFault(setting: "apps", text: "is wrong")])
        #expect(looks(2, at: new) == [.nothing, .changed])
        #expect(looks(2 * FileWatch.looksBetweenTries, at: new).allSatisfy { $0 == .nothing })
    }

    /// A changed file is read when two looks in a row find the same content. An earlier look may have found it half
    /// written.
    @Test func aFileIsReadWhenItHasStayedTheSameForTwoLooks() {
        let (old, half, new) = (Array("old".utf8), Array("ne".utf8), Array("new".utf8))
        var watch = FileWatch(old)
        let looks: [([UInt8]?, FileWatch.Finding)] = [
            (old, .nothing), (half, .nothing), (new, .nothing), (nil, .nothing), (new, .nothing), (new, .changed),
            (new, .nothing), (old, .nothing), (old, .changed),
        ]
        for (content, expected) in looks {
            let found = watch.looked(at: content.map { .content($0) } ?? .unreadable("none"))
            #expect(found == expected)
        }
    }

    /// A missing file is reported once, and so is its return. A file does not count as missing if only one look does
    /// not find it, because it may be replaced just then.
    @Test func aFileThatIsGoneIsMissedOnceAndWelcomedOnce() {
        let (old, new) = (FileLook.content(Array("old".utf8)), FileLook.content(Array("new".utf8)))
        let none = FileLook.unreadable("mailboat.yaml cannot be read: No such file or directory")
        let gone = FileWatch.Finding.gone("mailboat.yaml cannot be read: No such file or directory")
        var watch = FileWatch(Array("old".utf8))
        let looks: [(FileLook, FileWatch.Finding)] = [
            (none, .nothing), (old, .nothing), (old, .nothing), (new, .nothing), (new, .changed),
            (none, .nothing), (none, gone), (none, .nothing), (none, .nothing), (new, .nothing), (none, .nothing),
            (none, .nothing), (new, .nothing), (new, .back), (new, .nothing),
            (none, .nothing), (none, gone), (old, .nothing), (old, .backAndChanged), (old, .nothing),
        ]
        for (index, (look, expected)) in looks.enumerated() {
            let found = watch.looked(at: look)
            #expect(found == expected, "look \(index)")
        }
    }

    @Test func loggersFollowTheSwitch() {
        let lines = LogLines()
        let level = LogLevelSwitch(.warning)
        let logger = level.logger(label: "test") { _ in lines.handler }
        var quiet = logger
        quiet.logLevel = .error
        logger.info("one")
        level.level = .debug
        logger.debug("two")
        quiet.warning("three")
        level.level = .error
        logger.warning("four")
        quiet.error("five")
        #expect(lines.all.map { $0.trimmingPrefix(" ").split(separator: " ").first } == ["two", "five"])
    }
}
