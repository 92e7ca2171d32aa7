import Foundation
import Testing

@testable import mailboat_bench

struct ResultTests {
    /// The keys of a row in JSON. All are written, even without a value.
    static let keys = ["aim", "atLeast", "baseline", "holds", "name", "ratio", "unit", "value"]

    @Test func aCostHoldsAtItsBound() {
        let row = ResultRow("r", 1.7, "us", baseline: 2, target: .atMost(0.85, aim: 0.65))
        #expect(row.ratio == 0.85)
        #expect(row.holds == true)
        #expect(ResultRow("r", 1.8, "us", baseline: 2, target: .atMost(0.85)).holds == false)
    }

    @Test func aRateHoldsFromItsBoundOn() {
        #expect(ResultRow("r", 4, "1/s", baseline: 10, target: .atLeast(0.4)).holds == true)
        #expect(ResultRow("r", 3.9, "1/s", baseline: 10, target: .atLeast(0.4)).holds == false)
    }

    @Test func withoutABaselineTheValueItselfIsJudged() {
        #expect(ResultRow("r", 19, "ms", target: .atMost(20)).holds == true)
        #expect(ResultRow("r", 21, "ms", target: .atMost(20)).holds == false)
    }

    @Test func aRowBoundByTheServerDoesNotHold() {
        #expect(ResultRow("r", 1, "us", baseline: 2, target: .atMost(0.85), isServerBound: true).holds == false)
    }

    @Test func aBaselineOfNothingIsNoRatioAndDoesNotHold() {
        let row = ResultRow("r", 1, "us", baseline: 0, target: .atMost(0.85))
        #expect(row.ratio == nil)
        #expect(row.holds == false)
        #expect(ResultRow("r", .nan, "us", target: .atMost(1)).holds == false)
    }

    @Test func everyKeyIsWritten() throws {
        let results = Results(
            machine: Machine(), rows: [ResultRow("plain", 1, "us"), ResultRow("judged", 1, "B", target: .atMost(2))])
        let data = try JSONEncoder().encode(results)
        let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(object.keys.sorted() == ["machine", "rows"])
        let rows = try #require(object["rows"] as? [[String: Any]])
        for row in rows { #expect(row.keys.sorted() == Self.keys) }
        #expect(rows.first?["holds"] is NSNull)
        #expect(rows.last?["holds"] as? Bool == true)
    }

    @Test func whatIsWrittenIsReadBack() throws {
        let path = NSTemporaryDirectory() + "mailboat-results-\(UInt64.random(in: 0...UInt64.max)).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let results = Results(machine: Machine(), rows: [ResultRow("r", 1.5, "us", baseline: 3, target: .atMost(1))])
        try results.write(to: path)
        #expect(try Results.read(from: path) == results)
    }

    @Test func theTableNamesWhatDoesNotHold() {
        let table = ResultTable.plain([
            ResultRow("good", 1, "us", target: .atMost(2)), ResultRow("bad", 3, "us", target: .atMost(2)),
        ])
        let lines = table.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].hasSuffix("yes"))
        #expect(lines[2].hasSuffix("NO"))
        #expect(Set(lines.map(\.count)).count == 1)
    }
}
