import APNSProtocol
import APNSSimulator
import ChildProcesses
import Testing

/// Tests of `mailboat channels` as a user runs it, against the simulated APNs.
@Suite(.timeLimit(.minutes(5)))
struct ChannelsProcessTests {
    @Test func aChannelsLife() async throws {
        try await ChannelsHouse.with { house in
            let made = try await house.run("create", "--storage", "most-recent")
            #expect(made.status == 0, "\(made)")
            let channel = try #require(made.lines.first)
            #expect(made.lines.count == 1)
            #expect(house.simulator.channels().map(\.id) == [channel])
            #expect(made.errors.contains("com.example.pizza (production) with storage most-recent"))

            let shown = try await house.run("show", channel)
            #expect(shown.status == 0)
            #expect(shown.lines == ["\(channel)  com.example.pizza (production)  storage most-recent"])

            let json = try await house.run("create", "--storage", "none", "--format", "json")
            #expect(json.lines.count == 1 && json.output.contains("\"storage\":\"none\""), "\(json)")

            let list = try await house.run("list", "--app", "com.example.pizza", "--environment", "production")
            #expect(list.lines.count == 2 && list.lines.contains(channel))
            #expect(list.errors.contains("2 channels of com.example.pizza (production); there may be 10000"))
            let details = try await house.run("list", "--details")
            #expect(details.lines.contains("\(channel)  storage most-recent"), "\(details)")

            // If a channel does not exist, the command names it, continues with the other channels, and exits with
            // status 1.
            let other = try #require(list.lines.first { $0 != channel })
            let deleted = try await house.run("delete", channel, "bm90aGluZw==", other)
            #expect(deleted.status == 1)
            #expect(
                deleted.lines == [
                    "deleted  \(channel)  com.example.pizza (production)",
                    "deleted  \(other)  com.example.pizza (production)",
                ])
            #expect(deleted.errors.contains("channel bm90aGluZw== of com.example.pizza (production) was not deleted"))
            #expect(deleted.errors.contains("2 deleted of com.example.pizza (production), 1 not deleted"))
            #expect(house.simulator.channels().isEmpty)
        }
    }

    @Test func anAppWithoutBroadcastsIsToldWhichBox() async throws {
        try await ChannelsHouse.with({ $0.appsWithoutBroadcasts = ["com.example.pizza"] }) { house in
            let made = try await house.run("create", "--storage", "none", "--format", "json")
            #expect(made.status == 1)
            #expect(made.output.contains("\"kind\":\"feature-not-enabled\""), "\(made)")
            #expect(made.errors.contains("Broadcast Capability"))
            #expect(made.errors.contains("the App ID com.example.pizza"))
        }
    }

    @Test func aCreationWithoutAnAnswerSaysHowToLook() async throws {
        try await ChannelsHouse.with { house in
            house.simulator.add(Fault(.cut(applied: true), count: 1, kind: .createChannel))
            let made = try await house.run("create", "--storage", "none")
            #expect(made.status == 1)
            #expect(made.output.isEmpty)
            #expect(made.errors.contains("a channel may exist"), "\(made)")
            #expect(made.errors.contains("mailboat channels list"))
            #expect(house.simulator.channels().count == 1)
        }
    }

    /// The command waits for an unreachable service until `--timeout`, and names the service while it waits.
    @Test func aServiceThatIsNotThereIsNamed() async throws {
        try await ChannelsHouse.with { house in
            await house.simulator.stop()
            let ended = try await house.run("list", "--timeout", "2")
            #expect(ended.status == 1, "\(ended)")
            #expect(ended.errors.contains("(production), waiting 2 s at most for a connection\n"), "\(ended)")
            #expect(ended.errors.contains("took no request (Connection refused)"), "\(ended)")
        }
    }

    @Test(
        arguments: [
            (["show", "--environment", "development", "YQ=="], "--environment is \"development\""),
            (["list", "--app", "com.example.tea"], "--app is com.example.tea: expected one of com.example.pizza"),
            (["create"], "--storage"),
        ])
    func aWrongCommandLineEndsWith64(words: [String], says: String) async throws {
        try await ChannelsHouse.with { house in
            let ended =
                switch words.count {
                case 1: try await house.run(words[0])
                case 3: try await house.run(words[0], words[1], words[2])
                default: try await house.run(words[0], words[1], words[2], words[3])
                }
            #expect(ended.status == 64, "\(ended)")
            #expect(ended.errors.contains(says), "\(ended)")
        }
    }
}
