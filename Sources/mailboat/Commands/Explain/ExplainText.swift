/// Writes positions for a person.
enum ExplainText {
    /// A position as `topic[partition]@offset`.
    static func position(_ position: ExplainFacts.Position) -> String {
        "\(position.topic)[\(position.partition)]@\(position.offset)"
    }
}
