import APNSSimulator
import ChildProcesses
import Foundation
import Testing

/// A house whose APNs has a management port for channels, and readers of the outcomes of channels.
enum MixedHouse {
    /// Builds a house and runs `body` in it.
    /// - Parameter body: gets the house, and settings with which a worker keeps a channel for each audience.
    static func with(isExclusive: Bool = true, _ body: (TestHouse, String) async throws -> Void) async throws {
        var configuration = SimulatorConfiguration()
        configuration.managementPort = 0
        configuration.channelPushesPerMinuteMax = nil
        try await TestHouse.with(simulator: configuration) { house in
            let port = try #require(house.simulator.managementPort)
            try await body(
                house,
                """
                audience.channel: auto
                channels.exclusive: \(isExclusive)
                channel.minimum-distance: 1s
                apns.production.manage-host: 127.0.0.1
                apns.production.manage-port: \(port)
                """)
        }
    }

    /// Publishes the event that opens the audience's channel, and waits for the channel.
    /// - Returns: the channel's id, as the outcomes report it.
    static func open(_ match: TestAudience, in outcomes: TopicTail) async throws -> String {
        try match.open()
        try await match.publisher.flush()
        return try await Self.opened(match, in: outcomes)
    }

    /// Waits until the outcomes report a channel of the audience.
    /// - Returns: the channel's id.
    static func opened(_ match: TestAudience, in outcomes: TopicTail) async throws -> String {
        try await until("the channel of \(match.id) is opened") {
            try Self.channelOutcomes(of: match, in: outcomes).contains { $0.outcome == "channel-opened" }
        }
        return try #require(
            try Self.channelOutcomes(of: match, in: outcomes).last { $0.outcome == "channel-opened" }?.channel)
    }

    /// The outcomes of an audience's channels, in the order of their records.
    static func channelOutcomes(of match: TestAudience, in outcomes: TopicTail) throws -> [ChannelOutcome] {
        try outcomes.poll().filter { $0.keyText.hasPrefix("channel/") }
            .map { try JSONDecoder().decode(ChannelOutcome.self, from: Data($0.value ?? [])) }
            .filter { $0.audience == match.id }
    }

    /// The broadcasts in the newest `audience` record of an audience.
    static func broadcasts(of match: TestAudience, in outcomes: TopicTail) throws -> [AudienceOutcome.Broadcast] {
        let records = outcomes.poll().filter { $0.keyText.hasPrefix("audience/\(TestPublisher.app)/\(match.id)/") }
            .map(\.value)
        return try records.map { try JSONDecoder().decode(AudienceOutcome.self, from: Data($0 ?? [])) }
            .max { $0.version < $1.version }?.broadcasts ?? []
    }

    /// Runs a command to its end.
    /// - Returns: everything that it prints.
    static func run(_ arguments: [String], in house: TestHouse) async throws -> String {
        let name = arguments.prefix(2).joined(separator: "-")
        let log = "\(house.directory)/\(name).log"
        let command = try ChildProcess(
            name: name, executable: BuiltExecutable.besideThisOne("mailboat"), arguments: arguments, logPath: log)
        try await until("\(name) ends") { !command.isRunning }
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(command.status == 0, "\(said)")
        return said
    }
}

/// A record of the outcomes topic about one version of an audience.
struct AudienceOutcome: Decodable, Sendable {
    struct Broadcast: Decodable, Sendable {
        var channel: String
        var accepted: Bool
        var refused: Int
        var listeners: Int
    }
    var version: Int64
    var broadcasts: [Broadcast]?
}

/// A record of the outcomes topic about a kept channel.
struct ChannelOutcome: Decodable, Sendable {
    var outcome: String
    var audience: String
    var channel: String?
    var reason: String?
}
