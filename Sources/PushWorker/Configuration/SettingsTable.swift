/// The settings in a form for people.
public enum SettingsTable {
    /// All settings, in the order of the tables.
    public static var all: [SettingDescription] {
        WorkerConfiguration.settings.map(\.description) + AppSettings.settings.map(\.description)
    }

    /// A Markdown table with each setting's name, default, accepted values and unit, effect of a change, and meaning.
    public static func markdown() -> String {
        var lines = ["| setting | default | accepted | a change takes | meaning |", "|---|---|---|---|---|"]
        for setting in Self.all {
            let standard =
                setting.isRequired
                ? "(required)" : setting.defaultText.map { $0.isEmpty ? "(none)" : "`\($0)`" } ?? "(none)"
            let unit = setting.unit.isEmpty ? "" : " (\(setting.unit))"
            let scope = setting.scope == .app ? " Also per app." : ""
            lines.append(
                "| `\(setting.name)` | \(standard) | \(setting.expected.replacing("|", with: "\\|"))\(unit) | \(Self.effect(setting.effect)) | \(setting.documentation)\(scope) |"
            )
        }
        for group in WorkerConfiguration.openGroups {
            lines.append(
                "| `\(group.name).*` | (none) | what librdkafka accepts | a restart | \(group.documentation) |")
        }
        lines.append(
            "| `apps` | (required) | bundle ids, as a list or with settings below each | effect at once when one is added, a restart when one is taken out | The apps this worker pushes for. With one app, events need not name it. With more, each event must: those without `app` become dead letters, so let publishers name it before a second app is added. |"
        )
        return lines.joined(separator: "\n") + "\n"
    }

    /// Words for when a change takes effect, completing "a change takes …".
    static func effect(_ effect: SettingDescription.Effect) -> String {
        switch effect {
        case .live: "effect at once"
        case .newConnections: "effect on new connections"
        case .restart: "a restart"
        }
    }
}
