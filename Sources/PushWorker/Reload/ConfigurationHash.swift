import KafkaLog

extension WorkerConfiguration {
    /// Settings that each worker of a deployment has its own of.
    private static let ownSettings: Set<String> = ["kafka.group-instance-id", "admin.host", "admin.port"]

    /// Tells configurations apart, in 16 hexadecimal digits: workers that were given the same have the same. What each worker has its own of
    /// (`kafka.group-instance-id`, `admin.host`, `admin.port`) is left out, and so are secrets and what is in files.
    public var hash: String {
        // FNV-1a: it has to tell apart what people write, not to withstand anybody.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for line in self.hashedLines {
            for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0x0a) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// What is written for a secret.
    private static let hidden = "***"

    private static func hashed<Root>(_ row: SettingRow<Root>, _ root: Root) -> String {
        let text = row.text(root) ?? ""
        return "\(row.description.name)=\(row.kind == .secret && !text.isEmpty ? Self.hidden : text)"
    }

    private var hashedLines: [String] {
        var lines = Self.settings.filter { !Self.ownSettings.contains($0.description.name) }.map {
            Self.hashed($0, self)
        }
        let groups = [
            ("properties", self.kafka.common), ("consumer", self.kafka.consumer), ("producer", self.kafka.producer),
        ]
        for (name, settings) in groups {
            lines += settings.properties.map {
                "kafka.\(name).\($0.name)=\(KafkaSettings.isSecret($0.name) ? Self.hidden : $0.value)"
            }.sorted()
        }
        for app in self.apps.sorted(by: { $0.bundleID < $1.bundleID }) {
            lines += AppSettings.settings.map {
                "apps.\(app.bundleID).\(Self.hashed($0, app))"
            }
        }
        return lines
    }
}
