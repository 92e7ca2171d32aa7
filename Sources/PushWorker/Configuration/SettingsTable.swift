/// The settings as a person reads them.
public enum SettingsTable {
    /// All of them, in the order of the tables.
    public static var all: [SettingDescription] {
        WorkerConfiguration.settings.map(\.description) + AppSettings.settings.map(\.description)
    }

    /// A Markdown table: name, type, unit, default, what is accepted, meaning.
    public static func markdown() -> String {
        var lines = ["| setting | default | accepted | meaning |", "|---|---|---|---|"]
        for setting in Self.all {
            let standard =
                setting.isRequired
                ? "(required)" : setting.defaultText.map { $0.isEmpty ? "(none)" : "`\($0)`" } ?? "(none)"
            let unit = setting.unit.isEmpty ? "" : " (\(setting.unit))"
            let scope = setting.scope == .app ? " Also per app." : ""
            lines.append(
                "| `\(setting.name)` | \(standard) | \(setting.expected.replacing("|", with: "\\|"))\(unit) | \(setting.documentation)\(scope) |"
            )
        }
        for group in WorkerConfiguration.openGroups {
            lines.append("| `\(group.name).*` | (none) | what librdkafka accepts | \(group.documentation) |")
        }
        lines.append(
            "| `apps` | (required) | bundle ids, as a list or with settings below each | The apps this worker pushes for. |"
        )
        return lines.joined(separator: "\n") + "\n"
    }
}
