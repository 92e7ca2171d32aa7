/// Checks `condition` again and again until it holds. The test fails if it does not hold within `limit`.
///
/// The tests wait for other processes (a worker, a broker) and can only ask them. The limit is long, because only
/// failures reach it.
func until(
    _ what: String, within limit: Duration = .seconds(90), file: StaticString = #fileID, line: UInt = #line,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw WaitedInVain(what: what, file: file, line: line) }
        // This is only the pause between two checks.
        try await Task.sleep(for: .milliseconds(20))
    }
}

struct WaitedInVain: Error, CustomStringConvertible {
    var what: String
    var file: StaticString
    var line: UInt

    var description: String { "waited in vain for: \(self.what) (\(self.file):\(self.line))" }
}
