import DeviceModel
import PushModel

/// A summary as the control API shows it. Content, attributes and alerts are copied as the bytes the phones got, which
/// are JSON.
enum SummaryJSON {
    static func bytes(_ summary: DeviceSummary) -> [UInt8] {
        let json = JSONWriter.bytes { json in
            json.object { json in
                json.member("tokens", summary.tokens)
                json.member("unknownTokens", summary.unknownTokens)
                Self.append("states", counts: summary.states, to: &json)
                json.member("cards", summary.cards)
                json.array("shown", summary.shown, Self.shown)
                json.member("cardsShownOtherwise", summary.cardsShownOtherwise)
                json.array("alerts", summary.alerts, Self.alerted)
                json.member("cardsAlertedOtherwise", summary.cardsAlertedOtherwise)
                json.member("listening", summary.listening)
                json.member("messages", summary.messages)
                json.member("pushes", summary.pushes)
                Self.append("fewestPushes", summary.fewestPushes, to: &json)
                Self.append("mostPushes", summary.mostPushes, to: &json)
                Self.append("leastDistanceMillis", summary.leastDistanceMillis, to: &json)
                Self.append("mostInFlight", summary.mostInFlight, to: &json)
                Self.append("mostHighPriorityPerHour", summary.mostHighPriorityPerHour, to: &json)
                Self.append("mostStartsPerHour", summary.mostStartsPerHour, to: &json)
                Self.append("phonesByCards", counts: summary.phonesByCards, to: &json)
                json.member("startsOverBudget", summary.startsOverBudget)
                json.member("differingCount", summary.differingCount)
                json.array("differing", summary.differing, Self.differing)
            }
        }
        return json + [UInt8(ascii: "\n")]
    }

    /// A hash as the API shows it: 16 hex digits.
    static func text(_ hash: UInt64) -> String {
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func shown(_ group: DeviceSummary.Shown, _ json: inout JSONWriter) {
        json.object { json in
            json.member("cards", group.cards)
            json.member("card", group.card.rawValue)
            json.member("timestamp", group.stampSeconds)
            json.member("content-state", json: group.contentState)
            json.member("contentHash", Self.text(group.contentHash))
            json.member("attributes", json: group.attributes)
            json.member("example", group.example)
        }
    }

    private static func alerted(_ group: DeviceSummary.Alerted, _ json: inout JSONWriter) {
        json.object { json in
            json.member("cards", group.cards)
            json.member("alerts", group.alerts)
            json.member("alertsHash", Self.text(group.hash))
            json.member("newestAlert", json: group.newest)
            json.member("example", group.example)
        }
    }

    private static func differing(_ token: DeviceSummary.Differing, _ json: inout JSONWriter) {
        json.object { json in
            json.member("token", token.token)
            json.array("ways", token.ways) { $1.value($0.rawValue) }
        }
    }

    private static func append(
        _ name: StaticString, _ extreme: DeviceSummary.Extreme?, to json: inout JSONWriter
    ) {
        guard let extreme else { return }
        json.object(name) { json in
            json.member("value", extreme.value)
            json.member("token", extreme.token)
        }
    }

    private static func append(
        _ name: StaticString, counts: [some Hashable: Int], to json: inout JSONWriter
    ) {
        json.object(name) { json in
            // Some names are numbers. Sorting by length first puts numbers in their order.
            let counts = counts.map { (name: "\($0.key)", count: $0.value) }
            for (name, count) in counts.sorted(by: { ($0.name.utf8.count, $0.name) < ($1.name.utf8.count, $1.name) }) {
                json.name(escaping: name)
                json.value(Int64(count))
            }
        }
    }
}
