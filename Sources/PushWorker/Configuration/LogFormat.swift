/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// Plain text for a person: time, level, metadata, message.
    case text
    /// One JSON object on each line.
    case json
}
