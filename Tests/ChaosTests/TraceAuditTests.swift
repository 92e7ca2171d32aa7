import Testing
import Upstream

@testable import ChaosTesting

/// Tests of the judge of traces: right runs pass, and each fault is found.
struct TraceAuditTests {
    private static let token = String(repeating: "0a", count: 32)
    private static let event = span(
        "process events", id: 1, from: 10, to: 40,
        ["messaging.destination.partition.id": "3", "messaging.kafka.offset": "7", "mailboat.outcome": "delivered"])
    private static let push = span("push", id: 2, below: 1, from: 20, to: 30, ["http.response.status_code": "200"])
    private static let pass = span(
        "fan out", id: 3, below: 1, from: 45, to: 60,
        [
            "mailboat.outcome": "finished", "mailboat.members.due": "5", "mailboat.members.accepted": "2",
            "mailboat.members.gone": "1", "mailboat.members.waiting": "2",
        ])

    private static func span(
        _ name: String, id: Int, below parent: Int? = nil, from start: Int, to end: Int,
        _ attributes: [String: String] = [:]
    ) -> String {
        let list = attributes.sorted { $0.key < $1.key }.map {
            "{\"key\":\"\($0.key)\",\"value\":{\"stringValue\":\"\($0.value)\"}}"
        }
        let parent = parent.map { "\"parentSpanId\":\"000000000000000\($0)\"," } ?? ""
        return """
            {"traceId":"0000000000000000000000000000000a","spanId":"000000000000000\(id)",\(parent)"name":"\(name)","kind":1,\
            "startTimeUnixNano":"\(start)","endTimeUnixNano":"\(end)","attributes":[\(list.joined(separator: ","))]}
            """
    }

    private static func audit(
        _ spans: [String], isUndisturbed: Bool = true, outcome: String = "delivered"
    ) -> TraceAudit {
        let text =
            "{\"resourceSpans\":[{\"resource\":{\"attributes\":[]},\"scopeSpans\":[{\"scope\":{\"name\":\"mailboat\"},\"spans\":[\(spans.joined(separator: ","))]}]}]}"
        return TraceAudit(
            [Array(text.utf8)], topic: "events", isUndisturbed: isUndisturbed, tokens: [Self.token],
            outcomes: { $0 == .init(partition: 3, offset: 7) ? [outcome] : [] })
    }

    @Test func whatIsRightPasses() {
        let broadcast = Self.span("push", id: 4, below: 1, from: 50, to: 60, ["mailboat.version": "20"])
        var audit = Self.audit([Self.event, Self.push, Self.pass, broadcast])
        audit.expectAll(isUndisturbed: true)
        #expect(audit.faults == [])
        #expect(audit.spanCount == 4 && audit.eventCount == 1 && audit.agreeingCount == 1)
        #expect(audit.passCount == 1 && audit.pushCount == 2 && audit.orphanCount == 0)
    }

    /// In a run with faults, the event may have another outcome on the next worker, and a killed worker's unsent spans
    /// are lost.
    @Test(arguments: [false, true]) func faultsExcuseWhatIsLost(isUndisturbed: Bool) {
        let audit = Self.audit(
            [Self.event, Self.span("push", id: 2, below: 9, from: 1, to: 2)], isUndisturbed: isUndisturbed,
            outcome: "unknown")
        #expect(
            audit.faults
                == (isUndisturbed
                    ? [
                        "traces: event 3/7 is delivered, and its outcome [\"unknown\"]",
                        "traces: the parent of a span push is missing",
                    ] : []))
        #expect(audit.agreeingCount == 0 && audit.orphanCount == 1)
    }

    @Test(arguments: [
        (
            "a span within its parent",
            [TraceAuditTests.event, TraceAuditTests.span("push", id: 2, below: 1, from: 20, to: 50)]
        ),
        ("a place", [TraceAuditTests.span("process events", id: 1, from: 1, to: 2, ["mailboat.outcome": "delivered"])]),
        (
            "a sum",
            [
                TraceAuditTests.event,
                TraceAuditTests.span("fan out", id: 2, below: 1, from: 45, to: 50, ["mailboat.members.due": "1"]),
            ]
        ),
        (
            "a number of members",
            [TraceAuditTests.event, TraceAuditTests.span("fan out", id: 2, below: 1, from: 45, to: 50)]
        ),
        ("an id of its own", [TraceAuditTests.event, TraceAuditTests.event]),
        (
            "no token",
            [
                TraceAuditTests.event,
                TraceAuditTests.span(
                    "queued", id: 2, below: 1, from: 20, to: 30, ["why": "of \(TraceAuditTests.token)."]),
            ]
        ),
        ("a kind", ["{}"]),
    ])
    func whatIsWrongIsFound(_ what: String, spans: [String]) {
        #expect(Self.audit(spans, isUndisturbed: false).faults.count == 1, "\(what) is missed")
    }

    @Test func aRunWithoutTracesIsFound() {
        var audit = Self.audit([])
        audit.expectAll(isUndisturbed: false)
        #expect(audit.faults == ["traces: no event was traced", "traces: no push was traced"])
    }

    /// A version without passes is a fault only in a run without faults. Otherwise all of its passes may have been on a
    /// killed worker.
    @Test(arguments: [false, true]) func aVersionWithoutPassesIsFound(isUndisturbed: Bool) {
        let event = Self.event.replacing("delivered", with: "fanned-out")
        var audit = Self.audit([event, Self.push], outcome: "fanned-out")
        audit.expectAll(isUndisturbed: isUndisturbed)
        #expect(audit.faults == (isUndisturbed ? ["traces: no pass was traced"] : []))
    }
}
