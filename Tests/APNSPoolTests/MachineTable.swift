import Foundation
import Testing

/// A state machine's results for each event in each state, as a table of text. It has a row for each event and a column
/// for each state.
///
/// `check` fails if a result differs from the table or is missing there, and for an unknown state or event.
/// `expectEvents` fails if a mutating method of the machine has no event. So a new state, event or method needs its
/// column or row.
struct MachineTable {
    private let columns: [String]
    private let rows: [(event: String, cells: [String])]

    /// Reads a table.
    /// - Parameter text: the first line names the states. Each further line has an event and its result in each state,
    ///   separated by blanks.
    init(_ text: String) {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        self.columns = Array(lines.first?.dropFirst() ?? [])
        self.rows = lines.dropFirst().map { ($0[0], Array($0.dropFirst())) }
    }

    /// Gets the outcome of every pair of event and state, and compares it with the table.
    func check<State: CaseIterable, Event: CaseIterable>(
        _ states: State.Type, _ events: Event.Type, sourceLocation: SourceLocation = #_sourceLocation,
        outcome: (Event, State) -> String
    ) {
        let stateNames = State.allCases.map { "\($0)" }
        #expect(self.columns == stateNames, "the table's columns are not the states", sourceLocation: sourceLocation)
        #expect(
            self.rows.map(\.event) == Event.allCases.map { "\($0)" }, "the table's rows are not the events",
            sourceLocation: sourceLocation)
        for event in Event.allCases {
            let expected = self.rows.first { $0.event == "\(event)" }?.cells ?? []
            let actual = State.allCases.map { outcome(event, $0) }
            for (index, state) in stateNames.enumerated() {
                let cell = index < expected.count ? expected[index] : "nothing in the table"
                #expect(actual[index] == cell, "\(event) while \(state)", sourceLocation: sourceLocation)
            }
            #expect(expected.count <= stateNames.count, "\(event): too many cells", sourceLocation: sourceLocation)
            // The actual row is printed, so that it can be judged and copied.
            if actual != expected { print("\(event)".padded(to: 22) + actual.map { $0.padded(to: 9) }.joined()) }
        }
    }

    /// Expects that each public mutating method has an event whose name begins with the method's name. The methods are
    /// read from `files` (paths below `Sources`, without `.swift`).
    static func expectEvents<Event: CaseIterable>(
        _ events: Event.Type, nameMethodsOf files: [String], except: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let names = Event.allCases.map { "\($0)" }
        for file in files {
            let text = try String(
                contentsOf: root.appending(path: "Sources/\(file).swift"), encoding: .utf8)
            let methods = text.matches(of: /public mutating func (\w+)/).map { String($0.output.1) }
            #expect(!methods.isEmpty, "\(file): no methods found", sourceLocation: sourceLocation)
            for method in methods where !except.contains(method) {
                #expect(
                    names.contains { $0.hasPrefix(method) }, "\(file): no event for \(method)",
                    sourceLocation: sourceLocation)
            }
        }
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self.count < count ? self + String(repeating: " ", count: count - self.count) : self + " "
    }
}
