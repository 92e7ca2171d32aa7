import PushModel

/// What tells a line of the timeline from others at a glance: the title of its alert, else the first field that it
/// changes.
enum Gist {
    /// Maximum length of a gist, in characters.
    static let characterCountMax = 80

    /// The gist of an event or push that brings content.
    /// - Parameter changes: the differences from the content before.
    static func text(alert: JSONTree?, changes: [ContentDifference.Change]) -> String {
        if let title = alert.map({ AlertText($0).title }), !title.isEmpty { return "alert “\(Self.short(title))”" }
        guard let first = changes.first else { return "" }
        let value = first.after.map { ": \($0)" } ?? " removed"
        let text = Self.short((first.path.isEmpty ? "all" : first.path) + value)
        let others = changes.dropFirst()
        let goneCount = others.count { $0.after == nil }
        return text + Self.counted(others.count - goneCount, "more") + Self.counted(goneCount, "gone")
    }

    private static func counted(_ count: Int, _ word: String) -> String { count == 0 ? "" : ", \(count) \(word)" }

    private static func short(_ text: String) -> String {
        text.count <= Self.characterCountMax ? text : text.prefix(Self.characterCountMax - 1) + "…"
    }
}

extension Timeline {
    /// Maximum number of keys whose newest content is kept to compare the next event with. If there are more, all are
    /// forgotten.
    private static let eventContentsMax = 256

    /// The gist of an event that is being listed.
    mutating func gist(of reading: EventReading, key: String) -> String {
        guard let event = reading.event else { return "" }
        guard ![.register, .unregister].contains(event.kind) else {
            return event.group.isEmpty
                ? event.token.isEmpty ? "" : "token \(TokenHiding.shortened(event.token))" : "audience \(event.group)"
        }
        let before = self.eventContents[key]
        if let content = event.contentState {
            if self.eventContents.count >= Self.eventContentsMax { self.eventContents.removeAll() }
            self.eventContents[key] = content
        }
        // A card that is started again shows nothing of the earlier one.
        let old = event.kind == .start ? nil : before
        let changes = event.contentState.map { ContentDifference.changes(from: old ?? .object([]), to: $0) } ?? []
        return Gist.text(alert: reading.shown?["alert"], changes: changes)
    }
}
