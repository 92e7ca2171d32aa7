import DeviceModel
import Foundation
import PushEngine
import PushModel

extension SimulationWorld {
    /// Lets the upstream service or an app do one thing about an activity or channel. Usually this writes an event.
    func writeSomething() {
        let activity = self.drawActivity()
        if self.chance(self.plan.malformedPercent) { return self.writeMalformed(activity) }
        if self.phones[activity].token == nil, self.phones[activity].startToken == nil {
            return self.begin(activity)
        }
        if self.phones[activity].channel != nil { return self.writeToChannel(activity) }
        // A registration after the end would begin another life.
        let hasEnded = self.phones[activity].device.phase == .ended
        if !hasEnded, self.phones[activity].hasTokenToUpload, Bool.random(using: &self.random) {
            return self.upload(activity)
        }
        // The app sometimes reports its token again. After the activity was forgotten, only such a report makes it
        // known again.
        if !hasEnded, self.plan.livesAreShort, self.phones[activity].token != nil, self.chance(20) {
            return self.upload(activity)
        }
        if !hasEnded, self.chance(self.plan.deadTokenPercent), self.phones[activity].token != nil {
            self.log("the token of activity \(activity) dies")
            self.phones[activity].isTokenDead = true
            self.phones[activity].hasLostToken = true
        }
        if !hasEnded, self.chance(self.plan.rotationPercent), self.phones[activity].token != nil {
            return self.register(activity)
        }
        // The app reports the update token some time after a start put up the card.
        if !hasEnded, self.phones[activity].token == nil, self.phones[activity].hasStarted,
            Bool.random(using: &self.random)
        {
            return self.register(activity)
        }
        if self.mayReportDeadToken(activity), self.deadArrivals.draw() { return self.reportDeadToken(activity) }
        self.writeContent(activity)
    }

    private func drawActivity() -> Int {
        if let (activity, events) = self.focus {
            self.focus = events > 1 ? (activity, events - 1) : nil
            if Int.random(in: 0..<4, using: &self.random) > 0 { return activity }
        }
        let others = (0..<self.plan.activities).filter { !self.hasHeardLast.contains($0) }
        return others.randomElement(using: &self.random)
            ?? Int.random(in: 0..<self.plan.activities, using: &self.random)
    }

    private func begin(_ activity: Int) {
        self.phones[activity].hasFrequentUpdates = activity % 2 == 1
        let startsRemotely =
            !self.phones[activity].hasEvents && Int.random(in: 0..<100, using: &self.random) < self.plan.startPercent
        if startsRemotely {
            self.phones[activity].startToken = self.makeToken(activity)
            self.writeStart(activity)
        } else if self.chance(self.plan.unregisteredPercent) {
            // Updates may be read before the registration.
            self.writeContent(activity)
        } else {
            self.register(activity)
        }
    }

    func makeToken(_ activity: Int) -> String {
        self.phones[activity].tokenCount += 1
        let padded = "000000" + String(self.phones[activity].tokenCount, radix: 16)
        return String(format: "%02x", activity) + padded.suffix(6) + String(repeating: "ab", count: 28)
    }

    /// Replaces the activity's update token. The old one is dead at once, and the app reports the new one now or later.
    func register(_ activity: Int) {
        let token = self.makeToken(activity)
        let isFirst = self.phones[activity].token == nil
        if !isFirst { self.phones[activity].hasLostToken = true }
        self.phones[activity].token = token
        self.phones[activity].isTokenDead = false
        self.phones[activity].hasTokenToUpload = true
        if isFirst || Int.random(in: 0..<3, using: &self.random) > 0 { self.upload(activity) }
    }

    private func upload(_ activity: Int) {
        guard let token = self.phones[activity].token else { return }
        self.phones[activity].hasTokenToUpload = false
        self.writeRegistration(activity, token: token)
    }

    func writeRegistration(_ activity: Int, token: String) {
        let frequent = self.phones[activity].hasFrequentUpdates
        self.write(
            activity, kind: .register, timestamp: 0, body: "", isHigh: false,
            value: "{\"event\":\"register\",\"token\":\"\(token)\",\"frequent-updates\":\(frequent)}", token: token)
    }

