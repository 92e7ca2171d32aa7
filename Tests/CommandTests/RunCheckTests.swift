import APNSProtocol
import Foundation
import KafkaLog
import PushWorker
import TLSSession
import Testing

/// Files that a configuration names, as `run --check` looks at them.
struct RunCheckTests {
    private static func with(_ body: (_ folder: String, WorkerConfiguration) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data(try ES256PrivateKey.generate().pem()).write(
            to: URL(fileURLWithPath: folder + "/AuthKey_ABCDE12345.p8"))
        for name in ["/text", "/AuthKey_TEXT567890.p8"] {
            try Data("no PEM".utf8).write(to: URL(fileURLWithPath: folder + name))
        }
        var configuration = WorkerConfiguration()
        configuration.kafka.bootstrap = "127.0.0.1:1"
        var app = AppSettings(bundleID: "com.example.pizza")
        app.teamID = "TEAM567890"
        app.keyFile = folder + "/AuthKey_ABCDE12345.p8"
        configuration.apps = [app]
        try body(folder, configuration)
    }

    private static func faults(_ configuration: WorkerConfiguration) -> [String] {
        configuration.fileFaults().map(\.description)
    }

    @Test func filesThatAreThereAreFine() throws {
        try Self.with { _, configuration in #expect(Self.faults(configuration).isEmpty) }
    }

    @Test func everyMissingFileIsNamed() throws {
        try Self.with { folder, configuration in
            var configuration = configuration
            configuration.apps[0].keyFile = folder + "/AuthKey_NONE567890.p8"
            configuration.apps[0].environments = [.production, .development]
            configuration.apps[0].production.caFile = folder + "/none.pem"
            configuration.apps[0].development.caFile = folder
            configuration.kafka.common.append("security.protocol", "ssl")
            configuration.kafka.common.append("ssl.ca.location", folder + "/ca")
            configuration.kafka.common.append("ssl.key.location", folder + "/key")
            let missing = "cannot be read: No such file or directory"
            let faults = Self.faults(configuration)
            #expect(faults.first?.hasPrefix("apps.com.example.pizza.apns.key-file: ") == true)
            #expect(faults.first?.contains("\(folder)/AuthKey_NONE567890.p8: cannot be opened: No such file") == true)
            #expect(
                faults.dropFirst() == [
                    "apps.com.example.pizza.apns.production.ca-file: \(folder)/none.pem \(missing)",
                    "apps.com.example.pizza.apns.development.ca-file: \(folder) cannot be read: Is a directory",
                    "kafka.properties.ssl.ca.location: \(folder)/ca \(missing)",
                    "kafka.properties.ssl.key.location: the file \(missing)",
                ])
        }
    }

    @Test func filesThatHoldSomethingElseAreNamed() throws {
        try Self.with { folder, configuration in
            var configuration = configuration
            configuration.apps[0].keyFile = folder + "/AuthKey_TEXT567890.p8"
            configuration.apps[0].production.caFile = folder + "/text"
            configuration.kafka.common.append("security.protocol", "ssl")
            configuration.kafka.common.append("ssl.ca.location", folder + "/text")
            let faults = Self.faults(configuration)
            #expect(faults.count == 3)
            #expect(faults.first?.contains("apns.key-file: ") == true)
            #expect(faults.dropFirst().first?.contains("text: expected certificates in PEM, found no PEM") == true)
            #expect(faults.last?.contains("ssl.ca.location failed") == true)
        }
    }

    /// The settings are good, and yet the pages that tell what a worker knows answer nobody.
    @Test func anOpenAddressWithoutATokenIsNamed() {
        var configuration = WorkerConfiguration()
        #expect(configuration.closedPages == nil)
        configuration.admin.host = "0.0.0.0"
        #expect(configuration.closedPages?.contains("admin.host is 0.0.0.0") == true)
        #expect(configuration.closedPages?.contains("/status") == true)
    }
}
