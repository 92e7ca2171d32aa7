import PushInspection

/// Names values of a push that look like dates, and that a phone's plain `JSONDecoder` misreads. They may be in the
/// `content-state`, or in the `attributes` of a start. The page of `mailboat dev` finds the same.
enum DoubtfulDates {
    /// Maximum number of values that are named.
    static let shownMax = 3

    /// Paths, values and what to send, such as `eta = 1764093600 (seconds since 1970; send 785786400)`. Paths in
    /// attributes begin with `attributes`.
    static func find(inContentState state: [UInt8], attributes: [UInt8] = []) -> [String] {
        Self.findings(inContentState: state, attributes: attributes, schema: nil).map(Self.text)
    }

    /// A warning for each value.
    /// - Parameters:
    ///   - schema: what the app expects; `nil`: not known.
    ///   - nowSeconds: the clock, seconds since 1970.
    static func warnings(
        inContentState state: [UInt8], attributes: [UInt8] = [], schema: ContentSchema?, nowSeconds: Int64
    ) -> [String] {
        Self.findings(inContentState: state, attributes: attributes, schema: schema).map { finding in
            guard finding.meaning == .farAway else {
                return "\(Self.text(finding)) looks like a date, and Swift's Date is a number of seconds since 2001"
            }
            let reading = finding.since2001 ?? finding.year.map { "the year \($0)" } ?? "no year of a calendar"
            return "\(finding.path) = \(finding.spelling) as a Date is \(reading): expected seconds since 2001, "
                + "which are \(nowSeconds - DateLens.referenceSeconds) now"
        }
    }

    /// Findings in texts. A text that is not JSON has none.
    private static func findings(
        inContentState state: [UInt8], attributes: [UInt8], schema: ContentSchema?
    ) -> [DateLens.Finding] {
        let inState = (try? JSONTree.parse(state)).map { DateLens.findings(in: $0, schema: schema) } ?? []
        let inAttributes =
            (try? JSONTree.parse(attributes)).map { DateLens.findings(inAttributes: $0, schema: schema) } ?? []
        return Array((inState + inAttributes).filter(\.isTrouble).prefix(Self.shownMax))
    }

    /// How the path of a value in `attributes` begins.
    static let attributesStart = "attributes."

    private static func text(_ finding: DateLens.Finding) -> String {
        let value = finding.meaning == .text ? "\"\(finding.spelling)\"" : finding.spelling
        return
            "\(finding.path) = \(value) (\(finding.meaning.words)\(finding.sendText.map { "; send \($0)" } ?? ""))"
    }
}
