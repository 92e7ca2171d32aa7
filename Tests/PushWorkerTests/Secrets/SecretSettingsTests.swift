import Foundation
import KafkaLog
import SecretHunting
import Testing

@testable import PushWorker

/// Tests that put a secret in place of the value of every setting and property in the tables. No output may show the
/// secret.
struct SecretSettingsTests {
    /// All output about a configuration: its faults, the faults of its files, its reflection, and its difference from
    /// another.
    private static func said(_ text: String, environment: [String: String] = [:]) -> String {
        do throws(ConfigurationError) {
            let loaded = try Loading.loaded(text, environment: environment)
            var said = loaded.warnings.joined(separator: "\n")
            for fault in loaded.configuration.fileFaults() { said += "\n\(fault)" }
            dump(loaded.configuration, to: &said)
            said += "\n\(loaded.configuration) \(String(reflecting: loaded.configuration))"
            said += loaded.configuration.closedPages ?? ""
            let before = try Loading.load()
            for (old, new) in [(before, loaded.configuration), (loaded.configuration, before)] {
                let change = ConfigurationChange(from: old, to: new)
                for each in change.taken + change.held { said += "\n\(each)" }
            }
            return said
        } catch {
            return "\(error)"
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\""
    }

    private static func withoutRow(_ name: String) -> [String] {
        name.hasPrefix("apns.")
            ? [
                "kafka.bootstrap: localhost:9092", "apps: [com.example.pizza]",
            ]
                + [("team-id", "TEAM123456"), ("key-id", "KEY1234567"), ("key-file", "/keys/a.p8")].filter {
                    "apns." + $0.0 != name
                }.map { "apns.\($0.0): \($0.1)" }
            : Loading.lines.filter { !$0.hasPrefix(name + ":") }
    }

    @Test(arguments: SettingsTable.all.map(\.name) + ["apps"]) func noSettingTellsOfASecret(name: String) {
        for secret in PlantedSecret.all {
            let lines = Self.withoutRow(name)
            var texts = [Self.said((lines + ["\(name): \(Self.quoted(secret.text))"]).joined(separator: "\n"))]
            // The secret is put in a list, in a map, below an app, and in place of the setting's name.
            texts.append(Self.said((lines + ["\(name): [a, \(Self.quoted(secret.text))]"]).joined(separator: "\n")))
            texts.append(
                Self.said((lines + ["\(name): {\(Self.quoted(secret.text)): 1}"]).joined(separator: "\n")))
            texts.append(
                Self.said((lines + ["\(name): {a: {b: \(Self.quoted(secret.text))}}"]).joined(separator: "\n")))
            texts.append(
                Self.said(
                    lines.filter { !$0.hasPrefix("apps") }.joined(separator: "\n")
                        + "\napps: {com.example.pizza: {\(name): \(Self.quoted(secret.text))}}"))
            texts.append(Self.said((lines + ["\(Self.quoted(secret.text)): 1"]).joined(separator: "\n")))
            // Without quotes the secret usually makes the file invalid YAML.
            texts.append(
                Self.said((lines + ["\(name): \(secret.text)", "\(name)x: [\(secret.text)"]).joined(separator: "\n")))
            texts.append(
                Self.said(
                    lines.joined(separator: "\n"),
                    environment: [ConfigurationLoader.variableName(of: name): secret.text]))
            // The secret is the value of a variable with an unknown name.
            texts.append(
                Self.said(
                    Loading.lines.joined(separator: "\n"),
                    environment: [ConfigurationLoader.variableName(of: name) + "S": secret.text]))
            for text in texts { #expect(secret.found(in: text) == nil, "\(name), \(secret): \(text)") }
        }
    }

    @Test(arguments: ["properties", "consumer", "producer"]) func noPropertyTellsOfASecret(group: String) {
        let misspelt = ["sasl.pasword", "sasl.pass", "ssl.keystore.passphrase", "sasl.jaas.config", "x"]
        for name in KafkaSettings.knownNames + misspelt {
            // The three groups have the same properties, so one secret is enough for two of them.
            for secret in group == "properties" ? PlantedSecret.all : [PlantedSecret.all[2]] {
                let line = "kafka.\(group): {\(name): \(Self.quoted(secret.text))}"
                let text = Self.said((Loading.lines + [line]).joined(separator: "\n"))
                #expect(secret.found(in: text) == nil, "\(name), \(secret): \(text)")
            }
        }
        for secret in PlantedSecret.all {
            let line = "kafka.\(group): {\(Self.quoted(secret.text)): 1}"
            let text = Self.said((Loading.lines + [line]).joined(separator: "\n"))
            #expect(secret.found(in: text) == nil, "\(secret): \(text)")
        }
    }

    /// Each file contains a secret in place of its proper content. No output may show the secret.
    @Test func noFileTellsOfItsContent() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = SettingsTable.all.filter { $0.expected.hasPrefix("the path") }
        #expect(files.count >= 8)
        for setting in files {
            for secret in PlantedSecret.all {
                let path = folder + "/AuthKey_KEY1234567.p8"
                try Data(secret.text.utf8).write(to: URL(fileURLWithPath: path))
                var lines = Self.withoutRow(setting.name) + ["\(setting.name): \(path)"]
                if setting.name.hasPrefix("admin.tls.") {
                    lines += ["certificate-file", "key-file"].map { "admin.tls.\($0)" }.filter { $0 != setting.name }
                        .map { "\($0): \(path)" }
                }
                let text = Self.said(lines.joined(separator: "\n"))
                #expect(PlantedSecret.found(in: text).isEmpty, "\(setting.name), \(secret): \(text)")
            }
        }
    }

    /// No value that may reach a service or a logger shows a secret.
    @Test func typesThatHoldSecretsTellNothingOfThem() throws {
        let secret = PlantedSecret.all[2]
        let bytes = Array(secret.text.utf8)
        var tracing = WorkerConfiguration.Tracing()
        tracing.otlpEndpoint = "http://collector/" + secret.text
        tracing.headersFile = secret.text
        let values: [Any] = [
            FileLook.content(bytes), FileLook.unreadable(secret.text), FileWatch(bytes), try BearerToken(bytes),
            try OTLPHeaders(Array("authorization: Bearer \(secret.text)".utf8)), tracing, SettingText.one(secret.text),
            try ConfigurationFile(Array("a: \(secret.text)".utf8), name: "worker.yaml"),
            KafkaSettings([.init("sasl.password", secret.text)]), Self.oauth(secret.text),
            ReadToken(value: secret.text, expiresAtMillis: 1, principal: secret.text),
            TokenSource.file(path: secret.text), TokenSource.command([secret.text]),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), "\([value])", dumped] {
                #expect(secret.found(in: text) == nil, "\(type(of: value)): \(text)")
            }
        }
    }

    private static func oauth(_ text: String) -> WorkerConfiguration.Kafka.OAuth {
        var oauth = WorkerConfiguration.Kafka.OAuth()
        (oauth.tokenFile, oauth.tokenCommand, oauth.tokenEndpoint) = (text, [text], text)
        (oauth.clientID, oauth.clientSecretFile, oauth.scope, oauth.caFile) = (text, text, text, text)
        oauth.extensions = [text]
        return oauth
    }
}
