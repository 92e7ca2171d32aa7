import Foundation
import PushEngine
import PushModel

/// Start members whose worker died before it got the answer to their start. With `start.on-unknown: drop`, an outcome
/// record must report each of them (fan-out contract: Starts of an audience).
extension SimulationWorld {
    /// Time in which a new owner stores all its reports in Kafka, in milliseconds. It includes the session timeout of
    /// the former owner.
    private static let reportMillis: Int64 = 120_000

    // MARK: What is heard

    /// FNV-1a hash of the raw token, in the form that outcome records have.
    static func hash(ofToken token: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var digits = Substring(token)
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
            digits = digits.dropFirst(2)
        }
        let text = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
    /// Remembers an outcome record which says that it is unknown whether a start reached one phone.
    func rememberUnheardStart(_ record: LoggedRecord) {
        let text = String(decoding: record.value, as: UTF8.self)
        guard text.hasPrefix("{\"outcome\":\"unknown\""), text.contains("\"token-hash\":\""),
            let position = SimulationEvidence.position(ofOutcome: text), let event = self.written[position],
            event.kind == .start, self.isAudience(event.activity),
            let starter = self.starterHashes[String(decoding: record.key, as: UTF8.self)]
        else { return }
        self.unheardStarts[event.number, default: []].insert(starter)
        if self.plan.app.startOnUnknown == .resend, self.plan.lostAnswerPercent == 0, text.contains("not sent again") {
            self.fail("starter \(starter): event \(event.number) is sent again, and is said not to be")
        }
    }
    /// Judges, with `start.on-unknown: drop`, that a start is not sent to a member after an outcome has reported that
    /// start as being in doubt.
    func checkIsNotUnheard(_ start: Int, starter: Int) {
        guard self.plan.app.startOnUnknown == .drop, self.unheardStarts[start]?.contains(starter) == true else {
            return
        }
        self.fail("starter \(starter): event \(start) starts it, and an outcome says that nobody knows whether it did")
    }

    // MARK: At the end

    /// Judges that an outcome reports a start whose worker died before it got the answer.
    func judgeUnheardStart(_ start: Int, audience: Int, starter: Int, expiresMillis: Int64) {
        let phone = self.starters[starter]
        guard let push = phone.pushes[start]?.last, push.end == .open, !phone.isDead,
            !phone.movements.contains(where: { !$0.isJoin })
        else { return }
        let partition = self.home(ofStarter: starter)
        let moves = (self.moveTimes[partition] ?? []).filter { $0 >= push.leftMillis }
        guard let takeover = moves.min() else { return }
        let slack = 2 * (self.plan.clockSkewMillisMax + self.differenceMillis + self.aheadMillis)
        let ends = self.phones[audience].audience?.ends.map(\.millis) ?? []
        // The new owner does not report a start that has expired, or whose audience has ended.
        guard takeover + Self.reportMillis + slack < expiresMillis,
            !ends.contains(where: { $0 < takeover + Self.reportMillis })
        else { return }
        self.judgeIsTold(start, starter: starter, since: push.leftMillis, until: takeover)
    }
    /// Whether each owner that the partition had from `since` to `until` kept it long enough to report all doubtful
    /// starts.
    func mayJudgeTold(partition: Int32, since: Int64, until: Int64) -> Bool {
        guard self.plan.app.startOnUnknown == .drop, self.plan.produceFailurePercent == 0 else { return false }
        let moves = (self.moveTimes[partition] ?? []).filter { $0 >= since && $0 <= until + Self.reportMillis }
        return zip(moves, moves.dropFirst()).allSatisfy { $0 + Self.reportMillis < $1 }
    }
    func judgeIsTold(_ start: Int, starter: Int, since: Int64, until: Int64) {
        let partition = self.home(ofStarter: starter)
        guard self.mayJudgeTold(partition: partition, since: since, until: until),
            self.unheardStarts[start]?.contains(starter) != true
        else { return }
        self.fail(
            "starter \(starter), partition \(partition): nobody knows whether event \(start) has started it, and no outcome says so"
        )
    }
}
