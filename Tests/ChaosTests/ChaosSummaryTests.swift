import Foundation
import Testing

@testable import ChaosTesting

struct ChaosSummaryTests {
    private static let summary = ChaosSummary(
        minutes: 10, faults: ["workerKilled": 3], events: 1_000, pushesAccepted: 800, duplicatePushes: 2,
        duplicateAlerts: 1, duplicateStarts: 0, eventsLost: 0, devicesChecked: 50, devicesEquivalent: 50,
        budgetViolations: 0, channels: 8, broadcasts: 300, listenersChecked: 48, listenersEquivalent: 48, audiences: 2,
        memberPushes: 900,
        duplicateMemberPushes: 3, memberPushesTooSoon: 0, membersChecked: 70, membersEquivalent: 70,
        startOrders: 10, startCards: 95, startSecondCards: 0, startersChecked: 100, startersStarted: 90,
        startersAccounted: 100)

    /// Other programs read this file, so its keys must not change.
    @Test func theFileHasExactlyTheseKeys() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("chaos-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.summary.write(to: path)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(
            Set(object.keys) == [
                "minutes", "faults", "events", "pushesAccepted", "duplicatePushes", "duplicateAlerts",
                "duplicateStarts", "eventsLost", "devicesChecked", "devicesEquivalent", "budgetViolations",
                "channels", "broadcasts", "listenersChecked", "listenersEquivalent", "audiences", "memberPushes",
                "duplicateMemberPushes", "memberPushesTooSoon", "membersChecked", "membersEquivalent", "startOrders",
                "startCards", "startSecondCards", "startersChecked", "startersStarted", "startersAccounted",
            ])
        #expect(String(decoding: data, as: UTF8.self).contains("\"minutes\" : 10,"))
        #expect(object["faults"] as? [String: Int] == ["workerKilled": 3])
    }

    @Test func brokenPromisesAreNamed() {
        #expect(Self.summary.faultsFound == [])
        var summary = Self.summary
        summary.eventsLost = 1
        summary.devicesEquivalent = 49
        summary.budgetViolations = 2
        summary.listenersEquivalent = 46
        summary.membersEquivalent = 69
        summary.memberPushesTooSoon = 4
        summary.startSecondCards = 1
        summary.startersAccounted = 97
        #expect(
            summary.faultsFound == [
                "1 events have no outcome", "1 of 50 devices show something else",
                "2 devices got more than their budget", "2 of 48 phones that listen show something else",
                "1 of 70 members of audiences show something else", "4 pushes came to members too soon after another",
                "1 phones have a second card of one start",
                "3 of 100 start members have no card, and nothing says why",
            ])
    }

    /// A summary without channels has no fault. A summary with channels but without broadcasts names what is missing.
    @Test(arguments: [(0, []), (1, ["no broadcast was taken", "no phone listened to a channel"])])
    func channelsWithoutBroadcastsAreNamed(channels: Int, expected: [String]) {
        var summary = Self.summary
        (summary.channels, summary.broadcasts) = (channels, 0)
        (summary.listenersChecked, summary.listenersEquivalent) = (0, 0)
        #expect(summary.faultsFound == expected)
    }

    @Test(arguments: [
        (0, []), (1, ["no member of an audience was pushed to", "no member of an audience was checked"]),
    ])
    func audiencesWithoutPushesAreNamed(audiences: Int, expected: [String]) {
        var summary = Self.summary
        (summary.audiences, summary.memberPushes) = (audiences, 0)
        (summary.membersChecked, summary.membersEquivalent) = (0, 0)
        #expect(summary.faultsFound == expected)
    }

    /// A summary without starts has no fault. Starts without cards are named.
    @Test(arguments: [(0, []), (1, ["no start member was started"])])
    func startsWithoutCardsAreNamed(orders: Int, expected: [String]) {
        var summary = Self.summary
        (summary.startOrders, summary.startCards, summary.startersStarted) = (orders, 0, 0)
        #expect(summary.faultsFound == expected)
    }
}
