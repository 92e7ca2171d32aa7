/// Positions for a person.
enum ExplainText {
    /// `topic[partition]@offset`.
    static func position(_ position: ExplainFacts.Position) -> String {
        "\(position.topic)[\(position.partition)]@\(position.offset)"
    }
}
