import Foundation
import Testing

@testable import mailboat

struct DemoSummaryTests {
    private static let good = DemoSummary(
        eventsConsumed: 12_345, pushesAccepted: 9_000, eventsMerged: 3_345,
        outcomes: ["delivered": 9_000, "superseded": 3_345], pending: 0,
        devicesChecked: 10, devicesEquivalent: 10, budgetViolations: 0,
        members: .init(
            checked: 20, equivalent: 20, heardGoalTakenBack: 3, due: 60, results: ["accepted": 55, "superseded": 5],
            waiting: 0, starts: .init(cards: 20, due: 20, results: ["accepted": 20], waiting: 0)),
        channel: .init(listeners: 10, opened: 1, broadcasts: 6, beacons: 2, closed: 1),
        eventToAcceptedMs: .init(p50: 12.5, p99: 1_034))

    @Test func aGoodSummaryHasNoFault() { #expect(Self.good.faults.isEmpty) }

    @Test(arguments: 0..<16)
    func whatIsWrongIsSaid(fault: Int) {
        var summary = Self.good
        switch fault {
        case 0: summary.eventsConsumed += 1
        case 1: summary.pending = 1
        case 2: summary.devicesEquivalent -= 1
        case 3: summary.budgetViolations = 1
        case 4: summary.members.equivalent -= 1
        case 5: summary.members.due += 1
        case 6: summary.members.checked = 0
        case 7:
            summary.members.waiting = 1
            summary.members.due += 1
        case 8: summary.members.starts.cards -= 1
        case 9: summary.members.starts.results["accepted"] = 19
        case 10: summary.members.starts = .init(cards: 0, due: 0, results: [:], waiting: 0)
        case 11: summary.channel.opened = 2
        case 12: summary.channel.closed = 0
        case 13: summary.channel.broadcasts = 0
        case 14: summary.channel.beacons = 0
        default: summary.pushesAccepted = 0
        }
        #expect(!summary.faults.isEmpty)
    }

    @Test func theFileHasExactlyThePromisedKeys() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("summary-\(UUID().uuidString).json")
            .path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Self.good.write(to: path)
        let object = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path))) as? [String: Any])
        #expect(
            Set(object.keys) == [
                "eventsConsumed", "pushesAccepted", "eventsMerged", "outcomes", "pending", "devicesChecked",
                "devicesEquivalent",
                "budgetViolations", "members", "channel", "eventToAcceptedMs",
            ])
        #expect(
            Set(try #require(object["members"] as? [String: Any]).keys) == [
                "checked", "equivalent", "heardGoalTakenBack", "due", "results", "waiting", "starts",
            ])
        #expect(
            Set(try #require(object["channel"] as? [String: Any]).keys) == [
                "listeners", "opened", "broadcasts", "beacons", "closed",
            ])
        #expect(Set(try #require(object["eventToAcceptedMs"] as? [String: Any]).keys) == ["p50", "p99"])
    }
}

struct ScoreboardTests {
    /// On a terminal the last numbers are erased before the next line is written. A file gets only plain lines.
    @Test(arguments: [true, false])
    func onlyATerminalIsRedrawn(isTerminal: Bool) {
        let log = Log()
        var board = Scoreboard(isTerminal: isTerminal) { log.text += $0 }
        board.show(.init(), atMillis: 1_000)
        board.say("Goal", atMillis: 1_500)
        board.show(.init(consumed: 1_234), atMillis: 2_000)
        #expect(log.text.contains("\u{1B}") == isTerminal)
        #expect(log.text.contains("1.5 s  Goal\n"))
        #expect(log.text.contains("consumed 1,234"))
    }

    private final class Log { var text = "" }
}
