import Foundation
import Testing

@testable import PushWorker

/// Tests of the settings as a JSON Schema. `.ci/check-schemas.py` checks what the schema says about the cases.
struct SettingsSchemaTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private struct Table: Decodable {
        /// Settings that a worker needs to start.
        var base: String
        var cases: [Case]
    }
    private struct Case: Decodable {
        var name: String
        var text: String
        /// Whether the case is loaded without the base.
        var alone: Bool?
        /// The setting that the first fault names. `nil` means that the settings are good.
        var refused: String?
    }

    @Test func itLiesInTheDirectoryOfSchemas() throws {
        let file = try String(
            contentsOf: Self.root.appendingPathComponent("deploy/schemas/settings.schema.json"), encoding: .utf8)
        #expect(file == SettingsSchema.text, "renew it by 'mailboat run --print-settings-schema'")
    }

    @Test func everyCaseIsJudgedAsTheTableSays() throws {
        let data = try Data(contentsOf: Self.root.appendingPathComponent("Tests/SchemaCases/settings.json"))
        let table = try JSONDecoder().decode(Table.self, from: data)
        #expect(table.cases.count > 40, "the test finds what it looks for")
        for example in table.cases {
            let text = example.alone == true ? example.text : "\(table.base)\n\(example.text)"
            let faults = Loading.faults(text)
            #expect(faults.first?.setting == example.refused, "\(example.name): \(faults)")
        }
    }

    /// The schema offers a setting in its group at the top level. It also offers the setting below an app if an app may
    /// set it. It never offers a secret.
    @Test(arguments: SettingsTable.all) func everySettingIsOfferedInItsGroup(setting: SettingDescription) throws {
        let document = try Self.document()
        let isOffered = try Self.isOffered(setting.name, from: document, in: document)
        #expect(isOffered == (setting.name != "apns.key"))
        let app = try #require((document["definitions"] as? [String: Any])?["app"] as? [String: Any])
        let isOfferedToAnApp = try Self.isOffered(setting.name, from: app, in: document)
        #expect(isOfferedToAnApp == (setting.scope == .app && setting.name != "apns.key"))
    }

    @Test func aDefaultIsShownAsWhatItIs() throws {
        let definitions = try #require(try Self.document()["definitions"] as? [String: [String: Any]])
        #expect(definitions["admin.port"]?["default"] as? Int == 9464)
        #expect(definitions["reload.watch"]?["default"] as? Bool == false)
        #expect(definitions["drain-timeout"]?["default"] as? String == "15s")
        #expect(definitions["topics.events"]?["default"] as? [String] == ["liveactivity.events"])
        #expect(definitions["kafka.bootstrap"]?["default"] == nil)
        // The texts of the schema have no links, because an editor does not follow them.
        #expect(!SettingsSchema.text.contains("]("))
    }

    private static func document() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(SettingsSchema.text.utf8)) as? [String: Any])
    }

    /// Whether a setting is offered, searched from group to group below `place`.
    private static func isOffered(
        _ name: String, from place: [String: Any], in document: [String: Any]
    ) throws -> Bool {
        let definitions = try #require(document["definitions"] as? [String: [String: Any]])
        var place = place
        for word in name.split(separator: ".") {
            guard let properties = place["properties"] as? [String: [String: Any]],
                let reference = properties[String(word)]?["$ref"] as? String,
                let next = definitions[reference.replacing("#/definitions/", with: "")]
            else { return false }
            place = next
        }
        return place["description"] != nil
    }
}