    /// Draws the timestamp of an event, in seconds. Most are the present time or soon after it. Some are equal to the
    /// activity's newest timestamp, and some are older.
    private func drawTimestamp(_ activity: Int) -> Int64 {
        let now = self.wallSeconds
        let drawn: Int64
        // If lives are short, the activity may have been forgotten, so the timestamp does not depend on its last event.
        switch Int.random(in: self.plan.livesAreShort ? 2..<10 : 0..<10, using: &self.random) {
        case 0: drawn = self.phones[activity].lastEventSeconds
        case 1: drawn = self.phones[activity].lastEventSeconds - Int64.random(in: 1...100, using: &self.random)
        case 2: drawn = now + Int64.random(in: 0...60, using: &self.random)
        default: drawn = now
        }
        let last = self.phones[activity].lastEventSeconds
        let timestamp = max(
            min(drawn, now + 100), self.recordTimes.untimed.contains(activity) ? last : .min)
        self.phones[activity].lastEventSeconds = max(self.phones[activity].lastEventSeconds, timestamp)
        return timestamp
    }

    private func writeStart(_ activity: Int) {
        let timestamp = self.drawTimestamp(activity)
        let content = self.drawContent(large: false)
        let stale = self.drawStaleDate(activity).map { ",\"stale-date\":\($0)" } ?? ""
        let parts = """
            "content-state":\(content)\(stale),"attributes-type":"Order","attributes":{"n":\(activity)},"alert":{"title":"go","body":"\(self.written.count)"}
            """
        self.write(
            activity, kind: .start, timestamp: timestamp,
            body: "{\"aps\":{\"event\":\"start\",\"timestamp\":STAMP,\(parts)}}", isHigh: true,
            value: """
                {"event":"start","to":{"start-token":"\(self.phones[activity].startToken!)"},"timestamp":\(timestamp),\(parts)}
                """)
    }

    func writeContent(_ activity: Int) {
        self.phones[activity].hasEvents = true
        let recordMillis = self.recordTimes.draw(activity, nowMillis: self.wallMillis)
        let timestamp =
            recordMillis == nil ? self.drawTimestamp(activity) : self.phones[activity].lastEventSeconds
        let isPatient = self.lateness.windowMillis != nil && !self.isAudience(activity)
        let isEnd = Int.random(in: 0..<25, using: &self.random) == 0 && !isPatient
        let isLarge = self.chance(self.plan.largePercent)
        let hasAlert = Int.random(in: 0..<100, using: &self.random) < self.plan.alertPercent
        let priority = Bool.random(using: &self.random) && !isPatient ? 10 : 5
        let withdrawsAlert = !hasAlert && self.withdrawals.draw()
        var parts: [String] = []
        let hasContent = !isEnd || Bool.random(using: &self.random)
        // A push has no room for both large content and a large alert.
        if hasContent { parts.append("\"content-state\":\(self.drawContent(large: isLarge && !hasAlert))") }
        if hasAlert {
            let filler = isLarge && hasContent ? String(repeating: "x", count: 1_800) : ""
            parts.append("\"alert\":{\"title\":\"t\(filler)\",\"body\":\"\(self.written.count)\"}")
        }
        if hasContent, Int.random(in: 0..<4, using: &self.random) == 0 {
            parts.append("\"relevance-score\":\(self.written.count)")
        }
        if isEnd, Bool.random(using: &self.random) || (!hasContent && self.isAudience(activity)) {
            let dismissed =
                hasContent || !self.isAudience(activity)
                ? timestamp + 600 : Self.dismissalBeginsSeconds + Int64(self.order.count)
            parts.append("\"dismissal-date\":\(dismissed)")
        }
        let staleSeconds = hasContent && !isEnd ? self.drawStaleDate(activity) : nil
        if let staleSeconds { parts.append("\"stale-date\":\(staleSeconds)") }
        let body =
            "{\"aps\":{\"event\":\"\(isEnd ? "end" : "update")\",\"timestamp\":STAMP\(parts.map { "," + $0 }.joined())}}"
        var expires: Int64?
        var isLastWord = false
        if self.chance(self.plan.expiresPercent) {
            expires = self.wallSeconds + Int64.random(in: 1...900, using: &self.random)
            isLastWord = hasContent && !isEnd && self.strikeAtExpiring(activity, expires: &expires)
            if self.recordTimes.untimed.contains(activity) { isLastWord = false }
            parts.append("\"expires\":\(expires!)")
        }
        let value = """
            {"event":"\(isEnd ? "end" : "update")"\(recordMillis == nil ? ",\"timestamp\":\(timestamp)" : ""),"priority":\(priority)\(withdrawsAlert ? ",\"alert\":null" : "")\(parts.map { "," + $0 }.joined())}
            """
        if self.plan.app.staleDateExpires, expires == nil { expires = staleSeconds }
        let count = self.chance(self.plan.duplicatePercent) ? 2 : 1
        for _ in 0..<count {
            self.write(
                activity, kind: isEnd ? .end : .update, timestamp: timestamp, body: body, isHigh: priority == 10,
                value: value, expires: expires, hasCopy: count > 1, withdrawsAlert: withdrawsAlert,
                recordMillis: recordMillis)
        }
        if isLastWord { self.writeLastWord(activity, before: timestamp) }
    }

