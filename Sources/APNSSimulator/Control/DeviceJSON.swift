import DeviceModel
import PushModel

/// A device as the control API shows it. Content, alerts and attributes are copied as the bytes the phone got, which
/// are JSON.
enum DeviceJSON {
    static func append(_ device: SimulatedDevice, nowMillis: Int64, rules: DeviceRules, to json: inout JSONWriter) {
        let shown = device.device.shown(atSeconds: nowMillis / 1_000, rules: rules)
        json.object { json in
            json.member("token", device.token)
            if device.kind != .any { json.member("kind", "\(device.kind)") }
            json.member("state", "\(device.status.state)")
            if device.status.state != .alive { json.member("sinceMillis", device.status.sinceMillis) }
            json.member("topic", device.topic)
            json.member("accepted", device.accepted)
            json.member("refused", device.refused)
            json.member("leastDistanceMillis", device.leastDistanceMillis)
            json.member("inFlightPeak", device.inFlightPeak)
            json.member("channel", device.channel)
            if !device.isOnline { json.member("online", false) }
            json.member("card", shown.card.rawValue)
            json.member("content-state", json: shown.contentState)
            json.member("relevance-score", shown.relevanceScore)
            json.member("stale-date", shown.staleDateSeconds)
            json.member("dismissal-date", device.device.dismissalDateSeconds)
            json.member("leaves", shown.dismissedAtSeconds)
            if device.device.stampSeconds != .min { json.member("timestamp", device.device.stampSeconds) }
            json.member("newestAlert", json: shown.newestAlert)
            json.member("alerts", shown.alertCount)
            json.member("attributes-type", json: device.device.attributesType)
            json.member("attributes", json: device.device.attributes)
            json.member("cardsStarted", device.device.cardCount)
            json.member("shown", device.device.shownCount)
            json.member("ignored", device.device.ignoredCount)
            if device.messages > 0 { json.member("messages", device.messages) }
            if device.bothWays > 0 { json.member("bothWays", device.bothWays) }
            json.member("highPriorityLastHour", device.device.highPriorityCount(nowMillis: nowMillis))
            json.member("highPriorityPeak", device.device.highPriorityPeak)
            if !device.starts.isEmpty {
                json.member("startsOverBudget", device.starts.count { $0.card == nil })
                json.array("starts", device.starts) {
                    Self.append($0, nowSeconds: nowMillis / 1_000, rules: rules, to: &$1)
                }
            }
        }
    }

    private static func append(
        _ start: SimulatedStart, nowSeconds: Int64, rules: DeviceRules, to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("activity", start.activity)
            json.member("atMillis", start.atMillis)
            json.member("timestamp", start.stampSeconds)
            if !start.messageID.isEmpty { json.member("apns-id", start.messageID) }
            json.member("startsWithinHour", start.startsWithinHour)
            if let card = start.card {
                json.member("card", card.status(atSeconds: nowSeconds, rules: rules).rawValue)
                json.member("shows", card.stampSeconds)
                json.member("content-state", json: card.contentState)
                json.member("contentHash", SummaryJSON.text(card.contentHash))
                json.member("alerts", card.alertCount)
                json.member("alertsHash", SummaryJSON.text(card.alertsHash))
            } else {
                json.member("card", "overBudget")
            }
            json.member("updateToken", start.updateToken)
        }
    }
}
