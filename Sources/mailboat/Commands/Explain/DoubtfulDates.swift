import PushInspection

/// Names values of a push that look like dates, and that a phone's plain `JSONDecoder` misreads. They may be in the
/// `content-state`, or in the `attributes` of a start. The page of `mailboat dev` finds the same.
enum DoubtfulDates {
    /// Maximum number of values that are named.
    static let shownMax = 3

    /// Paths, values and what to send, such as `eta = 1764093600 (seconds since 1970; send 785786400)`. Empty if the
    /// text is not JSON.
    /// - Parameter schema: what the app expects; `nil`: not known.
    static func find(inContentState bytes: [UInt8], schema: ContentSchema? = nil) -> [String] {
        guard let content = try? JSONTree.parse(bytes) else { return [] }
        return DateLens.findings(in: content, schema: schema).filter(\.isTrouble).prefix(Self.shownMax).map(Self.text)
    }

    /// How the path of a value in `attributes` begins.
    static let attributesStart = "attributes."

    /// Paths, values and what to send, of the `attributes` of a start. Empty if the text is not JSON.
    /// - Parameter schema: what the app expects; `nil`: not known.
    static func find(inAttributes bytes: [UInt8], schema: ContentSchema? = nil) -> [String] {
        guard let attributes = try? JSONTree.parse(bytes) else { return [] }
        return DateLens.findings(inAttributes: attributes, schema: schema).filter(\.isTrouble).prefix(Self.shownMax)
            .map(Self.text)
    }

    private static func text(_ finding: DateLens.Finding) -> String {
        let isText = finding.meaning == .text
        let value = isText ? "\"\(finding.spelling)\"" : finding.spelling
        let kind =
            isText
            ? "a text" : finding.meaning == .millisecondsSince1970 ? "milliseconds since 1970" : "seconds since 1970"
        return "\(finding.path) = \(value) (\(kind)\(finding.sendText.map { "; send \($0)" } ?? ""))"
    }
}
