import ArgumentParser
import Foundation
import PushModel
import Testing

@testable import mailboat

/// Tests that `mailboat check` refuses the environments that a worker refuses.
struct CheckEnvironmentTests {
    private static let registration = #"{"event":"register","token":"80e0","environment":"development"}"#
    private static let refusal = EventRejection(
        field: "environment",
        reason: "\"development\" is not configured for this app: expected \"production\", as the setting "
            + "apns.environments says")

    private static func answer(
        _ value: String, key: String = "order-7", _ environments: [String: [PushEnvironment]]?
    ) throws -> EventCheck.Answer {
        var check = EventCheck(app: "", nowSeconds: 1_700_000_000)
        check.environments = environments
        return check.check(RecordText(key: Array(key.utf8), value: Array(value.utf8)))
    }

    /// An event that brings a token, or names the environment of its channel, needs a route there.
    @Test(arguments: [
        (registration, "order-7"),
        (
            #"{"event":"update","content-state":{},"to":{"token":"80e0","environment":"development"}}"#, "order-7"
        ),
        (
            #"{"event":"start","content-state":{},"to":{"start-token":"80e0","environment":"development"},"attributes-type":"A","attributes":{},"alert":{"title":"t","body":"b"}}"#,
            "order-7"
        ),
        (#"{"event":"register","audience":"match","environment":"development"}"#, String(repeating: "80e0", count: 16)),
    ])
    func anEnvironmentThatTheAppDoesNotHaveIsRefused(value: String, key: String) throws {
        #expect(try Self.answer(value, key: key, ["a.b": [.production]]) == .refused(Self.refusal))
        let taking: [[String: [PushEnvironment]]?] = [nil, ["a.b": [.production, .development]]]
        for environments in taking {
            guard case .taken = try Self.answer(value, key: key, environments) else {
                Issue.record("\(value) is refused with \(String(describing: environments))")
                continue
            }
        }
    }

    /// If there are several apps, the one that the event names counts.
    @Test func theEnvironmentsOfTheNamedAppCount() throws {
        let named = #"{"event":"register","token":"80e0","environment":"development","app":"c.d"}"#
        #expect(try Self.answer(named, ["a.b": [.development], "c.d": [.production]]) == .refused(Self.refusal))
        guard case .taken = try Self.answer(named, ["a.b": [.production], "c.d": [.development]]) else {
            Issue.record("refused")
            return
        }
    }

    @Test func theEnvironmentsOfAConfigurationAreKnown() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-\(UUID().uuidString)").path
        let yaml = """
            kafka.bootstrap: localhost:9092
            apns: {team-id: SIMULATEAM, key-id: SIMULATOR1, key-file: key.p8}
            apps: {com.example.pizza: {}, com.example.game: {apns.environments: [production, development]}}
            """
        try yaml.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let check = try Check.parse(["--config", path]).judge()
        #expect(
            check.environments
                == ["com.example.pizza": [.production], "com.example.game": [.production, .development]])
        #expect(try Check.parse([]).judge().environments == nil)
    }
}
