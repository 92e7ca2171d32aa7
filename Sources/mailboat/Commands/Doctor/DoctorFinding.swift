import CommandSupport

/// What one check of `mailboat doctor` found.
struct DoctorFinding: Equatable, Encodable {
    enum Level: String, Encodable, CaseIterable {
        case ok, warn
        /// A worker would not run, or would not push.
        case fail
    }
    /// Checks by name. The raw values are for programs, and never change once released.
    enum Check: String, Encodable, CaseIterable {
        case configuration, key, connection, clock, credentials, login, tracing, kafka, topics, group, offsets, state
    }

    var level: Level
    var check: Check
    /// What was checked: a file, a host, a topic.
    var subject: String
    var found: String
    /// What to do; `nil`: nothing.
    var remedy: String?

    /// The finding as one line for a person.
    var line: String {
        func padded(_ text: String, _ count: Int) -> String {
            text + String(repeating: " ", count: max(1, count - text.count))
        }
        return padded(self.level.rawValue, 6) + padded(self.check.rawValue, 15) + "\(self.subject): \(self.found)"
            + (self.remedy.map { ". To do: \($0)" } ?? "")
    }
    var json: String { JSONLine.text(self) }
}
