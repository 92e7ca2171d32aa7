import KafkaLog

extension WorkerConfiguration {
    /// Settings that differ between the workers of a deployment.
    private static let ownSettings: Set<String> = ["kafka.group-instance-id", "admin.host", "admin.port"]

    /// A hash of the configuration, in 16 hexadecimal digits. It is equal for workers with the same configuration. It
    /// leaves out settings that differ between workers (`kafka.group-instance-id`, `admin.host`, `admin.port`),
    /// secrets, and the content of files.
    public var hash: String {
        // FNV-1a suffices: the hash distinguishes what people write and need not resist attacks.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for line in self.hashedLines {
            for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            hash = (hash ^ 0x0a) &* 0x100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The text written instead of a secret.
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