    /// Writes the activity's last event. It has an older timestamp than the event before it, and does not expire.
    private func writeLastWord(_ activity: Int, before timestamp: Int64) {
        let content = "\"content-state\":\(self.drawContent(large: false))"
        let older = timestamp - 1
        self.write(
            activity, kind: .update, timestamp: older,
            body: "{\"aps\":{\"event\":\"update\",\"timestamp\":STAMP,\(content)}}", isHigh: false,
            value: "{\"event\":\"update\",\"timestamp\":\(older),\"priority\":5,\(content)}")
    }

    private func drawContent(large: Bool) -> String {
        let filler = large ? ",\"f\":\"" + String(repeating: "y", count: 3_000) + "\"" : ""
        return "{\"n\":\(self.written.count)\(filler)}"
    }

    private func writeMalformed(_ activity: Int) {
        let values = [
            "{", "{\"event\":\"update\"}", "{\"event\":\"goal\"}", "[]",
            "{\"event\":\"update\",\"content-state\":{},\"colour\":1}",
            "{\"event\":\"update\",\"content-state\":{\"f\":\"" + String(repeating: "z", count: 4_100) + "\"}}",
            "{\"event\":\"update\",\"content-state\":{},\"timestamp\":99999999999}",
        ]
        self.write(
            activity, kind: .malformed, timestamp: 0, body: "", isHigh: false,
            value: values.randomElement(using: &self.random)!)
    }

    /// Writes an event of an audience.
    func writeAboutAudience(
        _ audience: Int, kind: WrittenEvent.Kind, timestamp: Int64, body: String, value: String, expires: Int64?
    ) {
        self.write(
            audience, kind: kind, timestamp: timestamp, body: body, isHigh: true, value: value, expires: expires)
    }

    private func write(
        _ activity: Int, kind: WrittenEvent.Kind, timestamp: Int64, body: String, isHigh: Bool, value: String,
        expires: Int64? = nil, hasCopy: Bool = false, token: String? = nil, withdrawsAlert: Bool = false,
        recordMillis: Int64? = nil
    ) {
        self.perhapsLearn(activity)
        let key = Array(self.phones[activity].key.utf8)
        let partition = self.writtenPartition(of: activity)
        let value = kind == .malformed ? value : self.named(self.addressed(value, to: activity), app: activity)
        let bytes =
            kind == .malformed ? Array(value.utf8) : self.framing.framed(value, number: self.order.count)
        let record = LoggedRecord(
            key: key, value: bytes, timestampMillis: recordMillis ?? self.wallMillis)
        let offset = self.kafka.append(
            self.perhapsSampled(record, in: partition),
            to: SimulatedKafka.LogID(topic: .events, partition: partition),
            nowMillis: self.steadyMillis)
        let position = SourcePosition(topic: 0, partition: partition, offset: offset)
        self.written[position] = WrittenEvent(
            kind: kind, activity: activity, timestampSeconds: timestamp, body: body, isHighPriority: isHigh,
            expiresSeconds: expires, writtenMillis: self.steadyMillis, hasCopy: hasCopy, token: token,
            withdrawsAlert: withdrawsAlert, number: self.order.count,
            isHeard: self.isAudience(activity) && self.isRoutedRead)
        self.written[position]?.writtenWallMillis = self.wallMillis
        self.log(
            "event \(self.order.count) of \(self.isAudience(activity) ? "audience" : "activity") \(activity) at \(partition)/\(offset): \(value)"
        )
        self.order.append(position)
        if kind == .end {
            let millis = self.steadyMillis
            self.phones[activity].audience?.ends.append((position, millis))
        }
    }
}
