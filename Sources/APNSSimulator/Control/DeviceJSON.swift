import DeviceModel
import PushModel

/// A device as the control API shows it. Content, alerts and attributes are copied as the bytes the phone got, which
/// are JSON.
enum DeviceJSON {
    static func append(_ device: SimulatedDevice, nowMillis: Int64, rules: DeviceRules, to json: inout [UInt8]) {
        let shown = device.device.shown(atSeconds: nowMillis / 1_000, rules: rules)
        var object = JSONObjectWriter(&json)
        object.text("token", device.token, &json)
        if device.kind != .any { object.text("kind", "\(device.kind)", &json) }
        object.text("state", "\(device.status.state)", &json)
        if device.status.state != .alive { object.integer("sinceMillis", device.status.sinceMillis, &json) }
        object.text("topic", device.topic, &json)
        object.integer("accepted", Int64(device.accepted), &json)
        object.integer("refused", Int64(device.refused), &json)
        object.integer("leastDistanceMillis", device.leastDistanceMillis, &json)
        object.integer("inFlightPeak", Int64(device.inFlightPeak), &json)
        if let channel = device.channel { object.text("channel", channel, &json) }
        if !device.isOnline { object.bool("online", false, &json) }
        object.text("card", shown.card.rawValue, &json)
        object.raw("content-state", shown.contentState, &json)
        object.number("relevance-score", shown.relevanceScore, &json)
        object.integer("stale-date", shown.staleDateSeconds, &json)
        object.integer("dismissal-date", device.device.dismissalDateSeconds, &json)
        object.integer("leaves", shown.dismissedAtSeconds, &json)
        if device.device.stampSeconds != .min { object.integer("timestamp", device.device.stampSeconds, &json) }
        object.raw("newestAlert", shown.newestAlert, &json)
        object.integer("alerts", Int64(shown.alertCount), &json)
        object.raw("attributes-type", device.device.attributesType, &json)
        object.raw("attributes", device.device.attributes, &json)
        object.integer("cardsStarted", Int64(device.device.cardCount), &json)
        object.integer("shown", Int64(device.device.shownCount), &json)
        object.integer("ignored", Int64(device.device.ignoredCount), &json)
        if device.messages > 0 { object.integer("messages", Int64(device.messages), &json) }
        if device.bothWays > 0 { object.integer("bothWays", Int64(device.bothWays), &json) }
        object.integer("highPriorityLastHour", Int64(device.device.highPriorityCount(nowMillis: nowMillis)), &json)
        object.integer("highPriorityPeak", Int64(device.device.highPriorityPeak), &json)
        if !device.starts.isEmpty {
            let overBudget = device.starts.count { $0.card == nil }
            object.integer("startsOverBudget", Int64(overBudget), &json)
            object.raw("starts", Self.starts(device.starts, nowSeconds: nowMillis / 1_000, rules: rules), &json)
        }
        object.end(&json)
    }

    private static func starts(_ starts: [SimulatedStart], nowSeconds: Int64, rules: DeviceRules) -> [UInt8] {
        var json: [UInt8] = [UInt8(ascii: "[")]
        for (index, start) in starts.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            Self.append(start, nowSeconds: nowSeconds, rules: rules, to: &json)
        }
        json.append(UInt8(ascii: "]"))
        return json
    }

    private static func append(
        _ start: SimulatedStart, nowSeconds: Int64, rules: DeviceRules, to json: inout [UInt8]
    ) {
        var object = JSONObjectWriter(&json)
        object.integer("activity", Int64(start.activity), &json)
        object.integer("atMillis", start.atMillis, &json)
        object.integer("timestamp", start.stampSeconds, &json)
        if !start.messageID.isEmpty { object.text("apns-id", start.messageID, &json) }
        object.integer("startsWithinHour", Int64(start.startsWithinHour), &json)
        if let card = start.card {
            object.text("card", card.status(atSeconds: nowSeconds, rules: rules).rawValue, &json)
            object.integer("shows", card.stampSeconds, &json)
            object.raw("content-state", card.contentState, &json)
            object.text("contentHash", SummaryJSON.text(card.contentHash), &json)
            object.integer("alerts", Int64(card.alertCount), &json)
            object.text("alertsHash", SummaryJSON.text(card.alertsHash), &json)
        } else {
            object.text("card", "overBudget", &json)
        }
        if let token = start.updateToken { object.text("updateToken", token, &json) }
        object.end(&json)
    }
}

/// Writes the members of one JSON object with their commas. Absent values are left out.
struct JSONObjectWriter {
    private var isFirst = true

    init(_ json: inout [UInt8]) { json.append(UInt8(ascii: "{")) }

    mutating func text(_ name: String, _ value: String, _ json: inout [UInt8]) {
        self.name(name, &json)
        JSONBytes.appendString(value, to: &json)
    }

    mutating func bool(_ name: String, _ value: Bool, _ json: inout [UInt8]) {
        self.name(name, &json)
        json += Array((value ? "true" : "false").utf8)
    }

    mutating func integer(_ name: String, _ value: Int64?, _ json: inout [UInt8]) {
        guard let value else { return }
        self.name(name, &json)
        JSONBytes.appendInteger(value, to: &json)
    }

    mutating func number(_ name: String, _ value: Double?, _ json: inout [UInt8]) {
        guard let value else { return }
        self.name(name, &json)
        json += Array("\(value)".utf8)
    }

    /// Writes a member whose value is JSON already; nothing if it is empty.
    mutating func raw(_ name: String, _ value: [UInt8], _ json: inout [UInt8]) {
        guard !value.isEmpty else { return }
        self.name(name, &json)
        json += value
    }

    func end(_ json: inout [UInt8]) { json.append(UInt8(ascii: "}")) }

    private mutating func name(_ name: String, _ json: inout [UInt8]) {
        if !self.isFirst { json.append(UInt8(ascii: ",")) }
        self.isFirst = false
        JSONBytes.appendString(name, to: &json)
        json.append(UInt8(ascii: ":"))
    }
}
