import APNSSimulator
import ChildProcesses
import Foundation
import TLSSession
import Testing

/// Runs `mailboat channels` as a user does, against the simulated APNs.
struct ChannelsHouse {
    var simulator: APNSSimulator
    var configurationPath: String

    /// Runs the command.
    func run(_ words: String...) async throws -> EndedProcess {
        let arguments = ["channels", words[0], "--config", self.configurationPath] + words.dropFirst()
        return try await EndedProcess.run(BuiltExecutable.besideThisOne("mailboat"), arguments)
    }

    /// Runs `body` with a simulated APNs.
    /// - Parameter bootstrap: address of a Kafka, if the command needs one.
    static func with(
        bootstrap: String = "nobody.invalid:9092", _ change: (inout SimulatorConfiguration) -> Void = { _ in },
        _ body: (ChannelsHouse) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let credentials = try CredentialDirectory(
            path: directory, keyID: "TESTKEY123", names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let key = RegisteredKey(
            keyID: "TESTKEY123", teamID: "TESTTEAM12", publicKey: try credentials.providerKey.publicKey())
        var settings = SimulatorConfiguration()
        settings.managementPort = 0
        change(&settings)
        let simulator = try await APNSSimulator.start(settings, credentials: credentials.credentials, keys: [key])
        let port = try #require(simulator.managementPort)
        let path = directory + "/mailboat.yaml"
        try """
        kafka.bootstrap: \(bootstrap)
        apns:
          team-id: TESTTEAM12
          key-id: TESTKEY123
          key-file: \(credentials.providerKeyPath)
          request-timeout: 2s
          production: {manage-host: 127.0.0.1, manage-port: \(port), ca-file: \(credentials.authorityPath)}
        apps: [com.example.pizza]
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(ChannelsHouse(simulator: simulator, configurationPath: path)))
        } catch { result = .failure(error) }
        await simulator.stop()
        try result.get()
    }
}
