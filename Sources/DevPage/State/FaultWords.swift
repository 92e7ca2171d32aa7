import APNSSimulator
import PushInspection

/// Faults of the simulated APNs in words.
enum FaultWords {
    /// The fault's effect, as a clause whose subject is APNs.
    static func clause(_ effect: Fault.Effect) -> String {
        switch effect {
        case .answer(let status, let reason, _, _, _): "answers \(status)\(reason.isEmpty ? "" : " \(reason)")"
        case .answerRaw(let status, _): "answers \(status) with a body of its own"
        case .stall: "does not answer"
        case .reset: "resets the stream"
        case .cut: "cuts the connection"
        case .goAway: "sends GOAWAY"
        case .odd: "answers in a way that it never did"
        case .then: "answers, and then something happens to the connection"
        case .twice: "hands it over twice"
        case .channelID: "tells of a channel that it has not made"
        }
    }

    /// One fault of the list, as a sentence.
    static func sentence(_ fault: Fault, firedCount: Int, phone: Int?) -> String {
        let whom = phone.map { " to phone \($0)" } ?? (fault.tokenPrefix.isEmpty ? "" : " to some tokens")
        let chance = fault.rate < 1 ? ", with a chance of \(Int((fault.rate * 100).rounded())) %" : ""
        let left = fault.count.map { ", \(Self.times($0 - firedCount, isMore: firedCount > 0))" } ?? ""
        return "APNs \(Self.clause(fault.effect))\(whom)\(chance)\(left)."
    }

    private static func times(_ count: Int, isMore: Bool) -> String {
        if !isMore, count == 1 { return "once" }
        return "\(count)\(isMore ? " more" : "") time\(count == 1 ? "" : "s")"
    }

    /// What else is wrong at the simulated APNs, beside the faults in its list.
    static func sentences(_ trouble: APNSSimulator.Trouble) -> [String] {
        var sentences: [String] = []
        let latency = trouble.latency
        if latency != Latency() {
            let spread = latency.jitterMillis > 0 ? " to \(latency.fixedMillis + latency.jitterMillis)" : ""
            sentences.append("Answers take \(latency.fixedMillis)\(spread) ms.")
        }
        if trouble.refusesConnections { sentences.append("New connections are closed at once.") }
        if trouble.isMute { sentences.append("New connections are taken, and nothing is answered on them.") }
        return sentences
    }
}
