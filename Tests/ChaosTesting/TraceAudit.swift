import TraceCollecting
import Upstream

/// Judges the spans that workers sent to a collector.
///
/// A killed worker loses the spans it had not sent. So a span's parent may be missing, and the event may have another
/// outcome on the next worker. Only the spans of a run without faults have to be complete.
struct TraceAudit {
    /// Outcomes that occur in spans and never in the outcomes topic. An event with such an outcome continues at another
    /// worker or partition.
    static let wayGoesOn: Set<String> = ["forwarded", "handed over", "still pending"]
    private static let faultsMax = 20
    /// Minimum number of hex digits of a token. Shorter values are not tokens.
    private static let tokenDigitsMin = 16

    private(set) var faults: [String] = []
    private(set) var spanCount = 0
    /// Number of spans of single events.
    private(set) var eventCount = 0
    /// Number of spans of single events that agree with the event's outcome.
    private(set) var agreeingCount = 0
    /// Number of events for an audience whose version was sent to partitions.
    private(set) var fannedOutCount = 0
    /// Number of passes over the members of a partition.
    private(set) var passCount = 0
    private(set) var pushCount = 0
    /// Number of spans whose parent is a worker's span that was lost.
    private(set) var orphanCount = 0

    /// Judges all spans.
    /// - Parameters:
    ///   - bodies: bodies of the collector's requests.
    ///   - topic: topic of events.
    ///   - isUndisturbed: whether the run had no faults. Then no span may be missing.
    ///   - tokens: tokens of all phones. No span may hold one.
    ///   - outcomes: outcomes of an event, by its position in `topic`.
    init(
        _ bodies: [[UInt8]], topic: String, isUndisturbed: Bool, tokens: Set<String>,
        outcomes: (ChaosAudit.Position) -> [String]
    ) {
        var spans: [CollectedSpan] = []
        for body in bodies {
            do { spans += try CollectedSpan.read(body) } catch { self.fault("a collector cannot read it: \(error)") }
        }
        self.spanCount = spans.count
        var byID: [String: CollectedSpan] = [:]
        for span in spans where byID.updateValue(span, forKey: span.spanID) != nil {
            self.fault("two spans are \(span.spanID)")
        }
        for span in spans {
            self.judgeSecrets(span, tokens)
            switch span.name {
            case "process \(topic)": self.judgeEvent(span, isUndisturbed: isUndisturbed, outcomes)
            case "fan out": self.judgePass(span)
            case "push": self.pushCount += 1
            default: break
            }
            self.judgeParent(span, byID, isUndisturbed: isUndisturbed)
        }
    }

    private mutating func fault(_ text: String) {
        if self.faults.count < Self.faultsMax { self.faults.append("traces: \(text)") }
    }

    private mutating func judgeEvent(
        _ span: CollectedSpan, isUndisturbed: Bool, _ outcomes: (ChaosAudit.Position) -> [String]
    ) {
        self.eventCount += 1
        guard let partition = span.attributes["messaging.destination.partition.id"].flatMap({ Int32($0) }),
            let offset = span.attributes["messaging.kafka.offset"].flatMap({ Int64($0) }),
            let outcome = span.attributes["mailboat.outcome"]
        else {
            self.fault("a span of an event does not say where it lies and what became of it: \(span.attributes)")
            return
        }
        if outcome == "fanned-out" { self.fannedOutCount += 1 }
        let told = outcomes(ChaosAudit.Position(partition: partition, offset: offset))
        if Self.wayGoesOn.contains(outcome) || told.contains(outcome) {
            self.agreeingCount += 1
        } else if isUndisturbed {
            self.fault("event \(partition)/\(offset) is \(outcome), and its outcome \(told)")
        }
    }

    private mutating func judgePass(_ span: CollectedSpan) {
        self.passCount += 1
        // The worker stopped tracing this pass before the pass ended, so its counts need not add up.
        guard span.attributes["mailboat.outcome"] != "still under way" else { return }
        func count(_ name: String) -> Int { span.attributes["mailboat.members.\(name)"].flatMap { Int($0) } ?? 0 }
        let sum = ["accepted", "superseded", "expired", "gone", "failed", "unknown", "left", "waiting"].reduce(0) {
            $0 + count($1)
        }
        if span.attributes["mailboat.members.due"] == nil || count("due") != sum {
            self.fault("a pass does not add up: \(span.attributes)")
        }
    }

    /// Judges that the time of a span lies within its parent's. A span of an audience's version may lie outside,
    /// because its work begins when the event has its outcome.
    private mutating func judgeParent(_ span: CollectedSpan, _ byID: [String: CollectedSpan], isUndisturbed: Bool) {
        guard let parentID = span.parentSpanID else { return }
        guard let parent = byID[parentID] else {
            self.orphanCount += 1
            if isUndisturbed { self.fault("the parent of a span \(span.name) is missing") }
            return
        }
        if parent.traceID != span.traceID { self.fault("\(span.name) is of another trace than \(parent.name)") }
        let isWithin = span.startNanos >= parent.startNanos && span.endNanos <= parent.endNanos
        let isOfVersion = span.attributes["mailboat.version"] != nil
        if ["queued", "push"].contains(span.name), !isOfVersion, !isWithin {
            self.fault("\(span.name) from \(span.startNanos) to \(span.endNanos) is not within \(parent.name)")
        }
    }

    private mutating func judgeSecrets(_ span: CollectedSpan, _ tokens: Set<String>) {
        for (name, value) in span.attributes {
            let words = value.split { !$0.isHexDigit }
            if words.contains(where: { $0.count >= Self.tokenDigitsMin && tokens.contains(String($0)) }) {
                self.fault("\(name) of \(span.name) is a device token")
            }
        }
    }

    /// Judges that a traced run has traces of each kind. A pass is required only without faults, and only if a traced
    /// event was sent to partitions.
    mutating func expectAll(isUndisturbed: Bool) {
        if self.eventCount == 0 { self.fault("no event was traced") }
        if self.pushCount == 0 { self.fault("no push was traced") }
        if self.passCount == 0, self.fannedOutCount > 0, isUndisturbed { self.fault("no pass was traced") }
    }

    /// Line for the result table of a run.
    var line: String {
        "traces              \(self.spanCount) spans of \(self.eventCount) events and \(self.passCount) passes, \(self.pushCount) pushes; "
            + "\(self.agreeingCount) events say what their outcome says; \(self.orphanCount) parents were lost"
    }
}
