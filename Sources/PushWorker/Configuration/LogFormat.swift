/// How lines of the log are written.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For a person: time, level, metadata, message.
    case text
    /// One object a line.
    case json
}
