import APNSProtocol
import ArgumentParser
import Foundation
import PushTransport
import Testing

@testable import mailboat

/// Tests of the command line of `mailboat channels`.
struct ChannelsCommandTests {
    @Test(
        arguments: [
            (["create", "--config", "c.yaml", "--storage", "most-recent"], true),
            (
                ["create", "--config", "c.yaml", "--storage", "none", "--app", "a.b", "--environment", "development"],
                true
            ),
            (["create", "--config", "c.yaml"], false), (["create", "--storage", "none"], false),
            (["create", "--config", "c.yaml", "--storage", "all"], false),
            (["create", "--config", "c.yaml", "--storage", "none", "--environment", "sandbox"], false),
            (["show", "--config", "c.yaml", "YQ=="], true), (["show", "--config", "c.yaml"], false),
            (["list", "--config", "c.yaml", "--details", "--format", "json"], true),
            (["list", "--config", "c.yaml", "--format", "table"], false),
            (["list", "--config", "c.yaml", "--timeout", "3"], true),
            (["list", "--config", "c.yaml", "--timeout", "0"], false),
            (["reconcile", "--config", "c.yaml", "--execute", "--format", "json"], true),
            (["reconcile", "--bootstrap", "localhost:1"], false), (["reconcile", "--config", "c.yaml", "YQ=="], false),
            (["delete", "--config", "c.yaml", "YQ==", "b/+="], true), (["delete", "--config", "c.yaml"], false),
        ])
    func wordsAreTakenOrRefused(words: [String], isTaken: Bool) {
        if isTaken {
            #expect(throws: Never.self) { _ = try ChannelsCommand.parseAsRoot(words) }
        } else {
            #expect(throws: (any Error).self) { _ = try ChannelsCommand.parseAsRoot(words) }
        }
    }

    @Test(arguments: ["create", "show", "list", "delete", "reconcile"]) func helpSaysHowItEnds(word: String) throws {
        let type: any ParsableCommand.Type =
            switch word {
            case "create": ChannelsCommand.Create.self
            case "show": ChannelsCommand.Show.self
            case "list": ChannelsCommand.List.self
            case "reconcile": ChannelsCommand.Reconcile.self
            default: ChannelsCommand.Delete.self
            }
        let help = ChannelsCommand.helpMessage(for: type, columns: 200)
        for text in ["Exit status: 0", "EXAMPLES", "mailboat channels \(word) --config mailboat.yaml"] {
            #expect(help.contains(text), "\(help)")
        }
    }

    /// `--timeout` limits the waits of a request. Without it the usual limits of the channel client apply.
    @Test func requestsWaitAsLongAsTheyAreTold() throws {
        let given = try ChannelsCommand.List.parse(["--config", "c.yaml", "--timeout", "3"]).options.timeout
        let limits = ChannelsSelection.limits(waiting: given)
        #expect(limits.connectionWaitMillis == 3_000 && limits.totalMillis == 12_000)
        let standard = try ChannelsCommand.List.parse(["--config", "c.yaml"]).options.timeout
        #expect(ChannelsSelection.limits(waiting: standard) == ChannelClientLimits())
    }

    @Test(arguments: [("none", 0), ("most-recent", 1), ("0", nil), ("mostRecent", nil)] as [(String, UInt8?)])
    func theStorageIsNamedAsInTheSettings(word: String, number: UInt8?) throws {
        let words = ["--config", "mailboat.yaml", "--storage", word]
        #expect((try? ChannelsCommand.Create.parse(words))?.storage.rawValue == number)
        let help = ChannelsCommand.helpMessage(for: ChannelsCommand.Create.self, columns: 200)
        #expect(help.contains("(values: none, most-recent)"))
    }
}
