import DeviceModel
import PushModel

/// A summary as the control API shows it. Content, attributes and alerts are copied as the bytes the phones got, which
/// are JSON.
enum SummaryJSON {
    static func bytes(_ summary: DeviceSummary) -> [UInt8] {
        var json: [UInt8] = []
        var object = JSONObjectWriter(&json)
        object.integer("tokens", Int64(summary.tokens), &json)
        object.integer("unknownTokens", Int64(summary.unknownTokens), &json)
        object.raw("states", Self.counts(summary.states.map { ("\($0.key)", $0.value) }), &json)
        object.integer("cards", Int64(summary.cards), &json)
        object.raw("shown", Self.list(summary.shown, Self.shown), &json)
        object.integer("cardsShownOtherwise", Int64(summary.cardsShownOtherwise), &json)
        object.raw("alerts", Self.list(summary.alerts, Self.alerted), &json)
        object.integer("cardsAlertedOtherwise", Int64(summary.cardsAlertedOtherwise), &json)
        object.integer("listening", Int64(summary.listening), &json)
        object.integer("messages", Int64(summary.messages), &json)
        object.integer("pushes", Int64(summary.pushes), &json)
        object.raw("fewestPushes", Self.extreme(summary.fewestPushes), &json)
        object.raw("mostPushes", Self.extreme(summary.mostPushes), &json)
        object.raw("leastDistanceMillis", Self.extreme(summary.leastDistanceMillis), &json)
        object.raw("mostInFlight", Self.extreme(summary.mostInFlight), &json)
        object.raw("mostHighPriorityPerHour", Self.extreme(summary.mostHighPriorityPerHour), &json)
        object.raw("mostStartsPerHour", Self.extreme(summary.mostStartsPerHour), &json)
        object.raw("phonesByCards", Self.counts(summary.phonesByCards.map { ("\($0.key)", $0.value) }), &json)
        object.integer("startsOverBudget", Int64(summary.startsOverBudget), &json)
        object.integer("differingCount", Int64(summary.differingCount), &json)
        object.raw("differing", Self.list(summary.differing, Self.differing), &json)
        object.end(&json)
        return json + [UInt8(ascii: "\n")]
    }

    /// A hash as the API shows it: 16 hex digits.
    static func text(_ hash: UInt64) -> String {
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func shown(_ group: DeviceSummary.Shown, _ json: inout [UInt8]) {
        var object = JSONObjectWriter(&json)
        object.integer("cards", Int64(group.cards), &json)
        object.text("card", group.card.rawValue, &json)
        object.integer("timestamp", group.stampSeconds, &json)
        object.raw("content-state", group.contentState, &json)
        object.text("contentHash", Self.text(group.contentHash), &json)
        object.raw("attributes", group.attributes, &json)
        object.text("example", group.example, &json)
        object.end(&json)
    }

    private static func alerted(_ group: DeviceSummary.Alerted, _ json: inout [UInt8]) {
        var object = JSONObjectWriter(&json)
        object.integer("cards", Int64(group.cards), &json)
        object.integer("alerts", Int64(group.alerts), &json)
        object.text("alertsHash", Self.text(group.hash), &json)
        object.raw("newestAlert", group.newest, &json)
        object.text("example", group.example, &json)
        object.end(&json)
    }

    private static func differing(_ token: DeviceSummary.Differing, _ json: inout [UInt8]) {
        var object = JSONObjectWriter(&json)
        object.text("token", token.token, &json)
        let ways = Self.list(token.ways) { JSONBytes.appendString($0.rawValue, to: &$1) }
        object.raw("ways", ways, &json)
        object.end(&json)
    }

    private static func extreme(_ extreme: DeviceSummary.Extreme?) -> [UInt8] {
        guard let extreme else { return [] }
        var json: [UInt8] = []
        var object = JSONObjectWriter(&json)
        object.integer("value", extreme.value, &json)
        object.text("token", extreme.token, &json)
        object.end(&json)
        return json
    }

    private static func counts(_ counts: [(String, Int)]) -> [UInt8] {
        var json: [UInt8] = []
        var object = JSONObjectWriter(&json)
        // Sorted as text of numbers: shorter ones first.
        for (name, count) in counts.sorted(by: { ($0.0.utf8.count, $0.0) < ($1.0.utf8.count, $1.0) }) {
            object.integer(name, Int64(count), &json)
        }
        object.end(&json)
        return json
    }

    private static func list<Item>(_ items: [Item], _ append: (Item, inout [UInt8]) -> Void) -> [UInt8] {
        var json: [UInt8] = [UInt8(ascii: "[")]
        for (index, item) in items.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            append(item, &json)
        }
        json.append(UInt8(ascii: "]"))
        return json
    }
}
