import KafkaLog
import PushEngine

/// The differences between a running worker's configuration and another one. Some can be taken at once, others need a
/// restart. Pure.
struct ConfigurationChange {
    /// The configuration after the change: the new one, except for settings that need a restart.
    private(set) var effective: WorkerConfiguration
    /// Differences that are taken.
    private(set) var taken: [SettingChange] = []
    /// Differences that wait for a restart.
    private(set) var held: [SettingChange] = []

    /// - Parameters:
    ///   - old: the present configuration.
    ///   - new: a configuration without faults.
    init(from old: WorkerConfiguration, to new: WorkerConfiguration) {
        var effective = new
        self.effective = new
        for row in WorkerConfiguration.settings { self.compare(row, old, new, prefix: "", into: &effective) }
        self.effective = effective
        self.compareKafkaProperties(old, new)
        self.compareApps(old, new)
    }

    /// Remembers the difference in one setting, if there is one. A setting that needs a restart keeps its old value.
    private mutating func compare<Root>(
        _ row: SettingRow<Root>, _ old: Root, _ new: Root, prefix: String, into effective: inout Root
    ) {
        let (before, after) = (row.text(old), row.text(new))
        guard before != after else { return }
        let effect = row.description.effect
        let change = SettingChange(
            setting: prefix + row.description.name, before: row.shownText(old), after: row.shownText(new),
            effect: effect)
        if effect == .restart {
            self.held.append(change)
            row.copy(old, &effective)
        } else {
            self.taken.append(change)
        }
    }

    private mutating func compareKafkaProperties(_ old: WorkerConfiguration, _ new: WorkerConfiguration) {
        let groups: [(name: String, path: WritableKeyPath<WorkerConfiguration, KafkaSettings>)] = [
            ("kafka.properties", \.kafka.common), ("kafka.consumer", \.kafka.consumer),
            ("kafka.producer", \.kafka.producer),
        ]
        for group in groups {
            let (before, after) = (old[keyPath: group.path], new[keyPath: group.path])
            var names: [String] = []
            for property in before.properties + after.properties where !names.contains(property.name) {
                names.append(property.name)
            }
            for name in names where before[name] != after[name] {
                self.held.append(
                    SettingChange(
                        setting: "\(group.name).\(KafkaSettings.Property(name, "").shownName)",
                        before: Self.shown(before, name),
                        after: Self.shown(after, name), effect: .restart))
            }
            self.effective[keyPath: group.path] = before
        }
    }

    private static func shown(_ settings: KafkaSettings, _ name: String) -> String? {
        settings.properties.last { $0.name == name }?.shownValue
    }

    /// Compares apps. Apps keep their indices, by which shards know them. New apps are appended.
    private mutating func compareApps(_ old: WorkerConfiguration, _ new: WorkerConfiguration) {
        var apps: [AppSettings] = []
        for before in old.apps {
            guard var app = new.apps.first(where: { $0.bundleID == before.bundleID }) else {
                self.held.append(
                    SettingChange(
                        setting: "apps.\(before.shownBundleID)", before: "configured", after: nil, effect: .restart))
                apps.append(before)
                continue
            }
            let after = app
            for row in AppSettings.settings {
                self.compare(row, before, after, prefix: "apps.\(before.shownBundleID).", into: &app)
            }
            apps.append(app)
        }
        for app in new.apps where !old.apps.contains(where: { $0.bundleID == app.bundleID }) {
            self.taken.append(
                SettingChange(setting: "apps.\(app.shownBundleID)", before: nil, after: "configured", effect: .live))
            apps.append(app)
        }
        self.effective.apps = apps
    }
}

/// A setting that differs.
public struct SettingChange: Sendable, Equatable {
    /// The setting's whole name, such as `apps.com.example.pizza.budget.per-hour`.
    public var setting: String
    /// The value before the change; `nil`: there was none. A secret's value is hidden.
    public var before: String?
    /// The value in the new configuration; `nil`: there is none. A secret's value is hidden.
    public var after: String?
    /// When a change of the setting takes effect in a running worker.
    public var effect: SettingDescription.Effect
}
